#include "base/blocks.hpp"

#include <cmath>
#include <numeric>

namespace hotgemm {
namespace {

constexpr double kMostDrift = 0.10;

/// The index of the boundary that lies nearest to the middle between `begin` and `end`, and strictly between them.
std::size_t middle_of(std::span<const double> ends_us, std::size_t begin, std::size_t end) {
  const double middle = (ends_us[begin] + ends_us[end]) / 2;
  std::size_t best = begin + 1;
  for (std::size_t i = begin + 1; i < end; ++i) {
    if (std::abs(ends_us[i] - middle) < std::abs(ends_us[best] - middle)) best = i;
  }
  return best;
}

}  // namespace

std::vector<std::size_t> block_order(std::size_t sides, int pass) {
  std::vector<std::size_t> order(sides);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (pass % 2 != 0) std::reverse(order.begin(), order.end());
  return order;
}

std::optional<CountedPart> counted_part(std::span<const double> ends_us, int launches, const BlockLengths& lengths) {
  const auto first = std::ranges::lower_bound(ends_us, lengths.settle_s * 1e6);
  if (first == ends_us.end()) return std::nullopt;
  const auto begin = static_cast<std::size_t>(first - ends_us.begin());
  std::size_t end = begin + 2;
  while (end < ends_us.size() && ends_us[end] - ends_us[begin] < lengths.counted_s * 1e6) ++end;
  if (end >= ends_us.size()) return std::nullopt;
  const std::size_t middle = middle_of(ends_us, begin, end);
  const auto per_launch = [&](std::size_t from, std::size_t to) {
    return (ends_us[to] - ends_us[from]) / (static_cast<double>(to - from) * launches);
  };
  return CountedPart{per_launch(begin, end), per_launch(begin, middle), per_launch(middle, end)};
}

bool is_drifting(const CountedPart& part) {
  return !(std::abs(part.first_half_us - part.second_half_us) <= kMostDrift * part.us);
}

BlockRepeats::Answer BlockRepeats::judge(const CountedPart& part, bool is_throttled) {
  const bool is_steady = !is_throttled && !is_drifting(part);
  if (!is_steady && tries_ < per_block_ && left_ > 0) {
    ++tries_;
    --left_;
    return Answer::repeat;
  }
  tries_ = 0;
  return is_steady ? Answer::keep : Answer::keep_unsteady;
}

BlockFinal block_final(std::size_t contenders, std::size_t per_leader, double seconds) {
  // A second leader is worth its time only if many contenders have had theirs.
  constexpr std::size_t kLeast = 3, kMost = 12, kManyContenders = 8;
  const auto blocks = static_cast<std::size_t>(std::lround(std::max(seconds, 0.0) / block_seconds(choice_lengths())));
  BlockFinal plan{.leaders = blocks >= kManyContenders + 2 * per_leader ? std::size_t{2} : std::size_t{1}};
  const std::size_t for_leaders = plan.leaders * per_leader;
  plan.contenders = std::clamp(blocks > for_leaders ? blocks - for_leaders : 0, kLeast, kMost);
  plan.contenders = std::min(plan.contenders, contenders);
  plan.leaders = std::min(plan.leaders, contenders);
  return plan;
}

}  // namespace hotgemm
