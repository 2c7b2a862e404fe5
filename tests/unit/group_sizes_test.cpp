#include "config/group_sizes.hpp"

#include <hotgemm/types.hpp>
#include "config/work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hotgemm {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes sizes(const char* text, GroupShares shares) { return group_sizes(parse_workload(text), shares); }
std::vector<std::int32_t> numbers(const char* text, GroupShares shares) {
  return group_numbers(parse_workload(text), shares);
}

TEST(GroupSizes, UniformGroupsAreTheBatchOfTheProblem) {
  for (const char* text :
       {"4096 512 256 nt bf16 groups=8", "1000 512 256 nt bf16 groups=7", "5 512 256 nt bf16 groups=8",
        "128 512 256 nt bf16 groups=8,masked", "512 256 4096 tn bf16 groups=8,k"}) {
    const Workload problem = parse_workload(text), batch = with_uniform_groups(problem);
    const std::int64_t size = problem.group_kind == GroupKind::along_k ? batch.k : batch.m;
    Sizes expected(static_cast<std::size_t>(problem.groups), 0);
    std::fill_n(expected.begin(), batch.batch, size);
    EXPECT_EQ(sizes(text, GroupShares::uniform), expected) << text;
  }
}

TEST(GroupSizes, SkewedGroupsShareAllThatTheProblemHas) {
  EXPECT_EQ(sizes("256 512 256 nt bf16 groups=8", GroupShares::skewed), (Sizes{94, 47, 32, 23, 19, 16, 13, 12}));
  for (const char* text :
       {"4096 512 256 nt bf16 groups=256", "100 512 256 nt bf16 groups=256", "9 8 7 nt f16 groups=1"}) {
    const Sizes skewed = sizes(text, GroupShares::skewed);
    EXPECT_EQ(std::reduce(skewed.begin(), skewed.end()), parse_workload(text).m) << text;
    for (const std::int64_t size : skewed) EXPECT_GE(size, 0) << text;
  }
  const Sizes along_k = sizes("512 256 4096 tn bf16 groups=8,k", GroupShares::skewed);
  EXPECT_EQ(std::reduce(along_k.begin(), along_k.end()), 4096);
  EXPECT_GT(along_k.front(), 2 * along_k[4]);
}

TEST(GroupSizes, MaskedGroupsAreFullOrFillAsMuchAsTheirNumberSays) {
  EXPECT_EQ(numbers("128 512 256 nt bf16 groups=4,masked", GroupShares::uniform),
            (std::vector<std::int32_t>{128, 128, 128, 128}));
  EXPECT_EQ(numbers("128 512 256 nt bf16 groups=4,masked", GroupShares::skewed),
            (std::vector<std::int32_t>{128, 64, 42, 32}));
}

TEST(GroupSizes, OffsetsBeginAtZeroAndAddUp) {
  EXPECT_EQ(numbers("100 512 256 nt bf16 groups=4", GroupShares::uniform),
            (std::vector<std::int32_t>{0, 25, 50, 75, 100}));
  EXPECT_EQ(numbers("256 512 256 nt bf16 groups=8", GroupShares::skewed),
            (std::vector<std::int32_t>{0, 94, 141, 173, 196, 215, 231, 244, 256}));
}

/// The model asks for each config. So it adds up large groups alone, instead of making the sizes of all.
TEST(GroupSizes, TilesOfSkewedGroupsAreEstimatedWithinATenth) {
  for (const char* text :
       {"256 512 256 nt bf16 groups=8", "4096 512 256 nt bf16 groups=8", "65536 512 256 nt bf16 groups=64",
        "512 512 256 nt bf16 groups=32", "1024 512 256 nt bf16 groups=256", "100 512 256 nt bf16 groups=256"}) {
    for (const int tile : {8, 16, 64, 128, 256}) {
      double tiles = 0;
      for (const std::int64_t rows : sizes(text, GroupShares::skewed))
        tiles += static_cast<double>((rows + tile - 1) / tile);
      EXPECT_NEAR(tiles_of_skewed_groups(parse_workload(text), tile) / tiles, 1, 0.1) << text << ", " << tile;
    }
  }
}

TEST(GroupSizes, OperationsAreThoseOfAllRows) {
  const double one = flops(parse_workload("128 512 256 nt bf16"));
  EXPECT_EQ(flops(parse_workload("128 512 256 nt bf16 groups=4")), one);
  EXPECT_EQ(flops(parse_workload("128 512 256 nt bf16 groups=4,masked")), 4 * one);
  EXPECT_EQ(flops(parse_workload("128 512 256 tn bf16 groups=4,k")), one);
  EXPECT_EQ(timed_flops(parse_workload("128 512 256 nt bf16 groups=4")), one);
  EXPECT_EQ(timed_flops(parse_workload("128 512 256 nt bf16 groups=4,masked")),
            (4 + (128 + 64 + 42 + 32) / 128.0) / 2 * one);
}

}  // namespace
}  // namespace hotgemm
