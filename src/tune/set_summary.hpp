#pragma once

#include "tune/bench.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// A summary of the results of bench_problem for a set of problems.
struct SetSummary {
  std::string name;
  std::size_t problems = 0;
  std::string measure;  ///< by which the ratios were taken: "sustained", or "graph rounds 3, sustained 9"
  /// Geometric mean of the ratios; NaN if a problem failed or was not measured.
  double mean = std::numeric_limits<double>::quiet_NaN();
  std::optional<Workload> lowest;  ///< the problem with the lowest ratio
  double lowest_ratio = std::numeric_limits<double>::quiet_NaN();
  Interval lowest_ci{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  /// Geometric mean of the times over those of the bare products, and the problem with the highest; NaN if no problem
  /// has an epilogue. The mean is also NaN if a problem failed or was not measured.
  double over_bare = std::numeric_limits<double>::quiet_NaN();
  std::optional<Workload> highest_over_bare;
  double highest_ratio_over_bare = std::numeric_limits<double>::quiet_NaN();
  std::size_t below = 0;     ///< problems of which is_low holds
  std::size_t failures = 0;  ///< problems that could not run
  std::size_t missing = 0;   ///< problems without a result, because the run was interrupted
};

/// Ratios below this are low.
inline constexpr double kLowRatio = 0.97;
/// An interval that is wider than this says little.
inline constexpr double kWideInterval = 0.03;

/// True if the interval of the ratio lies below kLowRatio. If the interval is wide, the median counts instead.
bool is_low(const BenchResult& result);

/// The summary of `problems`. If a problem was measured in two modes, the result of the graph counts.
SetSummary summary_of(std::string name, std::span<const Workload> problems, std::span<const BenchResult> results);

/// Geometric means of the ratios, each with what it is of: of each mode and, if there are two, of all problems, with
/// the graph where it was measured. Problems without a ratio do not count.
std::vector<std::pair<std::string, double>> means_by_mode(std::span<const BenchResult> results);

}  // namespace hotgemm
