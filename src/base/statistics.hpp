#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

// Statistics of time samples. All functions are pure and deterministic.

namespace hotgemm {

/// A sample that was not taken.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The quantile `q` in [0, 1] of the samples that are not NaN, interpolated between neighbours; NaN if there are none.
double quantile(std::span<const double> samples, double q);
/// The median of the samples that are not NaN; NaN if there are none.
double median(std::span<const double> samples);
/// The third quartile minus the first, of the samples that are not NaN; NaN if there are none.
double interquartile_range(std::span<const double> samples);

/// The geometric mean. It is NaN if there are no values, or if a value is NaN or not positive: one problem that could
/// not run leaves no mean.
double geometric_mean(std::span<const double> values);

/// numerators[i] / denominators[i] for each i below the shorter length at which neither is NaN.
std::vector<double> paired_ratios(std::span<const double> numerators, std::span<const double> denominators);

/// Spearman's rank correlation of a[i] and b[i]: 1 if both have the same order, -1 if one has the opposite order. Equal
/// values share the mean of their ranks. Pairs with a NaN do not count. NaN if fewer than two pairs are left, or if all
/// values of a side are equal.
double rank_correlation(std::span<const double> a, std::span<const double> b);

struct Interval {
  double low;
  double high;

  bool contains(double value) const { return low <= value && value <= high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// An interval that contains the median of the samples' distribution with a probability of at least 95 %. Its ends are
/// two order statistics, so the coverage follows from the binomial distribution and holds for every distribution of the
/// samples. It needs no resampling and no seed. Fewer than six samples cannot give 95 %: the interval is then (-inf,
/// inf).
Interval median_interval(std::span<const double> samples);

/// The interval as "0.981 to 1.012", or "-" if the samples were too few for one.
std::string to_string(const Interval& interval);

/// A tie is an interval of ratios that contains 1: the samples do not show which side is faster. Too few samples for an
/// interval are no tie.
bool is_tie(const Interval& ratio);

}  // namespace hotgemm
