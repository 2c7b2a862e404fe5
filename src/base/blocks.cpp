#include "base/blocks.hpp"

#include <cmath>
#include <numeric>

namespace hotgemm {
namespace {

constexpr double kMostDrift = 0.01;

/// The index of the boundary that lies nearest to the middle between `begin` and `end`, and strictly between them.
std::size_t middle_of(std::span<const double> ends_us, std::size_t begin, std::size_t end) {
  const double middle = (ends_us[begin] + ends_us[end]) / 2;
  std::size_t best = begin + 1;
  for (std::size_t i = begin + 1; i < end; ++i) {
    if (std::abs(ends_us[i] - middle) < std::abs(ends_us[best] - middle)) best = i;
  }
  return best;
}

double seconds_of(const BlockStage& stage) {
  const double block_s = stage.lengths.settle_s + stage.lengths.counted_s;
  return static_cast<double>(stage.contenders) * stage.passes * block_s;
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

std::vector<BlockStage> block_stages(std::size_t contenders, double seconds, double time_constant_s) {
  constexpr double kLeastScale = 1.0 / 3;
  const double tau = time_constant_s;
  std::vector<BlockStage> stages{{12, 1, {.settle_s = 3 * tau, .counted_s = 4 * tau}},
                                 {6, 1, {.settle_s = 3 * tau, .counted_s = 8 * tau}},
                                 {3, 2, {.settle_s = 4 * tau, .counted_s = 8 * tau}}};
  for (BlockStage& stage : stages) stage.contenders = std::min(stage.contenders, contenders);
  // Fewer contenders need fewer stages: a stage that drops nobody is left out, except the last one.
  while (stages.size() > 1 && stages[0].contenders <= stages[1].contenders) stages.erase(stages.begin());
  const auto total = [&] {
    double s = 0;
    for (const BlockStage& stage : stages) s += seconds_of(stage);
    return s;
  };
  while (stages.size() > 1 && total() * kLeastScale > seconds) stages.erase(stages.begin());
  const double scale = std::clamp(seconds / total(), kLeastScale, 1.0);
  for (BlockStage& stage : stages) {
    stage.lengths.settle_s *= scale;
    stage.lengths.counted_s *= scale;
  }
  return stages;
}

}  // namespace hotgemm
