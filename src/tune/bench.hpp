#pragma once

#include "base/statistics.hpp"
#include "config/device_info.hpp"
#include "gpu/cublas.hpp"
#include "gpu/stopwatch.hpp"
#include "plan/power_model.hpp"
#include "records/tuning_record.hpp"
#include "tune/baseline.hpp"

#include <hotgemm/types.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// Seconds of work before the first block.
inline constexpr double kLoadS = 3;

struct BenchOptions {
  int rounds = 11;         ///< rounds that are reported; the protocol asks for seven or more
  double round_us = 5000;  ///< GPU time per side and round
  /// If empty: graph if either side takes less than kGraphBelowUs, else eager.
  std::optional<TimingMode> mode;
  /// If empty: sustained if the power cap binds, else rounds. With sustained, rounds are reported beside it.
  std::optional<Measure> measure;
  Launch ahead;       ///< of races in rounds (RaceOptions); set where our kernel is launched programmatically
  int pairs = 7;      ///< blocks of each side that are reported, by the sustained measure; the protocol asks for seven
  DeviceInfo device;  ///< to tell whether the power cap may bind
  std::uint64_t seed = 1;
  float alpha = 1;  ///< as given to our kernel; beta counts as 0 if the problem says so
  float beta = 0;
  KeptChoices kept;           ///< of cuBLAS's algorithms
  bool default_only = false;  ///< cuBLAS's default is the baseline, and no other algorithm is tried
  /// Our kernel of the product without its epilogue, which then runs beside ours; null: none does.
  const Contender* bare = nullptr;
};

/// The statistics of one side's samples. NaN if the side could not be timed.
struct BenchSide {
  std::string name;
  double median_us = std::numeric_limits<double>::quiet_NaN();
  double iqr_us = std::numeric_limits<double>::quiet_NaN();
  double tflops = std::numeric_limits<double>::quiet_NaN();  ///< 2mnk / median, in TFLOP/s
  std::optional<BlockReport> blocks;                         ///< clock and power, if it ran in blocks
};

/// The side of contender `row` of a race.
BenchSide make_side(const std::string& name, const Workload& problem, const RaceResult& raced, std::size_t row);

/// The ratio by the measure that does not decide.
struct OtherMeasure {
  Measure measure = Measure::rounds;
  double ratio = std::numeric_limits<double>::quiet_NaN();
  Interval ci{};
  std::string baseline;  ///< which may differ from the deciding measure's
};

struct BenchResult {
  Workload problem;
  TimingMode mode = TimingMode::eager;
  Measure measure = Measure::rounds;           ///< that all numbers below come from
  PowerVerdict power = PowerVerdict::unknown;  ///< whether the power cap limits cuBLAS's default; if it was asked
  double power_limit_w = 0;                    ///< the limit in force; 0 if unknown
  std::optional<OtherMeasure> other;           ///< if both measures were taken
  BenchSide ours;
  std::string origin;  ///< where our kernel came from; set by the caller
  BenchSide cublas_default;
  BenchSide best_lt;                   ///< the fastest of cuBLASLt's heuristics; empty if it returned none
  std::string best_lt_algorithm;       ///< its opaque bytes (CublasContender)
  int lt_algorithms = 0;               ///< number of algorithms tried; 0 if the choice was kept
  std::int64_t choice_kept_since = 0;  ///< when the choice of the baseline was made, in seconds since 1970; 0: now
  BenchSide bare;                      ///< our kernel without the epilogue; empty if none ran beside ours
  double over_bare = std::numeric_limits<double>::quiet_NaN();  ///< median over rounds of our time / that of `bare`
  Interval over_bare_ci{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  std::string baseline;  ///< name of cublas_default or best_lt: the faster one when the baseline was chosen
  double ratio = std::numeric_limits<double>::quiet_NaN();  ///< median over rounds of the baseline's time / ours
  Interval ci{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};  ///< 95 %, of ratio
  bool tie = false;                                                                                 ///< ci contains 1
  double ceiling_tflops = std::numeric_limits<double>::quiet_NaN();  ///< if a ceiling raced against ours
  double of_ceiling = std::numeric_limits<double>::quiet_NaN();      ///< median over rounds of our rate / the ceiling's
  Interval of_ceiling_ci{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  std::string failure;  ///< why there is no ratio; empty if there is one
};

/// The fastest of cuBLAS's default and all algorithms that cuBLASLt's heuristics return, found by short races. It runs
/// in the mode of `options`, or eager if that is empty. Use it for a figure beside ours where bench_problem would take
/// too long. Throws Error{not_supported} if none of them runs.
Contender fastest_baseline(const Driver& driver, CUstream stream, std::span<const OperandSet> sets,
                           const Workload& problem, CublasBaseline& cublas, const BenchOptions& options);

/// Measures `ours`, whose result the caller has checked, against the fastest of cuBLAS's default and all algorithms
/// that cuBLASLt's heuristics return, and against options.bare. Separate races choose the baseline, by the same measure
/// and mode, or it is a choice that was kept. The numbers come from fresh samples, in which ours, cuBLAS's default and
/// the best of cuBLASLt run interleaved over `sets`. If the power cap binds, blocks decide (gpu/sustained.hpp), and
/// rounds are beside them.
///
/// If a problem cannot be measured, `failure` says why. Only Error{context_lost} and driver errors that belong to
/// neither side are thrown.
BenchResult bench_problem(const Driver& driver, CUstream stream, const Contender& ours,
                          std::span<const OperandSet> sets, const Workload& problem, CublasBaseline& cublas,
                          const BenchOptions& options);

/// A result with a baseline in the form that a record keeps. For energy the ratios are of joules, and the best of
/// cuBLAS is the side with the fewer. Throws Error{not_supported} if joules are unknown.
CublasComparison comparison_of(const BenchResult& result, Objective objective, const std::string& version);

/// Times `ours`, and options.bare if there is one, without a rival, in one mode: options.mode, or eager if it is empty.
/// Rounds decide unless options.measure says otherwise. If a side cannot be timed, `failure` says why.
BenchResult bench_alone(const Driver& driver, CUstream stream, const Contender& ours, std::span<const OperandSet> sets,
                        const Workload& problem, const BenchOptions& options);

/// Calls bench_problem in every mode that the protocol asks for: eager, and also graph below kGraphBelowUs. If
/// options.mode is set, only in that mode.
std::vector<BenchResult> bench_in_all_modes(const Driver& driver, CUstream stream, const Contender& ours,
                                            std::span<const OperandSet> sets, const Workload& problem,
                                            CublasBaseline& cublas, const BenchOptions& options);

/// One object with the names of the fields. Times are in µs; a value that was not measured is null.
nlohmann::json to_json(const BenchResult& result);

}  // namespace hotgemm
