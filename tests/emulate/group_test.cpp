// Groups of rows on the emulated device.

#include "emulate/device_fixture.hpp"
#include "emulate/group_case.hpp"

#include "config/launch_shape.hpp"
#include "config/traits.hpp"
#include "emulate/gemm_run.hpp"
#include "emulate/random.hpp"
#include "row_groups.cuh"
#include "shared/tile_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::emulate {
namespace {

// ---- the walk over the tiles ----

/// Offsets of `groups` groups with random sizes, many of them zero, in at most `m` rows.
std::vector<std::int32_t> random_offsets(std::size_t groups, int m, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int32_t> offsets{0};
  for (std::size_t i = 0; i < groups; ++i) {
    const int left = m - offsets.back(), kind = static_cast<int>(random.below(4));
    const int rows = kind == 0 ? 0 : static_cast<int>(random.below(kind == 1 ? 300 : 40));
    offsets.push_back(offsets.back() + std::min(rows, left));
  }
  return offsets;
}

class GroupTilesLaw : public EmulatedDevice {
 protected:
  static constexpr int kRows = 16, kCols = 64, kWarps = 2;

  /// The tiles that each block's first lane visits: group, first row and number of rows of the group, place of the
  /// tile.
  std::vector<std::vector<std::int32_t>> visited(const GemmArgs& gemm, const std::vector<std::int32_t>& offsets,
                                                 std::uint32_t blocks) {
    const auto bytes = static_cast<std::int64_t>(offsets.size() * sizeof(std::int32_t));
    Allocation& at = matrix("offsets", 1, bytes, false);
    at.store(0, 0, offsets.data(), offsets.size() * sizeof(std::int32_t));
    std::vector<std::vector<std::int32_t>> tiles;  // fibers run on one thread
    const auto groups = static_cast<u32>(offsets.size() - 1);
    const LaunchReport report = run(
        [&] {
          for_each_group_tile(gemm, {at.address()}, groups, kRows, kCols, ptx::block_index(), ptx::grid_size(),
                              [&](const GroupTile& tile) {
                                if (ptx::thread_index() % kWarpSize != 7) return;
                                tiles.push_back({ptx::thread_index() / kWarpSize, tile.group.number, tile.group.begin,
                                                 tile.group.rows, tile.at.m, tile.at.n});
                              });
        },
        {.threads = kWarps * kWarpSize, .blocks = blocks});
    EXPECT_TRUE(report.findings.empty()) << text(report.findings);
    return tiles;
  }

  /// The list that is expected, from the sizes of the groups.
  static std::vector<std::vector<std::int32_t>> expected(const GemmArgs& gemm,
                                                         const std::vector<std::int32_t>& offsets) {
    std::vector<std::vector<std::int32_t>> tiles;
    for (int warp = 0; warp < kWarps; ++warp) {
      for (std::size_t g = 0; g + 1 < offsets.size(); ++g) {
        const std::int32_t begin = std::min(offsets[g], gemm.m), rows = std::min(offsets[g + 1], gemm.m) - begin;
        for (std::int32_t m = 0; m * kRows < rows; ++m) {
          for (std::int32_t n = 0; n * kCols < gemm.n; ++n)
            tiles.push_back({warp, static_cast<std::int32_t>(g), begin, rows, m, n});
        }
      }
    }
    return tiles;
  }

  void expect_each_once(const std::vector<std::int32_t>& offsets, int m, int n, std::uint32_t blocks) {
    SCOPED_TRACE(std::to_string(offsets.size() - 1) + " groups, " + std::to_string(offsets.back()) + " of " +
                 std::to_string(m) + " rows, " + std::to_string(blocks) + " blocks");
    GemmArgs gemm{};
    gemm.m = m, gemm.n = n, gemm.raster_width = 1 + m % 3, gemm.raster_along_n = m % 2;
    std::vector<std::vector<std::int32_t>> found = visited(gemm, offsets, blocks), right = expected(gemm, offsets);
    EXPECT_LE(right.size() / kWarps,
              static_cast<std::size_t>(most_tile_rows(m, static_cast<long long>(offsets.size()) - 1, kRows) *
                                       ((n - 1) / kCols + 1)));
    std::ranges::sort(found);
    std::ranges::sort(right);
    EXPECT_EQ(found, right);
  }
};

TEST_F(GroupTilesLaw, EveryWarpVisitsEveryTileOfEveryGroupOnce) {
  std::uint64_t seed = 1;
  for (const std::size_t groups : {1, 2, 31, 32, 33, 70}) {
    for (const int m : {1, 17, 500, 3000}) {
      expect_each_once(random_offsets(groups, m, seed), m, 100, 1 + static_cast<std::uint32_t>(seed % 5));
      ++seed;
    }
  }
}

TEST_F(GroupTilesLaw, EmptyGroupsHaveNoTilesWhereverTheyAre) {
  expect_each_once({0, 0}, 64, 64, 3);
  expect_each_once({0, 0, 0, 40, 40, 41, 41}, 64, 64, 3);
  std::vector<std::int32_t> last(100, 0);  // 99 groups, of which the last has all rows
  last.back() = 64;
  expect_each_once(last, 64, 64, 2);
  expect_each_once(std::vector<std::int32_t>(65, 0), 64, 64, 2);
}

TEST_F(GroupTilesLaw, OffsetsBeyondTheRowsThatThereAreEndThere) { expect_each_once({0, 30, 70, 200}, 64, 64, 2); }

TEST(RowGroup, LiesAmongTheRowsWhateverTheOffsetsAre) {
  for (const int begin : {-5, 0, 3, 10, 99}) {
    for (const int end : {-9, 0, 2, 3, 9, 10, 11, 1 << 30}) {
      const RowGroup group = row_group(0, begin, end, 10);
      EXPECT_GE(group.begin, 0);
      EXPECT_GE(group.rows, 0);
      EXPECT_LE(group.begin + group.rows, 10);
    }
  }
}

TEST(MostTileRows, IsReachedAndNeverExceeded) {
  for (int m = 0; m <= 12; ++m) {
    for (int groups = 1; groups <= 4; ++groups) {
      for (const int tile : {1, 2, 4}) {
        // All divisions of up to m rows among the groups, counted in base m + 1.
        long long most = 0, divisions = 1;
        for (int g = 0; g < groups; ++g) divisions *= m + 1;
        for (long long number = 0; number < divisions; ++number) {
          long long rest = number, rows = 0, tiles = 0;
          for (int g = 0; g < groups; ++g, rest /= m + 1) {
            rows += rest % (m + 1);
            tiles += tile_rows(static_cast<int>(rest % (m + 1)), tile);
          }
          if (rows <= m) most = std::max(most, tiles);
        }
        ASSERT_EQ(most_tile_rows(m, groups, tile), std::max(most, 1LL)) << m << " rows, " << groups << " groups";
      }
    }
  }
}

// ---- products ----

void expect_right(const GemmKernel& kernel, const Groups& groups, std::uint64_t seed) {
  std::string sizes;
  for (const Groups::Group& group : groups.groups)
    sizes += " " + std::to_string(group.number) + ":" + std::to_string(group.single.problem.m);
  SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(kernel.traits) + " for " +
               to_string(groups.whole) + ", rows" + sizes + ", seed " + std::to_string(seed));
  const GemmRun run = run_gemm(kernel, groups.whole, groups.matrices, seed);
  EXPECT_TRUE(run.report.findings.empty()) << text(run.report.findings);
  EXPECT_EQ(first_wrong(groups, run), "");
}

/// The numbers are offsets, or the counts of masked groups.
struct GroupedSize {
  std::int64_t m, n, k;
  std::vector<std::int32_t> numbers;
};

void expect_right(const std::vector<GemmKernel>& kernels, const std::vector<GroupedSize>& sizes,
                  Groups (*make)(GemmCase, const std::vector<std::int32_t>&)) {
  std::uint64_t seed = 1;
  for (const GemmKernel& kernel : kernels) {
    for (const GroupedSize& size : sizes) {
      GemmCase c{.problem = workload_of(kernel.traits, size.m, possible_n(kernel.traits, size.n), size.k),
                 .alpha = kernel.traits.element == DType::s8 ? 0x1p-10f : -2.0f,
                 .beta = kernel.traits.reads_c ? -1.0f : 0.0f,
                 .data_seed = seed};
      c.in_place = kernel.traits.reads_c && seed % 2 == 0;
      c.residual_in_place = c.problem.epilogue.residual && !c.in_place && seed % 3 == 0;
      c.launch.raster_width = static_cast<int>(seed % 2 + 1);
      expect_right(kernel, make(c, size.numbers), seed);
      ++seed;
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(EmulatedGroups, ProductsAreRightInEveryFamily) {
  const std::vector<GroupedSize> sizes = {
      {150, 91, 150, {0, 77, 77, 80, 145}},      // edges everywhere, an empty group, rows behind the last one
      {140, 144, 64, {0, 128}},                  // one group of whole tiles, and rows behind it
      {40, 50, 70, {0, 1, 2, 3, 3, 20, 20}},     // groups smaller than a tile
      {33, 50, 0, {0, 10, 33}},                  // no sum
      {5, 16, 40, {0, 0, 0, 0}},                 // no rows
      {130, 40, 72, {0, 16, 32, 96, 112, 130}},  // groups that end where boxes of D do
  };
  expect_right(grouped_kernels(), sizes, make_groups);
}

TEST(EmulatedGroups, MaskedProductsHaveAsManyRowsAsTheyAreCounted) {
  expect_right(masked_kernels(),
               {
                   {70, 91, 150, {70, 0, 3, 64}},  // edges everywhere, an empty group
                   {64, 144, 64, {64, 99, -1}},    // counts beyond the room count as it, and negative ones as none
                   {40, 48, 0, {17, 40}},          // no sum
               },
               make_masked);
}

TEST(EmulatedGroups, ProductsAlongKEndWhereTheirGroupDoes) {
  expect_right(k_grouped_kernels(),
               {
                   {70, 91, 250, {0, 77, 77, 80, 240}},  // edges everywhere, an empty group, k behind the last one
                   {144, 144, 128, {0, 64, 128}},        // whole tiles
                   {33, 48, 90, {0, 0, 1, 2, 90}},       // k shorter than a tile
                   {33, 48, 0, {0, 0, 0}},               // no sum
               },
               make_k_groups);
}

}  // namespace
}  // namespace hotgemm::emulate
