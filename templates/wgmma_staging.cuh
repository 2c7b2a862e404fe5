#pragma once

// The buffers of family `wgmma` for the results of a warp: stmatrix stores results to a buffer in shared memory, and
// lanes move elements between the buffer and global memory.

#include "batch.cuh"
#include "ptx/memory.hpp"
#include "ptx/mma.hpp"
#include "ptx/stmatrix.hpp"
#include "ptx/warp.hpp"
#include "shared/fragment.hpp"
#include "shared/wgmma_config.hpp"
#include "wgmma_piece.cuh"
#include "wgmma_words.cuh"

namespace hotgemm {

/// The buffers of one warp, in shared memory. Their rows are swizzled.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class WgmmaStaging {
  static constexpr int kRows = WgmmaConfig::kStoreRows;
  static constexpr int kElementBytes = size_bytes(kTraits.element_d);
  /// Elements that a lane moves at once: of a matrix to a buffer, or of a buffer to D whose rows begin at 16 bytes.
  /// WgmmaWords stores any other D.
  static constexpr int kVector = kTraits.vec_d * kElementBytes == kChunkBytes ? kTraits.vec_d
                                 : kTraits.vec_d == 1                         ? 1
                                                                              : 2;
  static constexpr bool kMovesChunks = kVector * kElementBytes == kChunkBytes;
  /// True if a lane keeps the address of its first row of a matrix, and adds a distance for each pass that has whole
  /// rows. With C, or with more accumulators, there are no registers for it: kernels spilled.
  static constexpr bool kStepsByRows = !kTraits.reads_c && kConfig.accumulator_registers(kTraits) <= 200;

 public:
  static constexpr int kPieceColumns = WgmmaConfig::store_cols(kTraits);
  static constexpr int kBuffers = kConfig.store_buffers(kTraits);

  /// A thread's part of a piece, in the layout of ldmatrix and stmatrix: four pairs for each 16 columns.
  struct Pairs {
    u32 at[kPieceColumns / 16][4];
  };

  /// `buffers` is the address of the first buffer.
  HOTGEMM_DEVICE WgmmaStaging(const GemmArgs& args, int lane, u32 buffers)
      : args_(args), lane_(lane), buffers_(buffers) {}

  HOTGEMM_DEVICE int lane() const { return lane_; }
  /// Pieces take the buffers in turns.
  HOTGEMM_DEVICE u32 buffer(int number) const { return buffers_ + number % kBuffers * WgmmaConfig::kStoreBytes; }

  /// Waits for all threads that write to these buffers.
  static HOTGEMM_DEVICE void sync() { ptx::bar_warp_sync(~0u); }

  /// Stores the 16 columns from column `group` * 16 on to the piece's buffer.
  HOTGEMM_DEVICE void put(const WgmmaPiece& piece, int group, const u32 (&pairs)[4]) const {
    static_assert(2 * kElementBytes == sizeof(u32), "stmatrix moves pairs of 16-bit elements");
    ptx::stmatrix_x4(matrix_row(piece.buffer, group * 16), pairs);
  }

  /// Begins to copy the warp's rows of a matrix of D's sizes to the piece's buffer. Elements outside of the matrix
  /// become zeros.
  HOTGEMM_DEVICE void copy(const WgmmaPiece& piece, u64 matrix, i64 ld) const {
    const int cols = piece.cols, row = piece.row, col = piece.col;
    const Vector first = vector(cols, 0);
    const u64 begin = element_address(matrix, ld, row + first.row, col + first.col);
#pragma unroll 4
    for (int pass = 0; pass < passes(cols); ++pass) {
      const Vector at = vector(cols, pass);
      if (is_uneven(cols) && at.row >= kRows) continue;
      if (kConfig.transposed && at.row >= piece.rows) continue;
      const int valid = row + at.row < args_.m ? max_of(0, min_of(kVector, args_.n - col - at.col)) : 0;
      u64 from = matrix;
      if (kStepsByRows && has_whole_rows(cols)) {
        const u64 there = begin + static_cast<u64>(pass * (kWarpSize * kVector / cols) * ld) * kElementBytes;
        from = valid > 0 ? there : matrix;
      } else {
        from = valid > 0 ? element_address(matrix, ld, row + at.row, col + at.col) : matrix;
      }
      const u32 shared = in_buffer(piece.buffer, at.row, at.col);
      if constexpr (kVector > 1) {
        ptx::cp_async<kVector * kElementBytes>(shared, from, valid * kElementBytes);
      } else {
        ptx::st_shared_b16(shared, valid > 0 ? ptx::ld_global_b16(from) : static_cast<u16>(0));
      }
    }
    if constexpr (kVector > 1) ptx::cp_async_commit_group();
  }
  /// Waits until all rows are there that lanes of this warp fetch.
  static HOTGEMM_DEVICE void await_copy() {
    await_own_copy();
    sync();
  }
  static constexpr int parts(const WgmmaPiece& piece) { return div_up(piece.cols, 16); }
  /// Loads 16 columns of it, from column `part` * 16 on.
  HOTGEMM_DEVICE void fetch(Pairs& pairs, const WgmmaPiece& piece, int part) const {
    // The buffer may hold only eight columns there. Then the same two matrices are loaded twice.
    const bool is_half = piece.cols - part * 16 < 16;
    ptx::ldmatrix_x4(pairs.at[part], is_half ? in_buffer(piece.buffer, lane_ % 16, piece.cols - 8)
                                             : matrix_row(piece.buffer, part * 16));
    ptx::bar_warp_sync(~0u);  // put overwrites what all lanes have loaded
  }

  /// Stores the part that lies inside D, whose rows may begin at any element, of the strip that ends with this piece.
  HOTGEMM_DEVICE void store_words(const WgmmaPiece& piece) const {
    WgmmaWords<kTraits, kConfig>(args_, lane_).store(piece, [&](int number) { return buffer(number); });
  }

  /// Stores a piece that lies inside D, whose rows begin at 16 bytes, from its buffer, by all lanes.
  HOTGEMM_DEVICE void store_whole(const WgmmaPiece& piece) const {
    static_assert(kMovesChunks);
    const int cols = piece.cols, row = piece.row, col = piece.col;
    constexpr int kBatch = 4;  // loads in flight before the first store
#pragma unroll
    for (int first = 0; first < passes(cols); first += kBatch) {
      ptx::Vec4 values[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (!has_vector(cols, first + i)) continue;
        const Vector at = vector(cols, first + i);
        values[i] = ptx::ld_shared_v4_b32(in_buffer(piece.buffer, at.row, at.col));
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (!has_vector(cols, first + i)) continue;
        const Vector at = vector(cols, first + i);
        ptx::st_global_v4_b32(element_address(args_.d, args_.ldd, row + at.row, col + at.col), values[i]);
      }
    }
  }

  /// Stores the elements that lie inside D and in columns that are not yet stored.
  HOTGEMM_DEVICE void store_inside(const WgmmaPiece& piece) const {
    static_assert(kMovesChunks);
    const int cols = piece.cols, row = piece.row, col = piece.col;
#pragma unroll 1
    for (int pass = 0; pass < passes(cols); ++pass) {
      const Vector at = vector(cols, pass);
      if (at.row >= kRows || row + at.row >= args_.m || at.col < piece.stored) continue;
      if (kConfig.transposed && at.row >= piece.rows) continue;
      const u64 d = element_address(args_.d, args_.ldd, row + at.row, col + at.col);
      const u32 shared = in_buffer(piece.buffer, at.row, at.col);
      if (col + at.col + kVector <= args_.n) {
        ptx::st_global_v4_b32(d, ptx::ld_shared_v4_b32(shared));
      } else {
#pragma unroll 1
        for (int e = 0; col + at.col + e < args_.n; ++e) {
          const u64 to = d + e * kElementBytes;
          const u32 from = shared + e * kElementBytes;
          if constexpr (kElementBytes == 4) {
            ptx::st_global_b32(to, ptx::ld_shared_b32(from));
          } else {
            ptx::st_global_b16(to, ptx::ld_shared_b16(from));
          }
        }
      }
    }
  }

 protected:
  HOTGEMM_DEVICE static u32 in_buffer(u32 buffer, int row, int col) {
    return buffer + swizzled_offset((row * kPieceColumns + col) * kElementBytes, WgmmaConfig::kStoreRowBytes);
  }
  static HOTGEMM_DEVICE void await_own_copy() {
    if constexpr (kVector > 1) ptx::cp_async_wait_group<0>();
  }

 private:
  /// The address that this lane passes to ldmatrix and stmatrix. The four matrices are rows 0 to 7 and rows 8 to 15 of
  /// eight columns, then the same rows of the next eight columns.
  HOTGEMM_DEVICE u32 matrix_row(u32 buffer, int col) const {
    return in_buffer(buffer, lane_ % 16, col + lane_ / 16 * 8);
  }

  // ---- between buffer and global memory: vectors, neighbouring lanes along the row ----

  struct Vector {
    int row;
    int col;
  };
  HOTGEMM_DEVICE Vector vector(int cols, int pass) const {
    const int index = pass * kWarpSize + lane_;
    return {index / (cols / kVector), index % (cols / kVector) * kVector};
  }
  static constexpr int passes(int cols) { return div_up(kRows * cols / kVector, kWarpSize); }
  /// True if the vectors of a pass fill whole rows. Then a lane has the same columns in each pass.
  static constexpr bool has_whole_rows(int cols) { return kWarpSize * kVector % cols == 0; }
  /// True if some lanes have no vector in the last pass.
  static constexpr bool is_uneven(int cols) { return kRows * cols / kVector % kWarpSize != 0; }

  HOTGEMM_DEVICE static u64 element_address(u64 matrix, i64 ld, int row, int col) {
    return matrix + static_cast<u64>(row * ld + col) * kElementBytes;
  }

  HOTGEMM_DEVICE bool has_vector(int cols, int pass) const {
    return pass < passes(cols) && (!is_uneven(cols) || vector(cols, pass).row < kRows);
  }

  HeldGemm<kTraits> args_;
  int lane_;
  u32 buffers_;
};

}  // namespace hotgemm
