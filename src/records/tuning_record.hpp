#pragma once

#include "base/blocks.hpp"
#include "config/device_info.hpp"
#include "config/kernel_config.hpp"

#include <hotgemm/objective.hpp>
#include <hotgemm/types.hpp>

#include <limits>
#include <string>
#include <string_view>

namespace hotgemm {

struct Timing {
  double median_us = 0;
  double spread_us = 0;  ///< interquartile range
  int samples = 0;
  double ratio = 1;  ///< median over rounds of (incumbent's time / this config's time); above 1, this config is faster
  friend bool operator==(const Timing&, const Timing&) = default;
};

/// The GPU and software with which a timing was taken.
struct Environment {
  std::string gpu;   ///< "NVIDIA H200"
  std::string arch;  ///< "sm_90a"
  int sm_count = 0;
  std::string driver;     ///< "580.159" or the CUDA version it supports
  std::string toolchain;  ///< that built the cubin: "nvrtc-13.0-<build id>"
  friend bool operator==(const Environment&, const Environment&) = default;
};

/// cuBLAS beside a pick, by the measure of the record.
struct CublasComparison {
  std::string version;    ///< "13.1.0"; empty if cuBLAS was not measured
  std::string algorithm;  ///< the best: cuBLASLt's algorithm as hexadecimal digits; empty for cuBLAS's default
  /// The best's cost / the pick's, as the objective counts it; above 1, the pick is better; 0 if only the default ran.
  double ratio = 0;
  double default_ratio = 0;  ///< the same of cuBLAS's default; 0 if it could not run
  friend bool operator==(const CublasComparison&, const CublasComparison&) = default;
};

/// The ratio to the best of cuBLAS that was measured; NaN if none was.
inline double best_known_ratio(const CublasComparison& c) {
  return c.version.empty() ? std::numeric_limits<double>::quiet_NaN() : c.ratio > 0 ? c.ratio : c.default_ratio;
}

/// The reason why a record is provisional.
enum class ProvisionalCause {
  none,       ///< it is not, or an earlier version did not say
  cut_short,  ///< the search was stopped, or had no time for its final comparison
  no_blocks,  ///< picked without blocks, where the power cap may bind: they would have taken too long
  disturbed,  ///< other work on the GPU disturbed more than a third of the rounds
};

/// "none", "cut short", "no blocks" or "disturbed".
std::string_view to_string(ProvisionalCause cause);

/// The tuner's answer for one problem class on one GPU model.
struct TuningRecord {
  Workload problem;  ///< as measured; class_of (problem_fields.hpp) rounds its sizes
  KernelConfig config;
  LaunchConfig launch;
  Timing timing;
  Environment environment;
  std::string template_digest;        ///< of the family's templates, 64 hex digits
  std::string code_digest;            ///< of the pick's machine code (kernel_digest), 64 hex digits; empty if unknown
  Measure measure = Measure::rounds;  ///< by which the config was picked
  bool is_provisional = false;        ///< used until a tuning run replaces it
  ProvisionalCause cause = ProvisionalCause::none;
  int power_limit_w = 0;  ///< in force during the blocks; 0 if blocks did not decide, or if it is unknown
  Objective objective = Objective::speed;  ///< energy: the pick needs the least joules, not the least time
  double joules = 0;                       ///< of a launch, in the blocks that decided; 0 if unknown
  CublasComparison cublas;
  friend bool operator==(const TuningRecord&, const TuningRecord&) = default;
};

/// The quantity that the record's objective makes small: joules or microseconds of a launch.
inline double cost_of(const TuningRecord& record) {
  return record.objective == Objective::energy ? record.joules : record.timing.median_us;
}

}  // namespace hotgemm
