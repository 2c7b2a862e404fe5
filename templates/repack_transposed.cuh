#pragma once

// The part of the repack kernel whose copies are transposes: of elements of 4, 2 and 1 bytes. A warp takes tiles
// through its registers, so that no thread waits for another.
//
//   from    64 bytes of 64 rows ──a lane: a word of 32 rows───▶ registers ──16 bytes of a row of the copy──▶ copy
//          128 bytes of 32 rows ──a lane: a pair of 16 rows──▶

#include "byte_access.cuh"
#include "ptx/index.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "shared/repack_args.hpp"

namespace hotgemm {

/// Elements of 2 bytes are transposed for kernels of `wgmma` alone (`with_repacks`), which older architectures do not
/// have; on sm_75 and sm_80 these copies would make the kernel spill.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kTransposesHalves = false;
#else
inline constexpr bool kTransposesHalves = true;
#endif

/// A lane's part of tile number `tile` of a copy. Tiles that lie beside each other in `from` follow one another.
template <int kElementBytes>
class TransposedTile {
 public:
  HOTGEMM_DEVICE TransposedTile(const RepackMatrix& matrix, u32 tile) : pitch_(static_cast<u64>(matrix.pitch)) {
    const int lane = ptx::thread_index() % kRepackLanes;
    const u32 row_tiles = matrix.row_tiles<kElementBytes>();
    const u32 line = tile / row_tiles;
    const u32 row = (tile - line * row_tiles) * kColumns + static_cast<u32>(repack_tile_place(lane) * kRows);
    const u32 chunk = line * repack_tile_chunks(kElementBytes) + static_cast<u32>(repack_tile_chunk(lane, 0));
    const u32 depth = chunk * kDepth;
    rows_left_ = matrix.rows - static_cast<int>(row);
    chunks_left_ = static_cast<int>(matrix.row_chunks - chunk);
    depth_left_ = static_cast<int>(matrix.row_bytes / kElementBytes) - static_cast<int>(depth);
    from_ = matrix.from + depth * pitch_ + static_cast<u64>(row) * kElementBytes;
    to_ = matrix.to + (static_cast<u64>(row) * matrix.row_chunks + chunk) * kRepackChunkBytes;
    row_chunks_ = matrix.row_chunks;
  }

  HOTGEMM_DEVICE void copy() const {
    if (rows_left_ >= kRows && ((from_ | pitch_) & (kWords * 4 - 1)) == 0) {
      copy_words();
    } else {
      copy_elements();
    }
  }

 private:
  static constexpr int kWords = repack_lane_words(kElementBytes);
  static constexpr int kRows = kWords * 4 / kElementBytes;  // of the copy that a lane has
  static constexpr int kColumns = repack_tile_bytes(kElementBytes) / kElementBytes;
  static constexpr int kDepth = kRepackChunkBytes / kElementBytes;  // rows of `from` that become a chunk
  static constexpr int kSetDepth = kRepackChunkLanes * kDepth;      // rows that become neighbouring lanes' chunks
  static constexpr int kSets = repack_lane_rows(kElementBytes) / kDepth;
  static_assert(kSets % 2 == 0);

  /// Copies the lane's part by whole words. Elements beyond the matrix become zeros.
  HOTGEMM_DEVICE void copy_words() const {
    u32 words[kSets][kDepth][kWords];
    for_each_row<kSets>(
        0, [&](u64 address, int i, int e, bool is_inside) { load_words(address, is_inside, words[i][e]); });
#pragma unroll
    for (int set = 0; set < kSets; ++set) store(set, words[set]);
  }

  /// Copies it by single elements: rows at other addresses, or fewer than kRows. The loads of all chunks at once would
  /// take too many registers, so the lane loads two chunks at a time.
  HOTGEMM_DEVICE void copy_elements() const {
#pragma unroll 1
    for (int set = 0; set < kSets; set += 2) {
      u32 words[2][kDepth][kWords];
      for_each_row<2>(
          set, [&](u64 address, int i, int e, bool is_inside) { load_elements(address, is_inside, words[i][e]); });
      store(set, words[0]);
      store(set + 1, words[1]);
    }
  }

  /// Calls use(address, i, e, is_inside) for each row of `from` that the lane needs for kCount chunks: row e of chunk
  /// first + i.
  template <int kCount, class Use>
  HOTGEMM_DEVICE void for_each_row(int first, Use&& use) const {
    const int depth_left = depth_left_ - first * kSetDepth;
    u64 address = from_ + static_cast<u64>(first * kSetDepth) * pitch_;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
#pragma unroll
      for (int e = 0; e < kDepth; ++e) {
        use(address, i, e, i * kSetDepth + e < depth_left);
        address += pitch_;
      }
      address += (kSetDepth - kDepth) * pitch_;
    }
  }

  HOTGEMM_DEVICE static void load_words(u64 address, bool is_inside, u32 (&words)[kWords]) {
    if constexpr (kWords == 2) {
      const ptx::Vec2 pair = ptx::ld_global_v2_b32_if(address, is_inside);
      words[0] = pair.x;
      words[1] = pair.y;
    } else {
      words[0] = ptx::ld_global_b32_if(address, is_inside);
    }
  }
  HOTGEMM_DEVICE void load_elements(u64 address, bool is_inside, u32 (&words)[kWords]) const {
    const int elements = is_inside ? rows_left_ : 0;
    if constexpr (kElementBytes == 4) {
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        words[w] = ptx::ld_global_b32_if(address + static_cast<u64>(w) * 4, w < elements);
    } else if constexpr (kElementBytes == 2) {
      const u32 low = ptx::ld_global_u16_if(address, 0 < elements);
      words[0] = low | ptx::ld_global_u16_if(address + 2, 1 < elements) << 16;
    } else {
      words[0] = load_bytes(address, elements);
    }
  }

  /// Stores a chunk of each of the lane's rows of the copy.
  HOTGEMM_DEVICE void store(int set, const u32 (&words)[kDepth][kWords]) const {
    if (set * kRepackChunkLanes >= chunks_left_) return;
    u32 rows[kRows][4];
    transpose(words, rows);
    u64 to = to_ + static_cast<u64>(set * kRepackChunkLanes * kRepackChunkBytes);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r < rows_left_) ptx::st_global_v4_b32(to, {rows[r][0], rows[r][1], rows[r][2], rows[r][3]});
      to += static_cast<u64>(row_chunks_) * kRepackChunkBytes;
    }
  }

  HOTGEMM_DEVICE static void transpose(const u32 (&words)[kDepth][kWords], u32 (&rows)[kRows][4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kElementBytes == 4) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) rows[r][i] = words[i][r];
      } else if constexpr (kElementBytes == 2) {
        rows[0][i] = ptx::prmt_b32(words[2 * i][0], words[2 * i + 1][0], 0x5410);
        rows[1][i] = ptx::prmt_b32(words[2 * i][0], words[2 * i + 1][0], 0x7632);
      } else {
        const u32 a = words[4 * i][0], b = words[4 * i + 1][0], c = words[4 * i + 2][0], d = words[4 * i + 3][0];
        const ptx::Vec2 first = byte_columns(a, b, c, d, false), last = byte_columns(a, b, c, d, true);
        rows[0][i] = first.x;
        rows[1][i] = first.y;
        rows[2][i] = last.x;
        rows[3][i] = last.y;
      }
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
    const u32 of_operand = is_first ? tile : tile - tiles_of_first;
    const u32 product = operand.products == 1 ? 0 : of_operand / operand.tiles();
    const RepackMatrix matrix = operand.of_product(product);
    const u32 number = of_operand - product * operand.tiles();
    if (matrix.transposed_bytes == 4) {
      TransposedTile<4>(matrix, number).copy();
    } else if (matrix.transposed_bytes == 1) {
      TransposedTile<1>(matrix, number).copy();
    } else if constexpr (kTransposesHalves) {
      TransposedTile<2>(matrix, number).copy();
    }
  }
}

}  // namespace hotgemm
