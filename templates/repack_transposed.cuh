#pragma once

// The part of the repack kernel whose copies are transposes: of elements of 4 bytes, and of 1 byte. A warp takes tiles
// through its registers, so that no thread waits for another.
//
//   from    64 bytes of 64 rows ──a lane: a word of 32 rows──▶ registers ──16 bytes of a row of the copy──▶ copy

#include "byte_access.cuh"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "shared/repack_args.hpp"

namespace hotgemm {

/// A lane's part of tile number `tile` of a copy. Tiles that lie beside each other in `from` follow one another.
template <int kElementBytes>
class TransposedTile {
 public:
  HOTGEMM_DEVICE TransposedTile(const RepackMatrix& matrix, u32 tile) : pitch_(static_cast<u64>(matrix.pitch)) {
    const int lane = ptx::thread_index() % kRepackLanes;
    const u32 row_tiles = matrix.row_tiles();
    const u32 line = tile / row_tiles;
    const u32 row = (tile - line * row_tiles) * kColumns + static_cast<u32>(repack_tile_word(lane) * kWordElements);
    const u32 chunk = line * matrix.tile_chunks() + static_cast<u32>(repack_tile_chunk(lane, 0));
    const u32 depth = chunk * kDepth;
    rows_left_ = matrix.rows - static_cast<int>(row);
    chunks_left_ = static_cast<int>(matrix.row_chunks - chunk);
    depth_left_ = rows_left_ > 0 ? static_cast<int>(matrix.row_bytes / kElementBytes) - static_cast<int>(depth) : 0;
    from_ = matrix.from + depth * pitch_ + static_cast<u64>(row) * kElementBytes;
    to_ = matrix.to + (static_cast<u64>(row) * matrix.row_chunks + chunk) * kRepackChunkBytes;
    row_chunks_ = matrix.row_chunks;
  }

  /// All loads are issued before the first store.
  HOTGEMM_DEVICE void copy() const {
    u32 words[kSets][kDepth];
    load(words);
#pragma unroll
    for (int set = 0; set < kSets; ++set) store(set, words[set]);
  }

 private:
  static constexpr int kColumns = kRepackTileBytes / kElementBytes;  // of the tile
  static constexpr int kWordElements = 4 / kElementBytes;            // rows of the copy that a lane has
  static constexpr int kDepth = kRepackChunkBytes / kElementBytes;   // rows of `from` that become a chunk
  static constexpr int kSetDepth = kRepackChunkLanes * kDepth;       // rows that become neighbouring lanes' chunks
  static constexpr int kSets = kRepackTileDepth / kSetDepth;

  /// Words and bytes beyond the matrix are zeros.
  HOTGEMM_DEVICE void load(u32 (&words)[kSets][kDepth]) const {
    if (kElementBytes == 4 || (rows_left_ >= 4 && ((from_ | pitch_) & 3) == 0)) {
      for_each_word([&](u64 address, int set, int e) {
        words[set][e] = ptx::ld_global_b32_if(address, set * kSetDepth + e < depth_left_);
      });
    } else {
      for_each_word([&](u64 address, int set, int e) {
        words[set][e] = load_bytes(address, set * kSetDepth + e < depth_left_ ? rows_left_ : 0);
      });
    }
  }

  /// Calls use(address, set, e) for each of the lane's words: row e of those that become the `set`th chunk.
  template <class Use>
  HOTGEMM_DEVICE void for_each_word(Use&& use) const {
    u64 address = from_;
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
#pragma unroll
      for (int e = 0; e < kDepth; ++e) {
        use(address, set, e);
        address += pitch_;
      }
      address += (kSetDepth - kDepth) * pitch_;
    }
  }

  HOTGEMM_DEVICE void store(int set, const u32 (&words)[kDepth]) const {
    if (set * kRepackChunkLanes >= chunks_left_) return;
    const u64 to = to_ + static_cast<u64>(set * kRepackChunkLanes * kRepackChunkBytes);
    if constexpr (kElementBytes == 4) {
      if (rows_left_ > 0) ptx::st_global_v4_b32(to, {words[0], words[1], words[2], words[3]});
    } else {
      store_bytes(to, words);
    }
  }

  /// Stores a chunk of each of four rows.
  HOTGEMM_DEVICE void store_bytes(u64 to, const u32 (&words)[kDepth]) const {
    u32 rows[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u32 a = words[4 * i], b = words[4 * i + 1], c = words[4 * i + 2], d = words[4 * i + 3];
      const ptx::Vec2 first = byte_columns(a, b, c, d, false), last = byte_columns(a, b, c, d, true);
      rows[0][i] = first.x;
      rows[1][i] = first.y;
      rows[2][i] = last.x;
      rows[3][i] = last.y;
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      if (r < rows_left_) ptx::st_global_v4_b32(to, {rows[r][0], rows[r][1], rows[r][2], rows[r][3]});
      to += static_cast<u64>(row_chunks_) * kRepackChunkBytes;
    }
  }

  // From the lane's first word: its address, and the rows of `from` and of the copy, and chunks, that are left.
  u64 from_, pitch_;
  int depth_left_, rows_left_, chunks_left_;
  u64 to_;  // of the lane's first chunk
  u32 row_chunks_;
};

/// Copies all transposes of both operands. Warps take tiles in turn, so that few tiles use all SMs. Inlined, it and the
/// copies of rows as stored would spill.
HOTGEMM_DEVICE_NOINLINE void copy_transposes(const RepackMatrix& first, const RepackMatrix& second) {
  const u32 tiles_of_first = first.all_tiles(), tiles = tiles_of_first + second.all_tiles();
  const u32 warp = static_cast<u32>(ptx::thread_index() / kRepackLanes), blocks = ptx::grid_size();
  for (u32 tile = warp * blocks + ptx::block_index(); tile < tiles; tile += kRepackThreads / kRepackLanes * blocks) {
    const bool is_first = tile < tiles_of_first;
    const RepackMatrix& operand = is_first ? first : second;
    const u32 of_operand = is_first ? tile : tile - tiles_of_first, product = of_operand / operand.tiles();
    const RepackMatrix matrix = operand.of_product(product);
    const u32 number = of_operand - product * operand.tiles();
    if (matrix.transposed_bytes == 4) {
      TransposedTile<4>(matrix, number).copy();
    } else {
      TransposedTile<1>(matrix, number).copy();
    }
  }
}

}  // namespace hotgemm
