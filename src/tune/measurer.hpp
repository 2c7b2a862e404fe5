#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "gpu/stopwatch.hpp"
#include "records/tuning_record.hpp"
#include "tune/candidate.hpp"

#include <hotgemm/types.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// A compiled kernel with its launch parameters. Trials are checked and timed.
struct Trial {
  KernelConfig config;
  LaunchConfig launch;
  std::shared_ptr<const Cubin> cubin;
};

/// True if one of `trials` is launched programmatically. Rounds of them are then timed behind a foreign kernel
/// (RaceOptions::ahead), because in a chain of one kernel a programmatic launch gains more than in a program.
inline bool is_timed_behind(std::span<const Trial> trials) {
  return std::ranges::any_of(trials, [](const Trial& trial) { return trial.launch.programmatic; });
}

/// The result of checking a trial: the stage at which it failed and the reason. A sound trial has no reason.
struct Verdict {
  Stage stage = Stage::chosen;
  std::string reason;

  bool is_sound() const { return reason.empty(); }
};

/// The facts about a GPU that the search needs.
struct GpuFacts {
  DeviceInfo info;          ///< with the clock rates that the driver reports
  Environment environment;  ///< without a toolchain if the measuring process has not loaded NVRTC
  std::int64_t free_bytes = 0;
  double power_limit_w = 0;    ///< in force; 0 if it is unknown
  bool reports_power = false;  ///< NVML tells the power that the GPU draws
};

struct MeasureOptions {
  std::int64_t scratch_bytes = std::int64_t{512} << 20;  ///< of device memory, for operands
  std::uint64_t seed = 1;                                ///< for the data
  bool with_baseline = false;                            ///< prepare cuBLAS's fastest algorithm too, if there is one
  /// For waiting until no other thread measures on the GPU: from then on, begin throws Error{interrupted}.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// The algorithms of cuBLAS that a pick is compared with.
enum class CublasScope {
  none,
  default_only,  ///< its default: in a few short rounds, unless blocks decided
  all,           ///< its default and its best, as `bench` does
};

/// The conditions of a comparison with cuBLAS. They are those under which the kernel was picked.
struct CublasQuestion {
  TimingMode mode = TimingMode::eager;
  Measure measure = Measure::rounds;
  Objective objective = Objective::speed;
  CublasScope scope = CublasScope::all;
};

/// Runs trials of one problem after the other on one GPU. DeviceMeasurer runs them in this process; IsolatedMeasurer
/// runs them in another process, which a trial may kill. Not thread-safe.
class Measurer {
 public:
  virtual ~Measurer() = default;

  virtual const GpuFacts& gpu() const = 0;

  /// Makes the operands of `problem`; the trials that follow are about it. Ends the previous problem. Throws
  /// Error{out_of_memory} if the operands do not fit, and driver errors that are not the fault of a trial.
  virtual void begin(const Workload& problem, const MeasureOptions& options) = 0;

  /// Loads each trial and runs it twice on check data (check_exactly). All of D must be right, and no other memory of
  /// the operands may be written. `seed` must differ from the seed given to begin. Returns one verdict per trial.
  virtual std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) = 0;

  /// Races trials that check has found sound, on N(0,1) data; options.sets is ignored, and is_timed_behind says whether
  /// a foreign kernel is ahead. With `with_baseline`, cuBLAS's fastest algorithm takes part, and its row is the last
  /// one. The row is missing if begin did not prepare a baseline or cuBLAS could not run.
  virtual RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) = 0;

  /// Measures `pick`, a sound trial, against cuBLAS, on fresh samples. Throws Error{not_supported} if cuBLAS cannot
  /// run.
  virtual CublasComparison compare_with_cublas(const Trial& pick, const CublasQuestion& question) = 0;

  /// Frees the operands of the problem.
  virtual void end() = 0;

  /// The name of the cuBLAS algorithm that races, between begin and end; empty if there is none.
  virtual std::string baseline() const = 0;

  /// The number of times that the measuring process had to be restarted.
  virtual int restarts() const { return 0; }
};

}  // namespace hotgemm
