#pragma once

// The copies of an operand's k-tiles from global to shared memory in family `fma`: by cp.async, or through registers.

#include "byte_access.cuh"
#include "ptx/element.hpp"
#include "ptx/memory.hpp"
#include "shared/fma_layout.hpp"
#include "vector_access.cuh"

namespace hotgemm {

/// The bits with which an element, or a word of several, is multiplied: TF32 is rounded.
template <DType kElement>
HOTGEMM_DEVICE u32 multiplied_bits(u32 bits) {
  return kElement == DType::tf32 ? ptx::round_tf32(bits) : bits;
}

/// One thread's share of copying an operand's tiles, k-tile after k-tile. Elements beyond the matrix become zero. An
/// element of a tile holds one element of the matrix, or four s8 that are neighbours along k.
///
/// A tile is copied in two parts: `begin` issues cp.async or loads to registers; `end` stores the loaded registers.
template <FmaTile kTile, DType kElement, bool kAsync>
class FmaCopy {
  static constexpr int kElementBytes = kTile.element_bytes;
  static constexpr int kMatrixBytes = size_bytes(kElement);
  static constexpr int kPack = kElementBytes / kMatrixBytes;  // elements of the matrix in one of the tile
  static constexpr int kAccess = kTile.access;
  static constexpr int kAccessBytes = kAccess * kElementBytes;
  static constexpr int kWords = kWordsOf<kAccessBytes>;

 public:
  /// `outer` is the first row of op(A), or column of op(B), in this block's tile; the matrix has `outers` of them.
  HOTGEMM_DEVICE FmaCopy(u64 matrix, i64 ld, int outer, int outers, int k, int thread)
      : row_(kTile.thread_row(thread)), col_(kTile.thread_col(thread)) {
    const i64 first_row = (kTile.k_major ? outer : 0) + row_;
    const i64 first_col = (kTile.k_major ? 0 : outer) + col_;
    source_ = matrix + static_cast<u64>(first_row * ld + first_col * kPack) * kMatrixBytes;
    pass_stride_ = ld * (kTile.pass_rows() * kMatrixBytes);
    tile_stride_ = (kTile.k_major ? i64{1} : ld) * (kTile.block_k * kElementBytes);
    rows_left_ = (kTile.k_major ? outers - outer : k) - row_;
    cols_left_ = (kTile.k_major ? k : outers - outer) - col_ * kPack;
    offset_ = kTile.k_major ? kTile.offset_bytes(row_, col_) : kTile.offset_bytes(col_, row_);
  }

  /// Begins the copy of the current k-tile to `shared` and advances to the next. `is_whole`: the tile lies inside the
  /// matrix.
  HOTGEMM_DEVICE void begin(u32 shared, bool is_whole) {
    if constexpr (kAsync) {
      if (is_whole) {
        for_each_access(
            [&](int, int place, u64 source, int) { copy(shared + offset_ + place, source, kAccess * kPack); });
      } else {
        issue_partial(shared);
      }
    } else {
      if (is_whole) {
        for_each_access([&](int i, int, u64 source, int) { load_global<kAccessBytes>(staged_[i], source); });
      } else {
        for_each_access([&](int i, int, u64 source, int left) { load_partial(staged_[i], source, left); });
      }
    }
    source_ += static_cast<u64>(tile_stride_);
    (kTile.k_major ? cols_left_ : rows_left_) -= kTile.block_k * kPack;
  }

  HOTGEMM_DEVICE void end(u32 shared) const {
    if constexpr (!kAsync) {
      for_each_access([&](int i, int place, u64, int) { store(shared + offset_ + place, staged_[i]); });
    }
  }

 private:
  /// Calls use(number, place in the tile, source, elements left to the matrix's edge) for each of this thread's
  /// accesses. The place is relative to the place of the first access.
  template <class Use>
  HOTGEMM_DEVICE void for_each_access(Use&& use) const {
    u64 source = source_;
#pragma unroll
    for (int pass = 0; pass < kTile.row_passes(); ++pass) {
      const int row_step = pass * kTile.pass_rows();
#pragma unroll
      for (int c = 0; c < kTile.col_passes(); ++c) {
        const int step = c * kTile.col_step();
        const int place = kTile.k_major ? kTile.offset_bytes(row_step, step) : kTile.offset_bytes(step, row_step);
        if (kTile.has_idle_threads() && row_ + row_step >= kTile.rows()) continue;
        use(pass * kTile.col_passes() + c, place, source + step * kElementBytes,
            row_step < rows_left_ ? cols_left_ - step * kPack : 0);
      }
      source += static_cast<u64>(pass_stride_);
    }
  }

  /// The copies of a tile that crosses the matrix's edge. Not unrolled, because their predicates would fill the main
  /// loop.
  HOTGEMM_DEVICE void issue_partial(u32 shared) const {
    u64 source = source_;
#pragma unroll 1
    for (int pass = 0; pass < kTile.row_passes(); ++pass) {
      const int row_step = pass * kTile.pass_rows();
      if (kTile.has_idle_threads() && row_ + row_step >= kTile.rows()) return;
#pragma unroll
      for (int c = 0; c < kTile.col_passes(); ++c) {
        const int step = c * kTile.col_step();
        const int place = kTile.k_major ? kTile.offset_bytes(row_step, step) : kTile.offset_bytes(step, row_step);
        copy(shared + offset_ + place, source + step * kElementBytes,
             row_step < rows_left_ ? cols_left_ - step * kPack : 0);
      }
      source += static_cast<u64>(pass_stride_);
    }
  }

  static HOTGEMM_DEVICE void copy(u32 shared, u64 global, int left) {
    ptx::cp_async<kAccessBytes>(shared, global, clamp(left, 0, kAccess * kPack) * kMatrixBytes);
  }

  /// Loads the first `left` elements of an access, none if negative; the others become zero.
  static HOTGEMM_DEVICE void load_partial(u32 (&words)[kWords], u64 source, int left) {
    if constexpr (kPack > 1) {
      load_partial_bytes(words, source, left);
    } else {
      load_partial_elements(words, source, left);
    }
  }

  static HOTGEMM_DEVICE void load_partial_elements(u32 (&words)[kWords], u64 source, int left) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = 0;
#pragma unroll
    for (int e = 0; e < kAccess; ++e) {
      if (e >= left) continue;
      u32 bits[1];
      load_global<kElementBytes>(bits, source + e * kElementBytes);
      words[e * kElementBytes / 4] |= bits[0] << (e * kElementBytes % 4 * 8);
    }
  }

  /// Whole words, and the bytes of the one that the matrix ends in.
  static HOTGEMM_DEVICE void load_partial_bytes(u32 (&words)[kWords], u64 source, int left) {
    const int whole = clamp(left, 0, kAccessBytes) / 4;
    const u32 last = load_bytes(source + static_cast<u64>(whole) * 4, left < kAccessBytes ? left - whole * 4 : 0);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      words[w] = ptx::ld_global_b32_if(source + w * 4, w < whole);
      if (w == whole) words[w] = last;
    }
  }

  static HOTGEMM_DEVICE void store(u32 shared, const u32 (&loaded)[kWords]) {
    u32 words[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = multiplied_bits<kElement>(loaded[w]);
    if constexpr (!kTile.transposes()) {
      store_shared<kAccessBytes>(shared, words);
    } else {
#pragma unroll
      for (int e = 0; e < kAccess; ++e) {
        const u32 bits[1] = {element_bits<kElementBytes>(words, e)};
        store_shared<kElementBytes>(shared + kTile.offset_bytes(0, e), bits);
      }
    }
  }

  int row_, col_;              // row and column of this thread's first access in the tile
  int rows_left_, cols_left_;  // from that access to the matrix's edge, in its elements; may be negative
  int offset_;                 // offset of that access in shared memory, bytes
  u64 source_;
  i64 pass_stride_, tile_stride_;  // bytes
  u32 staged_[kAsync ? 1 : kTile.accesses()][kWords];
};

}  // namespace hotgemm
