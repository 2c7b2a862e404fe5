#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "records/tuning_record.hpp"
#include "runtime/engine.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// How far a candidate came.
enum class Stage { chosen, build, load, check, measure };
std::string_view to_string(Stage stage);
/// Throws Error{invalid_argument}.
Stage parse_stage(std::string_view text);

/// A candidate's row in the search. One that is rejected keeps its row, with the stage and the reason.
struct Candidate {
  KernelConfig config;
  LaunchConfig launch;
  double predicted_us = 0;
  Stage stage = Stage::chosen;
  std::string reason;    ///< why it went no further; empty for a survivor
  std::string same_as;   ///< the name of an earlier candidate with the same machine code, which is timed for both
  std::string identity;  ///< of its kernel, 64 hex digits
  bool from_cache = false;
  std::shared_ptr<const Cubin> cubin;
  Timing timing;

  bool is_alive() const { return reason.empty() && same_as.empty(); }
};

/// What kind of reason it is: the words before its first colon. Every reason has one of kReasonKinds, as in
/// "hung: no answer within 2.0 s".
std::string_view kind_of(std::string_view reason);
/// Compiling: "compile error", "spills". Loading and running: "failed" is what the driver said of this candidate alone,
/// "faulted" an error that took the process's CUDA context with it, "hung" no answer in time. Results: "wrong", and
/// "stray write" outside of D. "slow" is what one launch told of, "not timed" what the budget left no time for.
/// "remembered" is one of the dangers on an earlier day.
inline constexpr std::string_view kReasonKinds[] = {
    "compile error", "spills", "failed", "faulted", "hung", "wrong", "stray write", "slow", "not timed", "remembered"};
/// Whether a candidate that ended for `reason` is to be left alone for a while: it is wrong, or a danger to others.
bool is_worth_remembering(std::string_view reason);

/// Ends `candidate` at `stage`.
void reject(Candidate& candidate, Stage stage, std::string reason);

/// Adds `ended`, which has ended on a GPU, and its twins among `rows` to the engine's rejections if its reason is worth
/// it.
void remember(Engine& engine, std::span<const Candidate> rows, const Candidate& ended, const Workload& problem,
              const Environment& where);

/// `count` configs for `problem` on `device`: the model's shortlist, a quarter of anchors, and the configs that won on
/// the nearest problems in `database`. From the fastest predicted to the slowest. Throws Error{not_supported} if
/// no kernel computes the problem on the device.
std::vector<Candidate> pick_candidates(const Workload& problem, const DeviceInfo& device, int count,
                                       const Database* database = nullptr, const GpuQuery& query = {});

/// Every config that is legal for `problem` on `device`, from the fastest predicted to the slowest.
std::vector<Candidate> all_candidates(const Workload& problem, const DeviceInfo& device);

/// Compiles the living among `candidates` for the GPU of `where`. Rejected are those that fail or spill, and without
/// being compiled those that are remembered. `is_cancelled` is asked after each kernel.
void build_candidates(std::span<Candidate> candidates, const Workload& problem, const Environment& where,
                      Engine& engine, int jobs, const std::function<bool()>& is_cancelled = {});

/// Rejects those of the living whose kernels the engine's rejections know from `where`.
void reject_remembered(std::span<Candidate> candidates, const Environment& where, const Engine& engine);

/// Of candidates that have been built and are launched alike and whose machine code is the same, the one with the
/// earliest name stays alive; it becomes `same_as` of the others.
void merge_twins(std::span<Candidate> candidates, const Workload& problem);

}  // namespace hotgemm
