#pragma once

#include "base/statistics.hpp"
#include "tune/exhaustive.hpp"

#include <hotgemm/context.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// An answer and how good it is.
struct AssessedChoice {
  CandidateName name;
  int place = 0;  ///< rank of its config in the trace; 0 if that was not timed
  double us = std::numeric_limits<double>::quiet_NaN();
  /// The ratio of its time to the oracle's time − 1, paired by rounds or passes of a separate race. Below zero it is
  /// faster than the oracle.
  double regret = std::numeric_limits<double>::quiet_NaN();
  Interval regret_ci{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};  ///< 95 %
};

/// A comparison for one problem: the tuner's answer, and the answers without measuring, against the best of all
/// configs.
struct QualityResult {
  Workload problem;
  TimingMode mode = TimingMode::eager;
  /// The measure of the oracle and of the regrets: sustained if blocks or the power model decided the search.
  Measure measure = Measure::rounds;
  std::size_t configs = 0;   ///< number of configs timed
  std::size_t rejected = 0;  ///< number of configs rejected
  AssessedChoice oracle;     ///< the fastest in the trace, or the fastest alone
  AssessedChoice tuned;      ///< found by a search without records
  AssessedChoice estimated;  ///< chosen by the model alone
  int measured = 0;          ///< number of candidates that the search timed
  /// For each N of kModelTops: how much slower the fastest of the model's first N is than the fastest of all configs.
  /// Times are from the trace, each config with its default raster.
  std::vector<double> model_regret;
  std::string failure;  ///< why there are no regrets
};

inline constexpr std::size_t kModelTops[] = {1, 4, 8, 20};

struct QualityOptions {
  TuneOptions tuning;  ///< for the search
  int rounds = 15;     ///< of the race that gives the regrets; blocks have six passes
};

/// Searches for `problem` without records, and races the tuner's pick and the model's pick against the oracle, the
/// fastest of `exhaustive`. The race uses fresh data and samples, not those that made the choice.
///
/// Rounds do not tell which config is the fastest in a program if blocks or the power model decided the search. The
/// oracle is then the fastest alone of the 20 best in rounds, 20 others by the power model and the tuner's pick, and
/// all three run alone.
///
/// The search adds a record to `engine`: pass an engine that keeps no records. Throws the errors of search;
/// wrong_result or driver_error if one of the three is wrong or cannot run; interrupted if it was cancelled.
QualityResult assess(Engine& engine, Measurer& measurer, const Workload& problem, const ExhaustiveResult& exhaustive,
                     const QualityOptions& options, const std::function<bool()>& is_cancelled = {});

/// The regrets of all problems together. NaN if there are no problems, or if one of them failed.
struct QualitySummary {
  double mean = std::numeric_limits<double>::quiet_NaN();   ///< of regret: the geometric mean of 1 + regret, − 1
  double worst = std::numeric_limits<double>::quiet_NaN();  ///< the largest regret
  double within_1_percent = std::numeric_limits<double>::quiet_NaN();  ///< share of problems with a regret up to 1 %
};
QualitySummary summarize(std::span<const double> regrets);

}  // namespace hotgemm
