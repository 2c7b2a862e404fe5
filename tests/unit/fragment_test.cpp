#include "shared/fragment.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

// The formulas of the PTX ISA for mma.m16n8k16 with 16-bit operands. i is the element of a lane.

int group_of(int lane) { return lane >> 2; }
int thread_in_group(int lane) { return lane & 3; }

std::pair<int, int> ptx_a(int lane, int i) {  // (row, k)
  const bool upper = (i >= 0 && i < 2) || (i >= 4 && i < 6);
  const int k = thread_in_group(lane) * 2 + (i & 1);
  return {upper ? group_of(lane) : group_of(lane) + 8, i < 4 ? k : k + 8};
}
std::pair<int, int> ptx_b(int lane, int i) {  // (k, column)
  const int k = thread_in_group(lane) * 2 + (i & 1);
  return {i < 2 ? k : k + 8, group_of(lane)};
}
std::pair<int, int> ptx_c(int lane, int i) {  // (row, column)
  return {i < 2 ? group_of(lane) : group_of(lane) + 8, thread_in_group(lane) * 2 + (i & 1)};
}

/// The effect of ldmatrix.x4 on a block with rows of 16 elements: registers[lane][r * 2 + half] is the (row, column)
/// that arrives there.
using Registers = std::vector<std::vector<std::pair<int, int>>>;
template <class LaneOf>
Registers ldmatrix_x4(LaneOf&& lane_of, bool transposed) {
  Registers registers(kWarpSize, std::vector<std::pair<int, int>>(8));
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      for (int half = 0; half < 2; ++half) {
        const int row = transposed ? 2 * (lane % 4) + half : lane / 4;
        const int col = transposed ? lane / 4 : 2 * (lane % 4) + half;
        const LdmatrixLane address = lane_of(matrix * 8 + row);  // lane 8q + r gives the address of row r of matrix q
        registers[static_cast<unsigned>(lane)][static_cast<unsigned>(matrix * 2 + half)] = {address.row,
                                                                                            address.chunk * 8 + col};
      }
    }
  }
  return registers;
}

TEST(Fragment, AccumulatorIsPtxLayout) {
  std::set<std::pair<int, int>> seen;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const Element2d at = accumulator_element(lane, i);
      EXPECT_EQ(std::pair(at.row, at.col), ptx_c(lane, i)) << lane << " " << i;
      EXPECT_TRUE(at.row >= 0 && at.row < kMmaM && at.col >= 0 && at.col < kMmaN);
      seen.insert({at.row, at.col});
    }
  }
  EXPECT_EQ(seen.size(), 128U);
}

TEST(Fragment, LanesAddressEachRowOfABlockOnce) {
  for (const bool k_major : {false, true}) {
    std::set<std::pair<int, int>> a, b;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const LdmatrixLane lane_a = ldmatrix_a_lane(lane, k_major), lane_b = ldmatrix_b_lane(lane, k_major);
      for (const LdmatrixLane& at : {lane_a, lane_b}) EXPECT_TRUE(at.row >= 0 && at.row < 16 && (at.chunk & ~1) == 0);
      a.insert({lane_a.row, lane_a.chunk});
      b.insert({lane_b.row, lane_b.chunk});
    }
    EXPECT_EQ(a.size(), 32U);
    EXPECT_EQ(b.size(), 32U);
  }
}

TEST(Fragment, AnLdmatrixPhaseIsEightConsecutiveRowsOfOneChunk) {
  // The condition in TileLayout's law about bank groups.
  for (const bool k_major : {false, true}) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const int first = lane / 8 * 8;
      EXPECT_EQ(ldmatrix_a_lane(lane, k_major).row, ldmatrix_a_lane(first, k_major).row + lane % 8);
      EXPECT_EQ(ldmatrix_a_lane(lane, k_major).chunk, ldmatrix_a_lane(first, k_major).chunk);
      EXPECT_EQ(ldmatrix_a_lane(first, k_major).row % 8, 0);
      EXPECT_EQ(ldmatrix_b_lane(lane, k_major).row, ldmatrix_b_lane(first, k_major).row + lane % 8);
      EXPECT_EQ(ldmatrix_b_lane(lane, k_major).chunk, ldmatrix_b_lane(first, k_major).chunk);
      EXPECT_EQ(ldmatrix_b_lane(first, k_major).row % 8, 0);
    }
  }
}

TEST(Fragment, LdmatrixGivesEachLaneItsElementsOfA) {
  for (const bool k_major : {false, true}) {
    const Registers registers = ldmatrix_x4([&](int lane) { return ldmatrix_a_lane(lane, k_major); }, !k_major);
    std::set<std::pair<int, int>> seen;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      for (int i = 0; i < 8; ++i) {
        auto [row, col] = registers[static_cast<unsigned>(lane)][static_cast<unsigned>(i)];
        if (!k_major) std::swap(row, col);  // the tile's rows run along k
        EXPECT_EQ(std::pair(row, col), ptx_a(lane, i)) << "k-major " << k_major << " lane " << lane << " element " << i;
        seen.insert({row, col});
      }
    }
    EXPECT_EQ(seen.size(), 256U);
  }
}

TEST(Fragment, LdmatrixGivesEachLaneItsElementsOfB) {
  for (const bool k_major : {false, true}) {
    const Registers registers = ldmatrix_x4([&](int lane) { return ldmatrix_b_lane(lane, k_major); }, !k_major);
    std::set<std::pair<int, int>> seen;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      for (int i = 0; i < 8; ++i) {
        auto [k, col] = registers[static_cast<unsigned>(lane)][static_cast<unsigned>(i)];
        if (k_major) std::swap(k, col);  // the tile's rows are columns of B
        auto [expected_k, expected_col] = ptx_b(lane, i % 4);
        expected_col += i / 4 * kMmaN;  // for two instructions
        EXPECT_EQ(std::pair(k, col), std::pair(expected_k, expected_col))
            << "k-major " << k_major << " lane " << lane << " element " << i;
        seen.insert({k, col});
      }
    }
    EXPECT_EQ(seen.size(), 256U);
  }
}

TEST(Fragment, LdmatrixX2LoadsTheFirstOfTwoFragments) {
  for (const bool k_major : {false, true}) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const LdmatrixLane found = ldmatrix_x2_b_lane(lane, k_major), expected = ldmatrix_b_lane(lane % 16, k_major);
      EXPECT_EQ(std::pair(found.row, found.chunk), std::pair(expected.row, expected.chunk)) << lane;
      EXPECT_TRUE(k_major ? found.row < kMmaN : found.chunk == 0) << "these are columns of the second fragment";
    }
  }
}

/// A tile of single bytes whose rows run along m or n: prmt takes one byte of each pair, and the fragments of both
/// halves of a block have natural k.
TEST(Fragment, PairsOfBytesGiveEachLaneItsElements) {
  for (const bool is_a : {false, true}) {
    std::set<std::pair<int, int>> seen;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      for (int half = 0; half < 2; ++half) {
        for (int k_half = 0; k_half < 2; ++k_half) {
          for (int byte = 0; byte < 4; ++byte) {
            // ldmatrix.trans gives a lane pair number lane / 4 of rows 2 * t and 2 * t + 1 of a matrix.
            const int matrix = 2 * k_half + byte / 2, row = 2 * thread_in_group(lane) + byte % 2;
            const LdmatrixLane at = ldmatrix_bytes_lane(matrix * 8 + row);
            EXPECT_EQ(at.chunk, 0);
            EXPECT_EQ(at.row, 16 * k_half + 4 * thread_in_group(lane) + byte) << "k of the PTX ISA";
            seen.insert({at.row, 2 * group_of(lane) + half});
          }
        }
      }
    }
    EXPECT_EQ(seen.size(), 32U * 16U);
    std::set<int> registers;
    for (const int half : {0, 1}) {
      for (const int k_half : {0, 1}) registers.insert(fragment_register(is_a, half, k_half));
    }
    EXPECT_EQ(registers.size(), 4U);
    EXPECT_EQ(fragment_register(is_a, 1, 0), is_a ? 1 : 2) << "a1 is of rows g + 8; b0 of the second instruction";
  }
}

TEST(Fragment, WordsGiveEachLaneItsElements) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const LdmatrixLane at = word_lane(lane);
    EXPECT_EQ(at.row, thread_in_group(lane)) << "k";
    EXPECT_EQ(at.chunk * 16 + at.byte, group_of(lane) * 4) << "row of A, or column of B";
  }
}

/// The place of each word of a warp's lanes after one step of the exchange.
using Words = std::vector<std::vector<std::pair<int, int>>>;  // by lane and word: an element's row and column
void exchange_words(Words& words, int distance) {
  const Words before = words;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int word = 0; word < 4; ++word) {
      if ((word & distance) != 0) continue;
      const int partner = lane ^ distance;
      words[static_cast<unsigned>(lane)][static_cast<unsigned>(exchanged_word(lane, word, distance))] =
          before[static_cast<unsigned>(partner)][static_cast<unsigned>(exchanged_word(partner, word, distance))];
    }
  }
}

/// Checks the rows that a warp of `blocks` × `columns` accumulators stores after exchanging words, by their first
/// elements. Each row must hold eight neighbouring elements.
void check_shuffled_store(int blocks, int columns) {
  SCOPED_TRACE(std::to_string(blocks) + " blocks of " + std::to_string(columns) + " columns");
  const int rows = blocks * 2 * columns;
  const auto element = [&](int lane, int index) {
    const ResultRow at = result_row(index, columns);
    const Element2d place = accumulator_element(lane, at.half * 2);
    return std::pair(at.block * kMmaM + place.row, at.column * kMmaN + place.col);
  };
  std::set<std::pair<int, int>> stored;
  for (int first = 0; first < rows; first += 4) {
    Words words(kWarpSize, std::vector<std::pair<int, int>>(4, {-1, -1}));
    for (int lane = 0; lane < kWarpSize; ++lane) {
      for (int w = 0; w < 4 && first + w < rows; ++w) {
        words[static_cast<unsigned>(lane)][static_cast<unsigned>(w)] = element(lane, first + w);
      }
    }
    exchange_words(words, 1);
    exchange_words(words, 2);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const int index = first + lane % 4;
      if (index >= rows) continue;
      const ResultRow at = result_row(index, columns);
      const int row = at.block * kMmaM + at.half * 8 + lane / 4, col = at.column * kMmaN;
      for (int w = 0; w < 4; ++w) {
        ASSERT_EQ(words[static_cast<unsigned>(lane)][static_cast<unsigned>(w)], std::pair(row, col + 2 * w))
            << "lane " << lane << " word " << w << " of rows from " << first;
      }
      ASSERT_TRUE(row < blocks * kMmaM && col < columns * kMmaN);
      ASSERT_TRUE(stored.insert({row, col}).second);
    }
  }
  ASSERT_EQ(stored.size(), static_cast<std::size_t>(blocks * kMmaM * columns));
}

TEST(Fragment, ShuffledStoreHasEachElementOnce) {
  for (int blocks = 1; blocks <= 4; ++blocks) {
    for (int columns = 1; columns <= 9; ++columns) ASSERT_NO_FATAL_FAILURE(check_shuffled_store(blocks, columns));
  }
}

}  // namespace
}  // namespace hotgemm
