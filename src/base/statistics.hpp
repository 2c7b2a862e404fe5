#pragma once

#include <span>
#include <vector>

// What samples of times say. Pure and deterministic; NaN stands for a sample that was not taken.

namespace hotgemm {

/// The quantile `q` in [0, 1] of the samples that are not NaN, interpolated between neighbours; NaN if there are none.
double quantile(std::span<const double> samples, double q);
/// The middle of the samples that are not NaN; NaN if there are none.
double median(std::span<const double> samples);
/// Third quartile less the first, of the samples that are not NaN; NaN if there are none.
double interquartile_range(std::span<const double> samples);

/// NaN if there are no values, or if one of them is NaN or not positive: a problem that could not run has no mean.
double geometric_mean(std::span<const double> values);

/// numerators[i] / denominators[i] for every i up to the shorter length at which both were measured.
std::vector<double> paired_ratios(std::span<const double> numerators, std::span<const double> denominators);

struct Interval {
  double low;
  double high;

  bool contains(double value) const { return low <= value && value <= high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// An interval that holds the median of what the samples were drawn from with a probability of at least 95 %: a pair of
/// order statistics, whose coverage follows from the binomial distribution whatever that of the samples is. No
/// resampling, so no seed. Fewer than six samples cannot give 95 %: the interval is (-inf, inf).
Interval median_interval(std::span<const double> samples);

/// A ratio's interval that contains 1 is a tie: the samples do not say which side is faster.
bool is_tie(const Interval& ratio);

}  // namespace hotgemm
