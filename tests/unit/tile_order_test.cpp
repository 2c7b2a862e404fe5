#include "shared/tile_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

using Wide = unsigned long long;

/// The position of a tile in the order, computed the simple way: whole groups before it, whole columns of its group
/// before it, tiles above it.
Wide position_of(Wide m, Wide n, Wide tiles_m, Wide tiles_n, Wide width, bool along_n) {
  const Wide outer = along_n ? n : m, inner = along_n ? m : n;
  const Wide outers = along_n ? tiles_n : tiles_m, inners = along_n ? tiles_m : tiles_n;
  const Wide first = outer / width * width;
  const Wide group_rows = std::min(width, outers - first);
  return first * inners + inner * group_rows + (outer - first);
}

TEST(TileOrder, TakesEveryTileOnce) {
  for (const bool along_n : {false, true}) {
    for (unsigned tiles_m = 1; tiles_m <= 9; ++tiles_m) {
      for (unsigned tiles_n = 1; tiles_n <= 9; ++tiles_n) {
        for (unsigned width = 1; width <= 12; ++width) {
          std::set<std::pair<int, int>> seen;
          for (unsigned index = 0; index < tiles_m * tiles_n; ++index) {
            const TileCoord tile = tile_at(index, tiles_m, tiles_n, width, along_n);
            ASSERT_GE(tile.m, 0);
            ASSERT_GE(tile.n, 0);
            ASSERT_LT(tile.m, static_cast<int>(tiles_m));
            ASSERT_LT(tile.n, static_cast<int>(tiles_n));
            ASSERT_TRUE(seen.insert({tile.m, tile.n}).second);
            ASSERT_EQ(
                position_of(static_cast<Wide>(tile.m), static_cast<Wide>(tile.n), tiles_m, tiles_n, width, along_n),
                index);
          }
        }
      }
    }
  }
}

TEST(TileOrder, IsThePictureOfItsComment) {
  constexpr std::pair<int, int> kExpected[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {2, 0}, {2, 1}, {2, 2}};
  for (unsigned index = 0; index < 9; ++index) {
    const TileCoord tile = tile_at(index, 3, 3, 2, false);
    EXPECT_EQ(std::pair(tile.m, tile.n), kExpected[index]) << index;
    const TileCoord mirrored = tile_at(index, 3, 3, 2, true);
    EXPECT_EQ(std::pair(mirrored.n, mirrored.m), kExpected[index]) << index;
  }
}

TEST(TileOrder, DoesNotOverflow) {
  // Grids of up to 2^31 - 1 blocks, the maximum of a launch.
  constexpr unsigned kMost = 2147483647U;
  constexpr std::pair<unsigned, unsigned> kGrids[] = {{kMost, 1},      {1, kMost},      {46340, 46341},
                                                      {2, 1073741823}, {1073741823, 2}, {715827882, 3}};
  for (const auto& [tiles_m, tiles_n] : kGrids) {
    const unsigned total = tiles_m * tiles_n;
    for (const bool along_n : {false, true}) {
      for (const unsigned width : {1U, 3U, 8U, 4096U}) {
        for (unsigned step = 0; step < 1000; ++step) {
          const auto index = static_cast<unsigned>(static_cast<Wide>(total - 1) * step / 999);
          const TileCoord tile = tile_at(index, tiles_m, tiles_n, width, along_n);
          ASSERT_GE(tile.m, 0);
          ASSERT_GE(tile.n, 0);
          ASSERT_LT(static_cast<unsigned>(tile.m), tiles_m);
          ASSERT_LT(static_cast<unsigned>(tile.n), tiles_n);
          ASSERT_EQ(position_of(static_cast<Wide>(tile.m), static_cast<Wide>(tile.n), tiles_m, tiles_n, width, along_n),
                    index);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hotgemm
