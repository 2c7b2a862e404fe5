#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <numbers>

namespace hotgemm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kConfidence = 0.95;

std::vector<double> sorted_samples(std::span<const double> samples) {
  std::vector<double> sorted;
  sorted.reserve(samples.size());
  for (const double sample : samples) {
    if (!std::isnan(sample)) sorted.push_back(sample);
  }
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

/// The rank of each value, from 0; equal values share the mean of their ranks.
std::vector<double> ranks(std::span<const double> values) {
  const std::vector<double> sorted = sorted_samples(values);
  std::vector<double> result;
  for (const double value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    const auto before = static_cast<double>(first - sorted.begin());
    const auto equal = static_cast<double>(last - first);
    result.push_back(before + (equal - 1) / 2);
  }
  return result;
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
  const std::vector<double> sorted = sorted_samples(samples);
  if (sorted.empty()) return kNan;
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return fraction == 0 ? sorted[below] : sorted[below] + fraction * (sorted[above] - sorted[below]);
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double interquartile_range(std::span<const double> samples) {
  return quantile(samples, 0.75) - quantile(samples, 0.25);
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return kNan;
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0)) return kNan;
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

std::vector<double> paired_ratios(std::span<const double> numerators, std::span<const double> denominators) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(numerators.size(), denominators.size());
  for (std::size_t i = 0; i < rounds; ++i) {
    if (!std::isnan(numerators[i]) && !std::isnan(denominators[i])) ratios.push_back(numerators[i] / denominators[i]);
  }
  return ratios;
}

Interval median_interval(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_samples(samples);
  const std::size_t count = sorted.size();
  // The number of samples below the median is binomial with p = 1/2. The median lies outside [sorted[i], sorted[count -
  // 1 - i]] if at most i samples are below it, or at most i samples are above it. So take the largest i for which the
  // sum of both tails is at most 1 - kConfidence.
  // The logarithm, because 2^-count is no double for more than a thousand samples.
  double log_probability = -static_cast<double>(count) * std::numbers::ln2;  // that exactly i samples are below
  double tail = std::exp(log_probability);                                   // that at most i samples are below
  Interval interval{-kInfinity, kInfinity};
  for (std::size_t i = 0; 2 * i < count && 2 * tail <= 1 - kConfidence; ++i) {
    interval = {sorted[i], sorted[count - 1 - i]};
    log_probability += std::log(static_cast<double>(count - i) / static_cast<double>(i + 1));
    tail += std::exp(log_probability);
  }
  return interval;
}

std::string to_string(const Interval& interval) {
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.3f to %.3f", interval.low, interval.high);
  return text;
}

bool is_tie(const Interval& ratio) {
  return std::isfinite(ratio.low) && std::isfinite(ratio.high) && ratio.contains(1);
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  std::vector<double> both_a, both_b;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) continue;
    both_a.push_back(a[i]);
    both_b.push_back(b[i]);
  }
  if (both_a.size() < 2) return kNan;
  const std::vector<double> ranks_a = ranks(both_a), ranks_b = ranks(both_b);
  const double mean = static_cast<double>(both_a.size() - 1) / 2;  // of the ranks of either side
  double together = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < ranks_a.size(); ++i) {
    together += (ranks_a[i] - mean) * (ranks_b[i] - mean);
    of_a += (ranks_a[i] - mean) * (ranks_a[i] - mean);
    of_b += (ranks_b[i] - mean) * (ranks_b[i] - mean);
  }
  return of_a > 0 && of_b > 0 ? together / std::sqrt(of_a * of_b) : kNan;
}

}  // namespace hotgemm
