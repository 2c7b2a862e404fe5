#pragma once

// The copies of an operand's tiles from global to shared memory, and the loads from there to the registers of a warp.
// For families whose threads copy the tiles.

#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "ptx/mma.hpp"
#include "shared/fragment.hpp"
#include "shared/tile_layout.hpp"
#include "vector_access.cuh"

namespace hotgemm {

/// The distance in bytes from the first half of a matrix's columns to the second, if tiles have halves.
template <bool kHalves>
struct HalfDistance {
  i64 bytes;
  HOTGEMM_DEVICE explicit HalfDistance(i64 distance) : bytes(distance) {}
  HOTGEMM_DEVICE i64 of(bool is_second) const { return is_second ? bytes : 0; }
};
template <>
struct HalfDistance<false> {
  HOTGEMM_DEVICE explicit HalfDistance(i64 /*bytes*/) {}
  static HOTGEMM_DEVICE i64 of(bool /*is_second*/) { return 0; }
};

/// One thread's share of copying an operand's tiles from global to shared memory, k-tile after k-tile.
///
/// A tile has `rows` rows of `row_elements` elements that are contiguous in memory. If the operand is k-major, each row
/// runs along k, and the rows follow each other along m (or n); otherwise the other way round. Elements beyond the
/// matrix are written as zero.
///
/// Copies are asynchronous, or pass through registers. The latter are complete for this thread when they have been
/// issued.
///
/// With kHalves, the second half of a tile along n lies as many columns behind the first as a half of the matrix has.
template <TileLayout kTile, bool kKMajor, int kVec, int kThreads, bool kAsync = true, int kElementBytes = 2,
          bool kHalves = false>
class TileCopy {
 public:
  static constexpr int kChunkElements = kChunkBytes / kElementBytes;
  static constexpr int kRowElements = kTile.row_chunks * kChunkElements;
  static constexpr int kAccessesPerRow = kRowElements / kVec;
  static constexpr int kThreadsPerRow = gcd(kAccessesPerRow, kThreads);
  static constexpr int kRowsPerPass = kThreads / kThreadsPerRow;
  static constexpr int kRowPasses = div_up(kTile.rows, kRowsPerPass);
  static constexpr int kColPasses = kAccessesPerRow / kThreadsPerRow;
  static constexpr bool kRaggedRows = kTile.rows % kRowsPerPass != 0;
  static constexpr int kBlockK = kKMajor ? kRowElements : kTile.rows;
  // With single elements, unrolling all accesses would take more than a second to compile.
  static constexpr int kUnroll = kVec * kElementBytes == 2 ? 8 : kRowPasses;

  /// `outer` is the first row of op(A), or column of op(B), in this block's tile; the matrix has `outers` of them. The
  /// first k-tile begins at `k0`. With kHalves, they are those of the first half.
  HOTGEMM_DEVICE TileCopy(u64 matrix, i64 ld, int outer, int outers, int k, int thread, int k0 = 0)
      : row_(thread / kThreadsPerRow),
        col_(thread % kThreadsPerRow * kVec),
        distance_((kKMajor ? ld : i64{1}) * (outers - kHalf) * kElementBytes) {
    const i64 first_row = (kKMajor ? outer : k0) + row_;
    const i64 first_col = (kKMajor ? k0 : outer) + col_;
    source_ = matrix + static_cast<u64>(first_row * ld + first_col) * kElementBytes;
    pass_stride_ = ld * (kRowsPerPass * kElementBytes);
    tile_stride_ = (kKMajor ? i64{1} : ld) * (kBlockK * kElementBytes);
    rows_left_ = (kKMajor ? outers - outer : k - k0) - row_;
    cols_left_ = (kKMajor ? k - k0 : outers - outer) - col_;
  }

  /// True if this block's tile lies inside the matrix along m (or n). The result is the same for all threads.
  static HOTGEMM_DEVICE bool is_inside(int outer, int outers) {
    return outers - outer >= (kHalves ? kHalf : kKMajor ? kTile.rows : kRowElements);
  }

  /// Issues the copies of the current k-tile, which must lie inside the matrix completely, to `shared`.
  HOTGEMM_DEVICE void issue_whole(u32 shared) const {
    if constexpr (kThroughRegisters && kRowPasses * kColPasses <= kMostPieces) {
      copy_at_once(shared);
    } else {
      u64 source = source_;
#pragma unroll kUnroll
      for (int pass = 0; pass < kRowPasses; ++pass) {
        issue_pass(shared, source, pass, kRowElements);
        source += static_cast<u64>(pass_stride_);
      }
    }
  }

  /// The same for a tile that may cross the matrix's edge. Not unrolled, because it is rare and its predicates would
  /// fill the main loop with instructions that are skipped.
  HOTGEMM_DEVICE void issue_partial(u32 shared) const {
    u64 source = source_;
#pragma unroll 1
    for (int pass = 0; pass < kRowPasses; ++pass) {
      const int row = row_ + pass * kRowsPerPass, before = is_second_row(row) ? kHalf : 0;
      issue_pass(shared, source, pass, pass * kRowsPerPass - before < rows_left_ ? cols_left_ : kNoneLeft);
      source += static_cast<u64>(pass_stride_);
    }
  }

  HOTGEMM_DEVICE void advance() {
    source_ += static_cast<u64>(tile_stride_);
    (kKMajor ? cols_left_ : rows_left_) -= kBlockK;
  }

 private:
  static constexpr int kHalf = (kKMajor ? kTile.rows : kRowElements) / 2;
  static constexpr int kNoneLeft = kHalves ? -kHalf : 0;  // of the first half, so that the second has none either
  static_assert(!kHalves || kHalf % (kKMajor ? 1 : kChunkElements) == 0);
  static HOTGEMM_DEVICE bool is_second_row(int row) { return kHalves && kKMajor && row >= kHalf; }
  static HOTGEMM_DEVICE bool is_second_column(int col) { return kHalves && !kKMajor && col >= kHalf; }
  /// The distance of an access in the second half.
  HOTGEMM_DEVICE u64 distance(int row, int col) const {
    return static_cast<u64>(distance_.of(is_second_row(row) || is_second_column(col)));
  }

  // cp.async cannot copy as little as two bytes. Single elements therefore pass through registers anyway, one at a
  // time.
  static constexpr int kAccessBytes = kVec * kElementBytes;
  static constexpr bool kThroughRegisters = !kAsync && kAccessBytes > 2;
  static_assert(kElementBytes == 2 || (kAsync && kAccessBytes >= 4));
  static constexpr int kMostPieces = 8;  // pieces that wait in registers, of up to four registers each

  /// Copies the whole tile: all loads, then all stores, so that all loads are in flight together.
  HOTGEMM_DEVICE void copy_at_once(u32 shared) const {
    u32 pieces[kRowPasses * kColPasses][kWordsOf<kAccessBytes>];
    for_each_access([&](int index, int, int, u64 source) { load_global<kAccessBytes>(pieces[index], source); });
    for_each_access([&](int index, int row, int col, u64) {
      store_shared<kAccessBytes>(shared + offset_bytes(row, col), pieces[index]);
    });
  }

  /// Calls use(index, row, col, source) for each access of this thread in the tile.
  template <class Use>
  HOTGEMM_DEVICE void for_each_access(Use&& use) const {
    u64 source = source_;
#pragma unroll
    for (int pass = 0; pass < kRowPasses; ++pass) {
      const int row = row_ + pass * kRowsPerPass;
      if (kRaggedRows && row >= kTile.rows) return;
#pragma unroll
      for (int c = 0; c < kColPasses; ++c) {
        const int step = c * kThreadsPerRow * kVec;
        use(pass * kColPasses + c, row, col_ + step, source + step * kElementBytes + distance(row, col_ + step));
      }
      source += static_cast<u64>(pass_stride_);
    }
  }

  static HOTGEMM_DEVICE int offset_bytes(int row, int col) {
    return kTile.offset_bytes(row, col / kChunkElements) + col % kChunkElements * kElementBytes;
  }

  /// Issues one row of this thread; `left` of its elements lie inside the matrix.
  HOTGEMM_DEVICE void issue_pass(u32 shared, u64 source, int pass, int left) const {
    const int row = row_ + pass * kRowsPerPass;
    if (kRaggedRows && row >= kTile.rows) return;
#pragma unroll
    for (int c = 0; c < kColPasses; ++c) {
      const int step = c * kThreadsPerRow * kVec;
      const int col = col_ + step;
      copy(shared + offset_bytes(row, col), source + step * kElementBytes + distance(row, col),
           left - step + (is_second_column(col) ? kHalf : 0));
    }
  }

  /// Issues one access; `left` of its elements lie inside the matrix. `left` may be negative (none) or larger than the
  /// access.
  static HOTGEMM_DEVICE void copy(u32 shared, u64 global, int left) {
    if constexpr (kAccessBytes == 2) {
      ptx::st_shared_b16(shared, left > 0 ? ptx::ld_global_b16(global) : u16{0});
    } else if constexpr (!kAsync) {
      if (left >= kVec) {
        u32 piece[kWordsOf<kAccessBytes>];
        load_global<kAccessBytes>(piece, global);
        store_shared<kAccessBytes>(shared, piece);
      } else {
#pragma unroll 1
        for (int e = 0; e < kVec; ++e)
          ptx::st_shared_b16(shared + e * 2, e < left ? ptx::ld_global_b16(global + e * 2) : u16{0});
      }
    } else {
      ptx::cp_async<kAccessBytes>(shared, global, clamp(left, 0, kVec) * kElementBytes);
    }
  }

  int row_, col_;              // row and column of this thread's first access in the tile
  int rows_left_, cols_left_;  // from that access to the matrix's edge; may be negative
  u64 source_;
  i64 pass_stride_, tile_stride_;  // bytes
  HalfDistance<kHalves> distance_;
};

/// The place in a tile at which `lane` reads: `matrices`, if whole elements are read by ldmatrix.
HOTGEMM_DEVICE LdmatrixLane source_lane(TileRead read, int lane, LdmatrixLane matrices) {
  if (read == TileRead::byte_pairs) return ldmatrix_bytes_lane(lane);
  return read == TileRead::words ? word_lane(lane) : matrices;
}

/// The addresses that a warp uses to load an operand's fragments from its tile. Four registers are a block 16 wide and
/// 32 bytes along k; two are a block 8 wide.
///
/// A warp's blocks begin kWarpStep elements after those of the warp before, and are kBlockStep elements apart. The
/// larger step is a multiple of the range that the smaller steps cover, because warps either take blocks in turn or
/// have their blocks side by side. Then the chunk index of a thread's first block and the steps to its other blocks
/// share no bits (for powers of two), the XOR of the swizzle distributes over them, and one register addresses all
/// blocks.
template <TileLayout kTile, bool kKMajor, int kWarpStep, int kBlockStep, int kMatrices = 4, int kElementBytes = 2,
          bool kIsA = false>
class FragmentSource {
  static constexpr int kChunkElements = kChunkBytes / kElementBytes;

 public:
  HOTGEMM_DEVICE FragmentSource(LdmatrixLane lane, int warp)
      : row_(lane.row + (kKMajor ? kWarpStep * warp : 0)),
        chunk_(lane.chunk + (kKMajor ? 0 : kWarpStep / kChunkElements * warp)),
        byte_(lane.byte) {
    base_ = static_cast<u32>(kTile.offset_bytes(row_, chunk_) + byte_);
  }

  /// Loads the warp's `block`-th block at a k offset of 32 * `k_step` bytes of the tile at `shared`.
  HOTGEMM_DEVICE void load(u32 (&registers)[kMatrices], u32 shared, int block, int k_step) const {
    // place_of and row_xor have a period of 16, 8, or for words 4, rows.
    const int row_step = kKMajor ? kBlockStep * block : kMmaKBytes / kElementBytes * k_step;
    const int chunk_step = kKMajor ? 2 * k_step : kBlockStep / kChunkElements * block;
    const u32 first_row = shared + row_step * kTile.row_stride_bytes();
    if constexpr (kTile.read == TileRead::words) {
      load_words(registers, first_row, chunk_step);
    } else if constexpr (kTile.read == TileRead::byte_pairs) {
      load_bytes(registers, first_row + column(chunk_step));
    } else if constexpr (kMatrices == 4) {
      const u32 address = first_row + column(chunk_step);
      kKMajor ? ptx::ldmatrix_x4(registers, address) : ptx::ldmatrix_x4_trans(registers, address);
    } else {
      const u32 address = first_row + column(chunk_step);
      kKMajor ? ptx::ldmatrix_x2(registers, address) : ptx::ldmatrix_x2_trans(registers, address);
    }
  }

 private:
  static constexpr int kLargerStep = kKMajor ? 2 : max_of(kWarpStep, kBlockStep) / kChunkElements;  // in chunks
  static constexpr bool kXorDistributes = (kLargerStep & (kLargerStep - 1)) == 0;

  /// Words of rows that run along m or n, one at a time.
  HOTGEMM_DEVICE void load_words(u32 (&registers)[kMatrices], u32 first_row, int chunk_step) const {
#pragma unroll
    for (int half = 0; half < kMatrices / 2; ++half) {
      const u32 address = first_row + column(chunk_step + 2 * half);
#pragma unroll
      for (int k_half = 0; k_half < 2; ++k_half) {  // row_xor has a period of 4 rows
        registers[fragment_register(kIsA, half, k_half)] =
            ptx::ld_shared_b32(address + k_half * 4 * kTile.row_stride_bytes());
      }
    }
  }

  /// Bytes of such rows: pairs, of which each half of the block takes one (shared/fragment.hpp).
  HOTGEMM_DEVICE void load_bytes(u32 (&registers)[kMatrices], u32 address) const {
    static_assert(kMatrices == 4);
    u32 pairs[4];
    ptx::ldmatrix_x4_trans(pairs, address);
#pragma unroll
    for (int k_half = 0; k_half < 2; ++k_half) {
      const u32 low = pairs[2 * k_half], high = pairs[2 * k_half + 1];
      registers[fragment_register(kIsA, 0, k_half)] = ptx::prmt_b32(low, high, 0x6420);
      registers[fragment_register(kIsA, 1, k_half)] = ptx::prmt_b32(low, high, 0x7531);
    }
  }

  HOTGEMM_DEVICE u32 column(int chunk_step) const {
    if constexpr (!kTile.swizzle) {
      return base_ + chunk_step * kChunkBytes;
    } else if constexpr (kXorDistributes) {
      const int low = chunk_step % kTile.swizzle_span();
      return (base_ ^ (low * kChunkBytes)) + (chunk_step - low) * kChunkBytes;
    } else {
      return static_cast<u32>(kTile.offset_bytes(row_, chunk_ + chunk_step) + byte_);
    }
  }

  int row_, chunk_, byte_;
  u32 base_;
};

}  // namespace hotgemm
