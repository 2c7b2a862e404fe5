#include "config/group_sizes.hpp"

#include "config/work.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hotgemm {
namespace {

/// `all` elements in proportion to 1, 1/2, 1/3, ...
std::vector<std::int64_t> skewed_parts(std::int64_t all, std::int64_t parts) {
  double weights = 0;
  for (std::int64_t i = 0; i < parts; ++i) weights += 1.0 / static_cast<double>(i + 1);
  std::vector<std::int64_t> sizes;
  double weight = 0;
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    weight += 1.0 / static_cast<double>(i + 1);
    const std::int64_t end = std::llround(weight / weights * static_cast<double>(all));
    sizes.push_back(end - before);
    before = end;
  }
  return sizes;
}

}  // namespace

std::vector<std::int64_t> group_sizes(const Problem& problem, GroupShares shares) {
  const bool is_skewed = shares == GroupShares::skewed;
  const bool along_k = problem.group_kind == GroupKind::along_k;
  if (problem.group_kind != GroupKind::masked_rows && is_skewed)
    return skewed_parts(along_k ? problem.k : problem.m, problem.groups);
  const Problem batch = with_uniform_groups(problem);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < problem.groups; ++i) {
    const std::int64_t even = i < batch.batch ? (along_k ? batch.k : batch.m) : 0;
    sizes.push_back(is_skewed ? even / (i + 1) : even);
  }
  return sizes;
}

double tiles_of_skewed_groups(const Problem& problem, int tile_rows) {
  constexpr double kEuler = 0.5772;
  const auto groups = static_cast<double>(problem.groups);
  const double weights = std::log(groups) + kEuler + 0.5 / groups - 1 / (12 * groups * groups);  // 1 + 1/2 + 1/3 …
  const double largest = static_cast<double>(problem.m) / weights;
  // Group i has largest / i rows. Of groups with less than one row some have one, and the others none.
  double tiles = largest >= groups ? groups : largest * (1 + std::log(groups / std::max(largest, 1.0)));
  for (int i = 1; i <= groups && largest / i > tile_rows; ++i) tiles += std::ceil(largest / i / tile_rows) - 1;
  return std::max(tiles, 1.0);
}

double timed_flops(const Problem& problem) {
  if (problem.group_kind != GroupKind::masked_rows) return flops(problem);  // shares of one product
  const auto rows = [&](GroupShares shares) {
    const std::vector<std::int64_t> sizes = group_sizes(problem, shares);
    return static_cast<double>(std::reduce(sizes.begin(), sizes.end()));
  };
  const double uniform = rows(GroupShares::uniform);
  return uniform > 0 ? flops(problem) * (1 + rows(GroupShares::skewed) / uniform) / 2 : 0;
}

std::vector<std::int32_t> group_numbers(const Problem& problem, GroupShares shares) {
  const std::vector<std::int64_t> sizes = group_sizes(problem, shares);
  std::vector<std::int32_t> numbers;
  if (problem.group_kind == GroupKind::masked_rows) {
    for (const std::int64_t size : sizes) numbers.push_back(static_cast<std::int32_t>(size));
    return numbers;
  }
  std::int64_t offset = 0;
  numbers.push_back(0);
  for (const std::int64_t size : sizes) numbers.push_back(static_cast<std::int32_t>(offset += size));
  return numbers;
}

}  // namespace hotgemm
