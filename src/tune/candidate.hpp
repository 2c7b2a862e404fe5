#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "records/tuning_record.hpp"
#include "runtime/engine.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The last stage that a candidate reached.
enum class Stage { chosen, build, load, check, measure };
std::string_view to_string(Stage stage);
/// Throws Error{invalid_argument}.
Stage parse_stage(std::string_view text);

/// A candidate's row in the search. A rejected candidate keeps its row, with the stage and the reason.
struct Candidate {
  KernelConfig config;
  LaunchConfig launch;
  double predicted_us = 0;
  Stage stage = Stage::chosen;
  std::string reason;    ///< why it was rejected; empty for a survivor
  std::string same_as;   ///< the name of the twin, a candidate with the same machine code, that is timed for both
  std::string identity;  ///< of the candidate's kernel, 64 hex digits
  bool from_cache = false;
  std::shared_ptr<const Cubin> cubin;
  Timing timing;

  bool is_alive() const { return reason.empty() && same_as.empty(); }
};

/// The kind of a reason: the words before its first colon, as in "hung: no answer within 2.0 s". Every reason has one
/// of kReasonKinds.
std::string_view kind_of(std::string_view reason);
/// Compiling: "compile error", "spills". Loading and running: "failed" is a driver error of this candidate alone,
/// "faulted" an error that destroyed the CUDA context of the process, "hung" no answer in time. Results: "wrong", and
/// "stray write" for a write outside of D. Timing: "slow" after one launch, and "not timed" for lack of budget.
/// "remembered" means that an earlier run found a danger, and "ended its process" that a process ended while it ran the
/// kernel. "not vetted" means that this kernel may not run in the process of a user.
inline constexpr std::string_view kReasonKinds[] = {
    "compile error", "spills",    "failed",     "faulted",           "hung",      "wrong", "stray write",
    "slow",          "not timed", "remembered", "ended its process", "not vetted"};
/// True if a candidate that ended for `reason` must not be tried again for a while: its result was wrong, or it is a
/// danger to other work.
bool is_worth_remembering(std::string_view reason);

/// Rejects `candidate` at `stage`.
void reject(Candidate& candidate, Stage stage, std::string reason);

/// Adds `ended`, which was rejected on a GPU, and its twins among `rows` to the engine's rejections, if
/// is_worth_remembering(reason).
void remember(Engine& engine, std::span<const Candidate> rows, const Candidate& ended, const Workload& problem,
              const Environment& where);

/// True if a launch may take the workspace that it needs.
using IsAffordable = std::function<bool(const KernelConfig&, const LaunchConfig&)>;
/// By the cap of `engine` and the hint of `problem`.
IsAffordable affordable_by(const Engine& engine, const Workload& problem);

/// Picks `count` configs for `problem` on `device`: the model's shortlist, a quarter of anchors, and the configs that
/// won on the nearest problems in `database`. They are ordered from the fastest predicted to the slowest. Without
/// `is_affordable`, launches may take any workspace. Throws Error{not_supported} if no kernel computes the problem on
/// the device.
std::vector<Candidate> pick_candidates(const Workload& problem, const DeviceInfo& device, int count,
                                       const Database* database = nullptr, const GpuQuery& query = {},
                                       const IsAffordable& is_affordable = {});
/// The candidates of pick_candidates; nothing where it throws not_supported.
std::vector<Candidate> candidates_if_any(const Workload& problem, const DeviceInfo& device, int count);

/// Moves the candidate that runs `config` to the front. If there is none, it is added, in place of the slowest
/// predicted one.
void put_first(std::vector<Candidate>& candidates, const KernelConfig& config, const Workload& problem,
               const DeviceInfo& device);

/// Every config that is legal for `problem` on `device` and obeys its rules, from the fastest predicted to the slowest.
std::vector<Candidate> all_candidates(const Workload& problem, const DeviceInfo& device);

/// The time that a build has, and the kernels that it makes beside the candidates.
struct BuildLimit {
  /// For all but the first candidate, which is compiled however long that takes (KernelBuilder::build_all).
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::vector<KernelSource> also;  ///< kernels that measuring needs; built next after the first candidate
};

/// Compiles the candidates that are still alive for the GPU of `where`. Rejects those that fail to compile or spill,
/// and those for which no time was left. Also rejects remembered ones, without compiling them. `is_cancelled` is called
/// after each kernel. Returns false if there was no time for a kernel of `limit.also`.
bool build_candidates(std::span<Candidate> candidates, const Workload& problem, const Environment& where,
                      Engine& engine, int jobs, const std::function<bool()>& is_cancelled = {},
                      const BuildLimit& limit = {});

/// Rejects the candidates whose kernels are in the engine's rejections for `where`.
void reject_remembered(std::span<Candidate> candidates, const Environment& where, const Engine& engine);

/// Groups built candidates that have the same machine code and launch shape. In each group the one whose
/// name comes first in the alphabet stays alive; the others get its name as `same_as`.
void merge_twins(std::span<Candidate> candidates, const Workload& problem);

}  // namespace hotgemm
