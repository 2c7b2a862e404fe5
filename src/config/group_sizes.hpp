#pragma once

#include <hotgemm/problem.hpp>

#include <cstdint>
#include <vector>

namespace hotgemm {

/// The shares of rows, or of k, that groups have.
enum class GroupShares {
  uniform,  ///< evenly; masked groups are full
  skewed,  ///< as the experts of a model get tokens: group i in proportion to 1 / (i + 1); the first masked one is full
};

/// The rows of each group of `problem`, or its k for groups along k. Skewed ones add up to m, or to k; uniform ones
/// leave out the remainder of the division, so that they are a batch (with_uniform_groups). Masked ones have m rows at
/// most.
std::vector<std::int64_t> group_sizes(const Problem& problem, GroupShares shares);

/// The approximate number of tiles of `tile_rows` rows that lie below each other in skewed groups of rows.
double tiles_of_skewed_groups(const Problem& problem, int tile_rows);

/// The operations of a launch that is timed on both shares in turns: the mean.
double timed_flops(const Problem& problem);

/// The offsets of groups of such sizes, or the counts of masked ones, as a call reads them.
std::vector<std::int32_t> group_numbers(const Problem& problem, GroupShares shares);

}  // namespace hotgemm
