#pragma once

#include "base/statistics.hpp"
#include "tune/exhaustive.hpp"

#include <hotgemm/context.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// How good an answer is.
struct AssessedChoice {
  CandidateName name;
  int place = 0;  ///< of its config in the trace; 0 if that was not timed
  double us = std::numeric_limits<double>::quiet_NaN();
  /// Its time / the oracle's − 1, paired by rounds of a race of its own: below zero it is faster.
  double regret = std::numeric_limits<double>::quiet_NaN();
  Interval regret_ci{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};  ///< 95 %
};

/// How the tuner's answer for a problem, and those without measuring, compare with the best of all configs.
struct QualityResult {
  Workload problem;
  TimingMode mode = TimingMode::eager;
  std::size_t configs = 0;   ///< that were timed
  std::size_t rejected = 0;  ///< that were not
  AssessedChoice oracle;     ///< the fastest in the trace
  AssessedChoice tuned;      ///< by a search that knew no records
  AssessedChoice estimated;  ///< by the model alone
  int measured = 0;          ///< candidates that the search timed
  /// For each N of kModelTops: by how much the fastest of the model's first N is slower than the fastest of all, each
  /// with its default raster, in the trace.
  std::vector<double> model_regret;
  std::string failure;  ///< why there are no regrets
};

inline constexpr std::size_t kModelTops[] = {1, 4, 8, 20};

struct QualityOptions {
  TuneOptions tuning;  ///< of the search
  int rounds = 15;     ///< of the race that regrets come from
};

/// Searches for `problem` without records, and races its pick and the model's against the fastest of `exhaustive`: on
/// fresh data and samples, never on those that chose. The search records in `engine`: give it one that keeps no
/// records. Throws what search throws, and wrong_result where one of the three is wrong.
QualityResult assess(Engine& engine, Measurer& measurer, const Workload& problem, const ExhaustiveResult& exhaustive,
                     const QualityOptions& options, const std::function<bool()>& is_cancelled = {});

/// What all problems together say. NaN where there is no problem to say it, or where one failed.
struct QualitySummary {
  double mean = std::numeric_limits<double>::quiet_NaN();   ///< of regret: the geometric mean of 1 + regret, − 1
  double worst = std::numeric_limits<double>::quiet_NaN();  ///< the largest regret
  double within_1_percent = std::numeric_limits<double>::quiet_NaN();  ///< the share of problems
};
QualitySummary summarize(std::span<const double> regrets);

}  // namespace hotgemm
