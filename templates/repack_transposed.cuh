#pragma once

// The part of the repack kernel whose copies are transposes: of elements of 4 bytes, and of 1 byte. A block takes tiles
// through shared memory, so that both its loads and its stores are of whole lines.
//
//   from    rows of a tile ──32 lanes, a word each──▶ shared ──8 lanes for a row of the copy, 16 bytes each──▶ copy

#include "byte_access.cuh"
#include "ptx/barrier.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "shared/repack_args.hpp"

namespace hotgemm {

/// Tile number `tile` of a copy. Tiles that lie beside each other in `from` follow one another.
class TransposedTile {
 public:
  HOTGEMM_DEVICE TransposedTile(const RepackMatrix& matrix, u64 tile)
      : matrix_(matrix), thread_(ptx::thread_index()), shared_(ptx::dynamic_shared_base()) {
    const u32 row_tiles = matrix.row_tiles();
    const u64 line = tile / row_tiles;
    first_row_ = static_cast<int>(static_cast<u32>(tile - line * row_tiles) * kRepackTileRows);
    first_chunk_ = static_cast<u32>(line) * kRepackTileChunks;
  }

  /// Called by all threads of the block.
  HOTGEMM_DEVICE void copy() const {
    if (matrix_.transposed_bytes == 4) {
      load<4>();
      ptx::bar_sync();  // the tile is there
      store_words();
    } else {
      load<1>();
      ptx::bar_sync();
      store_bytes();
    }
    ptx::bar_sync();  // and no longer read
  }

 private:
  /// Words beyond the matrix are zeros. All loads are issued before the first store.
  template <int kElementBytes>
  HOTGEMM_DEVICE void load() const {
    constexpr int kRowWords = kElementBytes == 1 ? kRepackTileRows / 4 : kRepackTileRows;
    const int depth_left = matrix_.depth() - static_cast<int>(first_chunk_ * (kRepackChunkBytes / kElementBytes));
    const int column = thread_ % kRowWords * (4 / kElementBytes);  // of the thread's words
    const int columns_left = matrix_.rows - first_row_ - column;
    const u64 pitch = static_cast<u64>(matrix_.pitch);
    const u64 from = matrix_.from + static_cast<u64>(first_chunk_ * (kRepackChunkBytes / kElementBytes)) * pitch +
                     static_cast<u64>(first_row_ + column) * kElementBytes;
    const bool has_whole_words =
        kElementBytes == 4 ? columns_left > 0 : columns_left >= 4 && ((matrix_.from | pitch) & 3) == 0;
    u32 words[kRepackThreadWords];
#pragma unroll
    for (int i = 0; i < kRepackThreadWords; ++i) {
      const int depth = (thread_ + i * kRepackThreads) / kRowWords;
      const u64 address = from + static_cast<u64>(depth) * pitch;
      words[i] = 0;
      if (depth >= depth_left) continue;
      if (has_whole_words) {
        words[i] = ptx::ld_global_b32(address);
      } else if (kElementBytes == 1 && columns_left > 0) {
        words[i] = load_bytes(address, columns_left);
      }
    }
#pragma unroll
    for (int i = 0; i < kRepackThreadWords; ++i) {
      const int depth = (thread_ + i * kRepackThreads) / kRowWords;
      ptx::st_shared_b32(word<kElementBytes>(depth, thread_ % kRowWords), words[i]);
    }
  }

  /// The address in shared memory.
  template <int kElementBytes>
  HOTGEMM_DEVICE u32 word(int depth, int word) const {
    return shared_ + static_cast<u32>(repack_tile_word(kElementBytes, depth, word)) * 4;
  }

  /// A thread has the same chunk of two rows.
  HOTGEMM_DEVICE void store_words() const {
    const int chunk = thread_ % kRepackTileChunks;
#pragma unroll
    for (int i = 0; i < kRepackTileRows * kRepackTileChunks / kRepackThreads; ++i) {
      const int row = thread_ / kRepackTileChunks + i * (kRepackThreads / kRepackTileChunks);
      u32 words[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) words[e] = ptx::ld_shared_b32(word<4>(4 * chunk + e, row));
      store_chunk(row, chunk, {words[0], words[1], words[2], words[3]});
    }
  }

  /// A thread has the same chunk of two neighbouring rows: two of the four columns that its words have.
  HOTGEMM_DEVICE void store_bytes() const {
    constexpr int kColumns = kRepackTileRows / 4;  // of words
    const int chunk = thread_ % kRepackTileChunks, column = thread_ / kRepackTileChunks % kColumns;
    const bool are_last = thread_ / (kRepackTileChunks * kColumns) != 0;
    u32 low[4], high[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      u32 words[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) words[e] = ptx::ld_shared_b32(word<1>(16 * chunk + 4 * i + e, column));
      const ptx::Vec2 pair = byte_columns(words[0], words[1], words[2], words[3], are_last);
      low[i] = pair.x;
      high[i] = pair.y;
    }
    const int row = 4 * column + (are_last ? 2 : 0);
    store_chunk(row, chunk, {low[0], low[1], low[2], low[3]});
    store_chunk(row + 1, chunk, {high[0], high[1], high[2], high[3]});
  }

  /// Stores a chunk of a row of the tile, unless it lies beyond the copy.
  HOTGEMM_DEVICE void store_chunk(int row, int chunk, const ptx::Vec4& words) const {
    const u32 of_row = first_chunk_ + static_cast<u32>(chunk);
    if (first_row_ + row >= matrix_.rows || of_row >= matrix_.row_chunks) return;
    const u64 number = static_cast<u64>(first_row_ + row) * matrix_.row_chunks + of_row;
    ptx::st_global_v4_b32(matrix_.to + number * kRepackChunkBytes, words);
  }

  const RepackMatrix& matrix_;
  int thread_;
  u32 shared_;
  int first_row_;
  u32 first_chunk_;
};

/// Copies all transposes of both matrices. Called by all threads of the grid.
HOTGEMM_DEVICE void copy_transposes(const RepackMatrix& first, const RepackMatrix& second) {
  const u64 tiles_of_first = first.tiles(), tiles = tiles_of_first + second.tiles();
  for (u64 tile = ptx::block_index(); tile < tiles; tile += ptx::grid_size()) {
    if (tile < tiles_of_first) {
      TransposedTile(first, tile).copy();
    } else {
      TransposedTile(second, tile - tiles_of_first).copy();
    }
  }
}

}  // namespace hotgemm
