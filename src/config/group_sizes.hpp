#pragma once

#include <hotgemm/problem.hpp>

#include <cstdint>
#include <vector>

namespace hotgemm {

/// How what groups divide is shared out among them.
enum class GroupShares {
  uniform,  ///< evenly; masked groups are full
  skewed,  ///< as the experts of a model get tokens: group i in proportion to 1 / (i + 1); the first masked one is full
};

/// The rows of each group of `problem`, or its k for groups along k. Their sum is m, or k, but for masked groups. An
/// even share leaves the remainder of the division out, so that groups are a batch (with_uniform_groups).
std::vector<std::int64_t> group_sizes(const Problem& problem, GroupShares shares);

/// About how many tiles of `tile_rows` rows lie below each other in skewed groups of rows.
double tiles_of_skewed_groups(const Problem& problem, int tile_rows);

/// What a call reads: the offsets of groups of such sizes, or the counts of masked ones.
std::vector<std::int32_t> group_numbers(const Problem& problem, GroupShares shares);

}  // namespace hotgemm
