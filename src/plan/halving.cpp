#include "plan/halving.hpp"

#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace hotgemm {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::size_t incumbent_of(std::span<const double> medians) {
  if (!medians.empty() && !std::isnan(medians[0])) return 0;
  std::size_t best = kNone;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    if (!std::isnan(medians[i]) && (best == kNone || medians[i] < medians[best])) best = i;
  }
  return best;
}

}  // namespace

std::vector<RankedContender> rank_contenders(std::span<const std::vector<double>> us) {
  std::vector<double> medians;
  for (const std::vector<double>& samples : us) medians.push_back(median(samples));
  const std::size_t incumbent = incumbent_of(medians);
  std::vector<RankedContender> placed;
  for (std::size_t i = 0; i < us.size(); ++i) {
    if (std::isnan(medians[i])) continue;
    const double paired = median(paired_ratios(us[i], us[incumbent]));
    placed.push_back({i, std::isnan(paired) ? medians[i] / medians[incumbent] : paired});
  }
  std::ranges::stable_sort(placed, {}, &RankedContender::ratio);
  return placed;
}

std::size_t survivors(std::span<const RankedContender> placed, std::size_t least, double drop_ratio) {
  const std::size_t most = std::min(std::max((placed.size() + 1) / 2, least), placed.size());
  std::size_t count = 0;
  while (count < most && placed[count].ratio <= placed.front().ratio * drop_ratio) ++count;
  return count;
}

std::size_t tied(std::span<const RankedContender> placed) {
  std::size_t count = 0;
  while (count < placed.size() && placed[count].ratio <= placed.front().ratio * (1 + kTie)) ++count;
  return count;
}

std::vector<bool> disturbed_rounds(std::span<const double> incumbent_us) {
  const double usual_us = median(incumbent_us);
  const double limit_us = std::max(kDisturbed * usual_us, usual_us + kLeastNoiseUs);
  std::vector<bool> disturbed;
  for (const double us : incumbent_us) disturbed.push_back(us > limit_us);
  return disturbed;
}

bool is_unsteady(std::span<const double> incumbent_us) {
  constexpr std::ptrdiff_t kEnough = 4;
  const auto count = std::ranges::count_if(incumbent_us, [](double us) { return !std::isnan(us); });
  return count >= kEnough &&
         interquartile_range(incumbent_us) > std::max(kMostSpread * median(incumbent_us), kLeastNoiseUs);
}

bool is_decided(std::span<const std::vector<double>> us, std::span<const RankedContender> placed) {
  for (std::size_t i = 1; i < placed.size(); ++i) {
    const Interval ratio = median_interval(paired_ratios(us[placed[i].contender], us[placed[0].contender]));
    const bool is_slower = ratio.low > 1 + kTie;
    const bool is_tied = ratio.low > 1 - 2 * kTie && ratio.high < 1 + 2 * kTie;
    if (!is_slower && !is_tied) return false;
  }
  return true;
}

}  // namespace hotgemm
