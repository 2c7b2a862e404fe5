#pragma once

#include "base/statistics.hpp"
#include "gpu/cublas.hpp"
#include "gpu/stopwatch.hpp"

#include <hotgemm/types.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// Below this a launch may cost the host more than the GPU, so that the GPU's time is measured too.
inline constexpr double kGraphBelowUs = 20;

struct BenchOptions {
  int rounds = 11;         ///< that are reported; the protocol asks for seven or more
  double round_us = 5000;  ///< GPU time per side and round
  /// nullopt: graph if either side takes less than kGraphBelowUs, else eager.
  std::optional<TimingMode> mode;
  std::uint64_t seed = 1;
  float alpha = 1;  ///< as our side was given them; beta is taken as 0 if the problem says so
  float beta = 0;
};

/// One side's samples in one line. NaN where it could not be timed: what did not run has no speed.
struct BenchSide {
  std::string name;
  double median_us = std::numeric_limits<double>::quiet_NaN();
  double iqr_us = std::numeric_limits<double>::quiet_NaN();
  double tflops = std::numeric_limits<double>::quiet_NaN();  ///< 2mnk by the median, in TFLOP/s
};

struct BenchResult {
  Workload problem;
  TimingMode mode = TimingMode::eager;
  BenchSide ours;
  std::string origin;  ///< where our kernel came from; for the caller to say
  BenchSide cublas_default;
  BenchSide best_lt;      ///< the fastest of cuBLASLt's heuristics; empty if it returned none
  int lt_algorithms = 0;  ///< that were tried
  std::string baseline;   ///< the name of cublas_default or of best_lt, whichever was the faster when chosen
  double ratio = std::numeric_limits<double>::quiet_NaN();  ///< median over rounds of the baseline's time / ours
  Interval ci{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};  ///< of ratio, 95 %
  bool tie = false;                                                                                 ///< ci contains 1
  double ceiling_tflops = std::numeric_limits<double>::quiet_NaN();  ///< where a ceiling raced against ours
  double of_ceiling = std::numeric_limits<double>::quiet_NaN();      ///< median over rounds of our rate / the ceiling's
  Interval of_ceiling_ci{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  std::string failure;  ///< why there is no ratio; empty if there is one
};

/// The fastest of cuBLAS's default and all algorithms that cuBLASLt's heuristics return, in the mode of `options`
/// (eager if it has none), found by short races: for a figure beside ours, where bench_problem would take too long.
/// Throws Error{not_supported} where none runs.
Contender fastest_baseline(const Driver& driver, CUstream stream, std::span<const OperandSet> sets,
                           const Workload& problem, CublasBaseline& cublas, const BenchOptions& options);

/// Measures `ours`, whose result the caller has checked, against the fastest of cuBLAS's default and all algorithms
/// that cuBLASLt's heuristics return. The baseline is chosen in the timing mode reported, in races of its own; the
/// numbers come from fresh samples, in which ours, cuBLAS's default and the best of cuBLASLt run interleaved over
/// `sets`.
///
/// What keeps a problem from being measured is told in `failure`; only Error{context_lost} and driver errors that are
/// no side's own are thrown.
BenchResult bench_problem(const Driver& driver, CUstream stream, const Contender& ours,
                          std::span<const OperandSet> sets, const Workload& problem, CublasBaseline& cublas,
                          const BenchOptions& options);

/// bench_problem in every mode that the protocol asks for: eager, and below kGraphBelowUs graph as well; in just
/// options.mode if that is set.
std::vector<BenchResult> bench_in_all_modes(const Driver& driver, CUstream stream, const Contender& ours,
                                            std::span<const OperandSet> sets, const Workload& problem,
                                            CublasBaseline& cublas, const BenchOptions& options);

/// One object with the fields' names; times in µs, null for what was not measured.
nlohmann::json to_json(const BenchResult& result);

}  // namespace hotgemm
