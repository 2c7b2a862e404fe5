#include "shared/repack_args.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

TEST(Repack, RowsOfCopiesAreWholeLinesOrShort) {
  for (long long bytes = 1; bytes <= 2000; ++bytes) {
    const long long pitch = repacked_pitch(bytes);
    ASSERT_GE(pitch, bytes);
    ASSERT_EQ(pitch % kRepackChunkBytes, 0);
    if (bytes >= kRepackLineBytes) {
      ASSERT_EQ(pitch % kRepackLineBytes, 0);
      ASSERT_LT(pitch - bytes, kRepackLineBytes);
    } else {
      ASSERT_TRUE(kRepackLineBytes % pitch == 0);  // no row begins in one line and ends in another
      ASSERT_TRUE(pitch == kRepackChunkBytes || pitch < 2 * bytes);
    }
  }
}

unsigned chunks_of_row(long long row_bytes) {
  return static_cast<unsigned>(repacked_pitch(row_bytes) / kRepackChunkBytes);
}

TEST(Repack, DividerDividesAllNumbersThatUnitsHave) {
  for (unsigned chunks = 1; chunks <= 300; ++chunks) {
    const RowDivider divider(chunks);
    for (unsigned number = 0; number < chunks + kRepackUnitChunks; ++number) {
      ASSERT_EQ(divider.quotient(number), number / chunks) << number << " / " << chunks;
    }
  }
}

/// Each chunk belongs either to the ends or to the inner part, and is copied once.
TEST(Repack, PartsHaveEachChunkOnce) {
  for (const int rows : {1, 2, 3, 8, 16, 24, 25, 129, 300}) {
    for (const int bytes : {1, 2, 16, 17, 18, 200, 2000}) {
      const RepackMatrix matrix{.row_bytes = bytes, .rows = rows, .row_chunks = chunks_of_row(bytes)};
      std::vector<int> copies(matrix.chunks());
      for (unsigned lane = 0; lane < kRepackLanes; ++lane) {
        const auto chunk = matrix.end_chunk(lane);
        if (chunk < matrix.chunks()) ++copies[chunk];
      }
      for (unsigned long long chunk = 0; chunk < (matrix.parts() - 1) * kRepackUnitChunks; ++chunk) {
        if (matrix.is_inner(chunk)) ++copies.at(chunk);
      }
      EXPECT_TRUE(std::ranges::all_of(copies, [](int count) { return count == 1; })) << rows << "x" << bytes;
    }
  }
}

/// The tiles of a transposed copy cover its rows and chunks, and no more tiles than that.
TEST(Repack, TilesCoverATransposedCopy) {
  for (const int element : {1, 2, 4}) {
    for (const int rows : {1, 15, 16, 17, 64, 65, 300}) {
      for (const int depth : {1, 4, 16, 31, 33, 64, 128, 129, 200}) {
        const long long bytes = static_cast<long long>(depth) * element;
        const RepackMatrix matrix{
            .row_bytes = bytes, .rows = rows, .row_chunks = chunks_of_row(bytes), .transposed_bytes = element};
        EXPECT_EQ(matrix.depth(), depth);
        EXPECT_EQ(matrix.parts(), 0u);
        const auto times = [](unsigned number, int unit) { return (number + unit - 1) / static_cast<unsigned>(unit); };
        const unsigned row_tiles = times(static_cast<unsigned>(rows * element), repack_tile_bytes(element));
        EXPECT_EQ(element == 4   ? matrix.row_tiles<4>()
                  : element == 2 ? matrix.row_tiles<2>()
                                 : matrix.row_tiles<1>(),
                  row_tiles);
        EXPECT_EQ(matrix.tiles(), row_tiles * times(matrix.row_chunks * 16 / static_cast<unsigned>(element),
                                                    repack_tile_depth(element)));
      }
    }
  }
  EXPECT_EQ((RepackMatrix{.transposed_bytes = 1}).tiles(), 0u) << "nothing to copy";
  const RepackMatrix small{.row_bytes = 1024, .rows = 1024, .row_chunks = 64, .transposed_bytes = 1};
  EXPECT_GE(small.tiles(), 132u) << "tiles for all SMs of an H100";
}

/// The lanes of a warp have every word of a tile once, load whole sectors of its rows, and store whole sectors of rows
/// of the copy.
TEST(Repack, LanesHaveWholeSectorsOfATile) {
  constexpr int kSector = 32;
  for (const int element : {1, 2, 4}) {
    const int chunk_depth = kRepackChunkBytes / element, sets = repack_lane_rows(element) / chunk_depth;
    const int lane_words = repack_lane_words(element);
    std::set<std::pair<int, int>> words;
    for (int set = 0; set < sets; ++set) {
      std::map<int, std::set<int>> stored;  // the chunks of a row of words
      for (int lane = 0; lane < kRepackLanes; ++lane)
        stored[repack_tile_place(lane)].insert(repack_tile_chunk(lane, set));
      for (const auto& [place, chunks] : stored) {
        EXPECT_EQ(*chunks.begin() * kRepackChunkBytes % kSector, 0);
        EXPECT_EQ(*chunks.rbegin() + 1 - *chunks.begin(), std::ssize(chunks)) << "neighbours";
        EXPECT_EQ(std::ssize(chunks) * kRepackChunkBytes % kSector, 0);
      }
      for (int e = 0; e < chunk_depth; ++e) {
        std::map<int, std::set<int>> loaded;  // the words of a row of the tile
        for (int lane = 0; lane < kRepackLanes; ++lane) {
          for (int w = 0; w < lane_words; ++w) {
            loaded[repack_tile_chunk(lane, set) * chunk_depth + e].insert(repack_tile_place(lane) * lane_words + w);
          }
        }
        for (const auto& [depth, row] : loaded) {
          EXPECT_EQ(std::ssize(row) * 4, repack_tile_bytes(element));
          for (const int word : row) EXPECT_TRUE(words.emplace(depth, word).second) << depth << " " << word;
        }
      }
    }
    EXPECT_EQ(std::ssize(words) * 4, repack_tile_bytes(element) * repack_tile_depth(element));
    EXPECT_EQ(repack_tile_bytes(element) % kSector, 0);
  }
}

/// Whole granules of inner chunks lie within the matrix.
TEST(Repack, InnerChunksReadNothingOutside) {
  for (const int bytes : {1, 2, 3, 4, 6, 10, 14, 15, 16, 17, 18, 30, 31, 66, 126, 127, 128, 130, 400}) {
    for (const int gap : {0, 1, 2, 12}) {
      for (unsigned long long from = 4096; from < 4112; ++from) {
        const RepackMatrix matrix{
            .from = from, .pitch = bytes + gap, .row_bytes = bytes, .rows = 60, .row_chunks = chunks_of_row(bytes)};
        const unsigned long long end = from + static_cast<unsigned long long>((matrix.rows - 1) * matrix.pitch + bytes);
        for (unsigned long long chunk = 0; chunk < matrix.chunks(); ++chunk) {
          if (!matrix.is_inner(chunk)) continue;
          const auto row = static_cast<long long>(chunk / matrix.row_chunks);
          const auto first = static_cast<long long>(chunk % matrix.row_chunks) * kRepackChunkBytes;
          if (first >= bytes) continue;
          const long long last = std::min<long long>(first + kRepackChunkBytes, bytes) - 1;
          const auto address = [&](long long byte) {
            return from + static_cast<unsigned long long>(row * matrix.pitch + byte);
          };
          ASSERT_GE(address(first) / 16 * 16, from);
          ASSERT_LE(address(last) / 16 * 16 + 16, end) << bytes << "+" << gap << " at " << from << ": " << chunk;
        }
      }
    }
  }
}

TEST(Repack, BlocksPrefetchTheChunksInsideAMatrixOnce) {
  const auto expect_once = [](const RepackMatrix& matrix, unsigned long long end) {
    constexpr unsigned kBlocks = 264;
    unsigned next = 0;
    for (unsigned block = 0; block < kBlocks; ++block) {
      const ByteShare share = prefetch_share(matrix, kBlocks, block);
      if (share.count == 0) continue;
      ASSERT_EQ(share.first, next);
      ASSERT_EQ(share.count % 16, 0u);
      next += share.count;
    }
    const unsigned long long begin = matrix.aligned_begin();
    ASSERT_EQ(begin % 16, 0u);
    ASSERT_LT(begin - matrix.from, 16u);
    ASSERT_EQ(next, end / 16 * 16 > begin ? end / 16 * 16 - begin : 0)
        << matrix.rows << "x" << matrix.row_bytes << " at " << matrix.from;
  };
  for (const auto& [rows, bytes, gap] :
       {std::tuple(1, 2, 0), {1, 14, 6}, {3, 5, 0}, {1023, 2046, 0}, {100, 2002, 14}}) {
    for (unsigned long long from = 4096; from < 4112; ++from) {
      const auto end = from + static_cast<unsigned>((rows - 1) * (bytes + gap) + bytes);
      expect_once({.from = from, .pitch = bytes + gap, .row_bytes = bytes, .rows = rows}, end);
      // This memory as the source of a transpose.
      expect_once({.from = from, .pitch = bytes + gap, .row_bytes = rows, .rows = bytes, .transposed_bytes = 1}, end);
    }
  }
}

TEST(Repack, NothingOfLargeMatricesOrGapsIsPrefetched) {
  const RepackMatrix large{.from = 4096, .pitch = 8190, .row_bytes = 8190, .rows = 4095};
  const RepackMatrix gaps{.from = 4096, .pitch = 2062, .row_bytes = 2046, .rows = 8};
  for (const RepackMatrix& matrix : {large, gaps, RepackMatrix{}}) EXPECT_EQ(prefetch_share(matrix, 1, 0).count, 0u);
}

}  // namespace
}  // namespace hotgemm
