#include "shared/tile_layout.hpp"

#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

namespace hotgemm {
namespace {

bool operator<(const TileLayout& a, const TileLayout& b) {
  return std::tie(a.rows, a.row_chunks, a.swizzle) < std::tie(b.rows, b.row_chunks, b.swizzle);
}

struct LessLayout {
  bool operator()(const TileLayout& a, const TileLayout& b) const { return a < b; }
};
using Layouts = std::set<TileLayout, LessLayout>;

/// All tiles that candidates keep in shared memory.
const Layouts& candidate_tiles() {
  static const Layouts tiles = [] {
    Layouts all;
    for_each_mma_candidate([&](const MmaConfig& config, const GemmTraits& traits) {
      all.insert({config.a_tile(traits), config.b_tile(traits), config.d_tile(traits)});
    });
    return all;
  }();
  return tiles;
}

/// The tiles of candidates, and tiles that a new line of the menu might need.
Layouts more_tiles() {
  Layouts tiles = candidate_tiles();
  for (const int rows : {16, 48, 128}) {
    for (int chunks = 1; chunks <= 40; ++chunks) {
      tiles.insert({TileLayout{rows, chunks, false}, TileLayout{rows, chunks, true}});
    }
  }
  return tiles;
}

std::string name(const TileLayout& tile) {
  return std::to_string(tile.rows) + " rows of " + std::to_string(tile.row_chunks) + " chunks, " +
         (tile.swizzle ? "swizzled" : "padded");
}

TEST(TileLayout, CandidatesHaveBothKinds) {
  const Layouts& tiles = candidate_tiles();
  EXPECT_GE(tiles.size(), 40U);
  EXPECT_GE(std::ranges::count_if(tiles, &TileLayout::swizzle), 15);
  EXPECT_GE(std::ranges::count_if(tiles, [](const TileLayout& t) { return !t.swizzle; }), 15);
}

TEST(TileLayout, ChunksAreDisjointAndInside) {
  for (const TileLayout& tile : more_tiles()) {
    SCOPED_TRACE(name(tile));
    std::set<int> offsets;
    for (int row = 0; row < tile.rows; ++row) {
      for (int chunk = 0; chunk < tile.row_chunks; ++chunk) {
        const int offset = tile.offset_bytes(row, chunk);
        ASSERT_EQ(offset % kChunkBytes, 0);
        ASSERT_GE(offset, row * tile.row_stride_bytes());
        ASSERT_LE(offset + kChunkBytes, (row + 1) * tile.row_stride_bytes());
        ASSERT_TRUE(offsets.insert(offset).second) << "row " << row << ", chunk " << chunk;
      }
    }
    ASSERT_LE(*offsets.rbegin() + kChunkBytes, tile.bytes());
    if (tile.swizzle) {
      ASSERT_EQ(tile.bytes(), tile.rows * tile.row_chunks * kChunkBytes) << "swizzling takes no memory";
    }
  }
}

TEST(TileLayout, LdmatrixPhasesHitEightBankGroups) {
  for (const TileLayout& tile : more_tiles()) {
    SCOPED_TRACE(name(tile));
    for (int first_row = 0; first_row + 8 <= tile.rows; first_row += 8) {
      for (int chunk = 0; chunk < tile.row_chunks; ++chunk) {
        unsigned groups = 0;
        for (int row = first_row; row < first_row + 8; ++row) {
          groups |= 1U << static_cast<unsigned>(tile.offset_bytes(row, chunk) / kChunkBytes % kBankGroups);
        }
        ASSERT_EQ(groups, 0xffU) << "rows from " << first_row << ", chunk " << chunk;
      }
    }
  }
}

unsigned bank_group(const TileLayout& tile, int row, int chunk) {
  return 1U << static_cast<unsigned>(tile.offset_bytes(row, chunk) / kChunkBytes % kBankGroups);
}

TEST(TileLayout, PairsOfBytesHitEightBankGroups) {
  for (const bool swizzle : {true, false}) {
    for (int chunks = 1; chunks <= 32; ++chunks) {
      const TileLayout tile{64, chunks, swizzle, true, TileRead::byte_pairs};
      std::set<int> offsets;
      for (int chunk = 0; chunk < chunks; ++chunk) {
        for (int row = 0; row < tile.rows; ++row) offsets.insert(tile.offset_bytes(row, chunk));
        for (int first_lane = 0; first_lane < kWarpSize; first_lane += 8) {  // a phase of ldmatrix
          unsigned groups = 0;
          for (int lane = first_lane; lane < first_lane + 8; ++lane)
            groups |= bank_group(tile, ldmatrix_bytes_lane(lane).row, chunk);
          ASSERT_EQ(groups, 0xffU) << name(tile) << " at chunk " << chunk << ", lane " << first_lane;
        }
        for (int row = 0; row < 48; ++row)
          ASSERT_EQ(tile.offset_bytes(row + 16, chunk), tile.offset_bytes(row, chunk) + 16 * tile.row_stride_bytes());
      }
      ASSERT_EQ(offsets.size(), static_cast<std::size_t>(tile.rows * chunks));
      ASSERT_LT(*offsets.rbegin(), tile.bytes());
    }
  }
}

TEST(TileLayout, WordsHitEightBankGroups) {
  for (const bool swizzle : {true, false}) {
    for (int chunks = 2; chunks <= 64; chunks += 2) {
      const TileLayout tile{64, chunks, swizzle, true, TileRead::words};
      for (int first = 0; first < tile.rows; first += 4) {
        for (int chunk = 0; chunk < chunks; chunk += 2) {
          unsigned groups = 0;
          for (int lane = 0; lane < kWarpSize; ++lane)
            groups |= bank_group(tile, first + word_lane(lane).row, chunk + word_lane(lane).chunk);
          ASSERT_EQ(groups, 0xffU) << name(tile) << " at row " << first << ", chunk " << chunk;
          ASSERT_EQ(tile.row_xor(first), tile.row_xor(first + 4));
        }
      }
    }
  }
}

TEST(TileLayout, PaddingMakesStridesOdd) {
  for (int chunks = 1; chunks <= 40; ++chunks) {
    const TileLayout padded{16, chunks, false}, plain{16, chunks, false, false}, swizzled{16, chunks, true};
    EXPECT_EQ(padded.row_stride_bytes() / kChunkBytes, chunks | 1);
    EXPECT_EQ(plain.row_stride_bytes() / kChunkBytes, chunks);
    EXPECT_EQ(swizzled.row_stride_bytes() / kChunkBytes, chunks);
  }
}

TEST(TileLayout, XorHasPeriodEight) {
  for (const TileLayout& tile : more_tiles()) {
    for (int row = 0; row < 3 * tile.rows; ++row) {
      ASSERT_EQ(tile.row_xor(row), tile.row_xor(row + 8)) << name(tile);
      ASSERT_EQ(tile.row_xor(row) & ~(tile.swizzle_span() - 1), 0) << name(tile);
    }
  }
}

TEST(TileLayout, IsTheFamiliarSwizzle) {
  const TileLayout rows_of_128{64, 8, true};
  const TileLayout rows_of_64{64, 4, true};
  for (int row = 0; row < 64; ++row) {
    EXPECT_EQ(rows_of_128.row_xor(row), row % 8);
    EXPECT_EQ(rows_of_64.row_xor(row), row / 2 % 4);
  }
}

TEST(TileLayout, ResultsGoToDistinctBanks) {
  // store_staged writes one word per lane: eight rows with four neighbouring words each.
  for_each_mma_candidate([&](const MmaConfig& config, const GemmTraits& traits) {
    const TileLayout tile = config.d_tile(traits);
    std::set<int> banks;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const Element2d at = accumulator_element(lane, 0);
      banks.insert((at.row * tile.row_stride_bytes() + at.col * 2) / 4 % 32);
    }
    ASSERT_EQ(banks.size(), 32U) << name(tile);
  });
}

}  // namespace
}  // namespace hotgemm
