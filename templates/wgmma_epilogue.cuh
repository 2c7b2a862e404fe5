#pragma once

// From accumulators to D, for family `wgmma`. The sink takes pieces of the tile to D; the op says what is computed for
// each pair of elements.

#include "ptx/bulk_copy.hpp"
#include "ptx/convert.hpp"
#include "ptx/element.hpp"
#include "ptx/memory.hpp"
#include "ptx/mma.hpp"
#include "ptx/stmatrix.hpp"
#include "ptx/warp.hpp"
#include "shared/fragment.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// A thread's part of 64 rows of the tile: accumulator_element's, for each eight columns.
template <DType kType, int kColumns>
struct WgmmaAccumulator {
  float d[kColumns / 2] = {};
  HOTGEMM_DEVICE float get(int i) const { return d[i]; }
};
template <int kColumns>
struct WgmmaAccumulator<DType::f16, kColumns> {
  u32 d[kColumns / 4] = {};
  HOTGEMM_DEVICE float get(int i) const { return ptx::cvt_f32_f16(static_cast<u16>(d[i / 2] >> (i % 2 * 16))); }
};

/// The sink. Each warp stores its rows by itself, 64 columns at a time through buffers of its own: stmatrix to swizzled
/// rows, and from there the copy engine takes them, which leaves the load-store units to the consumers that multiply.
/// It writes whole 16-byte chunks, so that rows that end within one, or begin anywhere, are stored by the lanes. C, if
/// any, comes through the same buffers.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op>
class WgmmaEpilogue {
  static constexpr int kBlocks = kConfig.consumer_m() / kWgmmaM;
  static constexpr int kColumns = kConfig.consumer_n();
  static constexpr int kRows = WgmmaConfig::kStoreRows;
  static constexpr int kElementBytes = size_bytes(kTraits.element);
  static constexpr int kChunkElements = kChunkBytes / kElementBytes;
  static constexpr int kPieceColumns = WgmmaConfig::store_cols(kTraits);
  static constexpr int kPieceBytes = WgmmaConfig::kStoreBytes;
  static constexpr int kPieces = div_up(kColumns, kPieceColumns);
  static constexpr bool kBulk = kConfig.stores_in_bulk(kTraits);
  /// All that the copy engine takes have the same width: the last piece may begin among columns that the one before has
  /// stored already. Not with C, which may be D, and then is no more what it was.
  static constexpr bool kOverlaps = kBulk && !Op::kReadsC && kColumns % kPieceColumns != 0;
  static constexpr int kBuffers = kConfig.store_buffers(kTraits);
  /// Elements that a lane moves at once between a buffer and D.
  static constexpr int kVector = kTraits.vec_d == 8 ? 8 : kTraits.vec_d == 1 ? 1 : 2;

 public:
  using Accumulator = WgmmaAccumulator<kTraits.accumulator, kColumns>;

  /// `buffers` are those of this warp, in shared memory.
  HOTGEMM_DEVICE WgmmaEpilogue(const WgmmaArgs& args, int lane, u32 buffers)
      : map_(args.d), args_(args.gemm), lane_(lane), buffers_(buffers) {}

  /// The warp's 16 rows of each 64 of the tile, from `row`, `col` of D on.
  HOTGEMM_DEVICE void store(const Accumulator (&accumulators)[kBlocks], int row, int col) const {
#pragma unroll
    for (int i = 0; i < kBlocks * kPieces; ++i) {
      const int first = i % kPieces * kPieceColumns;
      const int begin = kOverlaps ? min_of(first, kColumns - kPieceColumns) : first;
      // Where a tile has an odd number of pieces, the next one begins with the buffer that this one ended with.
      const bool follows_itself = i == 0 && kBlocks * kPieces % 2 != 0;
      store_piece(accumulators[i / kPieces], begin, first - begin, buffers_ + i % kBuffers * kPieceBytes,
                  follows_itself, row + i / kPieces * kWgmmaM, col + begin);
    }
    if constexpr (!kBulk) ptx::bar_warp_sync(~0u);
  }

 private:
  /// Columns from `begin` of the accumulator, of which the first `stored` are in D already, to `row`, `col` of D,
  /// through a buffer that had the piece before this one if it follows itself, or else the one before that.
  HOTGEMM_DEVICE void store_piece(const Accumulator& accumulator, int begin, int stored, u32 buffer,
                                  bool follows_itself, int row, int col) const {
    const int cols = min_of(kPieceColumns, kColumns - begin);
    if constexpr (kBulk) {
      if (lane_ == 0 && follows_itself) ptx::cp_async_bulk_wait_group_read<0>();
      if (lane_ == 0 && !follows_itself) ptx::cp_async_bulk_wait_group_read<kBuffers - 1>();
    }
    if (kBulk || kBuffers == 1 || Op::kReadsC) ptx::bar_warp_sync(~0u);  // the buffer has been read
    Pairs c = {};
    if constexpr (Op::kReadsC) c = load_c(buffer, cols, row, col);
    stage(accumulator, begin, cols, c, buffer, {row, col});
    if constexpr (kBulk) ptx::fence_proxy_async();
    ptx::bar_warp_sync(~0u);  // and of two buffers the other one has been read by the lanes
    const bool inside = row + kRows <= args_.m && col + cols <= args_.n;
    // The copy engine leaves out what lies outside of D, but not within 16 bytes.
    const bool in_bulk =
        kBulk && cols == kPieceColumns && (inside || (row < args_.m && col < args_.n && args_.n % kChunkElements == 0));
    if (!in_bulk) {
      if (inside) {
        store_whole(buffer, cols, row, col);
      } else {
        store_inside(buffer, stored, cols, row, col);
      }
    }
    if constexpr (kBulk) {
      if (lane_ == 0) {
        if (in_bulk) ptx::cp_async_bulk_tensor_2d_store(map_, col, row, buffer);
        ptx::cp_async_bulk_commit_group();  // empty if not, so that groups count pieces
      }
    }
  }

  /// 16 rows and 64 columns as ldmatrix and stmatrix have them: four pairs for each 16 columns.
  struct Pairs {
    u32 at[kPieceColumns / 16][4];
  };

  HOTGEMM_DEVICE static u32 in_buffer(u32 buffer, int row, int col) {
    return buffer + swizzled_offset((row * kPieceColumns + col) * kElementBytes, WgmmaConfig::kStoreRowBytes);
  }
  /// What this lane hands to ldmatrix and stmatrix: rows 0 to 7, 8 to 15 of eight columns, then of the next eight.
  HOTGEMM_DEVICE u32 matrix_row(u32 buffer, int col) const {
    return in_buffer(buffer, lane_ % 16, col + lane_ / 16 * 8);
  }

  HOTGEMM_DEVICE void stage(const Accumulator& accumulator, int begin, int cols, const Pairs& c, u32 buffer,
                            Element2d first) const {
#pragma unroll
    for (int group = 0; group < div_up(cols, 16); ++group) {
      u32 pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int column = group * 16 + i / 2 * 8;
        // Where cols is an odd multiple of eight, the last eight columns of the buffer mean nothing.
        const int element = (begin + column) / 2 + i % 2 * 2;
        const Element2d in_block = accumulator_element(lane_, i % 2 * 2);
        const Element2d at = {first.row + in_block.row, first.col + column + in_block.col};
        pairs[i] = column < cols
                       ? Op::pair(args_, accumulator.get(element), accumulator.get(element + 1), c.at[group][i], at)
                       : 0;
      }
      ptx::stmatrix_x4(matrix_row(buffer, group * 16), pairs);
    }
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
  /// Whether a lane of the last pass may have nothing to do.
  static constexpr bool is_uneven(int cols) { return kRows * cols / kVector % kWarpSize != 0; }

  HOTGEMM_DEVICE static u64 element_address(u64 matrix, i64 ld, int row, int col) {
    return matrix + static_cast<u64>(row * ld + col) * kElementBytes;
  }

  /// C where it lies inside the matrix, and zeros elsewhere.
  HOTGEMM_DEVICE Pairs load_c(u32 buffer, int cols, int row, int col) const {
#pragma unroll 4
    for (int pass = 0; pass < passes(cols); ++pass) {
      const Vector at = vector(cols, pass);
      if (is_uneven(cols) && at.row >= kRows) continue;
      const int valid = row + at.row < args_.m ? max_of(0, min_of(kVector, args_.n - col - at.col)) : 0;
      const u64 c = valid > 0 ? element_address(args_.c, args_.ldc, row + at.row, col + at.col) : args_.c;
      const u32 shared = in_buffer(buffer, at.row, at.col);
      if constexpr (kVector > 1) {
        ptx::cp_async<kVector * kElementBytes>(shared, c, valid * kElementBytes);
      } else {
        ptx::st_shared_b16(shared, valid > 0 ? ptx::ld_global_b16(c) : static_cast<u16>(0));
      }
    }
    if constexpr (kVector > 1) {
      ptx::cp_async_commit_group();
      ptx::cp_async_wait_group<0>();
    }
    ptx::bar_warp_sync(~0u);
    Pairs c = {};
#pragma unroll
    for (int group = 0; group < cols / 16; ++group) ptx::ldmatrix_x4(c.at[group], matrix_row(buffer, group * 16));
    if (cols % 16 != 0) load_last_columns(c.at[cols / 16], buffer, cols);
    ptx::bar_warp_sync(~0u);
    return c;
  }
  /// Eight columns of C, of which the buffer has nothing behind: two matrices, and their rows once more.
  HOTGEMM_DEVICE void load_last_columns(u32 (&c)[4], u32 buffer, int cols) const {
    ptx::ldmatrix_x4(c, in_buffer(buffer, lane_ % 16, cols - 8));
  }

  HOTGEMM_DEVICE void store_whole(u32 buffer, int cols, int row, int col) const {
    constexpr int kBatch = 4;  // loads in flight before the first store
#pragma unroll
    for (int first = 0; first < passes(cols); first += kBatch) {
      ptx::Vec4 values[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (!has_vector(cols, first + i)) continue;
        const Vector at = vector(cols, first + i);
        values[i] = load_vector(in_buffer(buffer, at.row, at.col));
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (!has_vector(cols, first + i)) continue;
        const Vector at = vector(cols, first + i);
        store_vector(element_address(args_.d, args_.ldd, row + at.row, col + at.col), values[i]);
      }
    }
  }
  HOTGEMM_DEVICE bool has_vector(int cols, int pass) const {
    return pass < passes(cols) && (!is_uneven(cols) || vector(cols, pass).row < kRows);
  }

  /// Of the piece's columns from `first` on what lies inside D.
  HOTGEMM_DEVICE void store_inside(u32 buffer, int first, int cols, int row, int col) const {
#pragma unroll 1
    for (int pass = 0; pass < passes(cols); ++pass) {
      const Vector at = vector(cols, pass);
      if (at.row >= kRows || row + at.row >= args_.m || at.col < first) continue;
      const u64 d = element_address(args_.d, args_.ldd, row + at.row, col + at.col);
      const u32 shared = in_buffer(buffer, at.row, at.col);
      if (col + at.col + kVector <= args_.n) {
        store_vector(d, load_vector(shared));
      } else {
#pragma unroll 1
        for (int e = 0; col + at.col + e < args_.n; ++e)
          ptx::st_global_b16(d + e * kElementBytes, ptx::ld_shared_b16(shared + e * kElementBytes));
      }
    }
  }

  HOTGEMM_DEVICE static ptx::Vec4 load_vector(u32 shared) {
    if constexpr (kVector == 8) {
      return ptx::ld_shared_v4_b32(shared);
    } else if constexpr (kVector == 2) {
      return {ptx::ld_shared_b32(shared), 0, 0, 0};
    } else {
      return {ptx::ld_shared_b16(shared), 0, 0, 0};
    }
  }
  HOTGEMM_DEVICE static void store_vector(u64 d, const ptx::Vec4& value) {
    if constexpr (kVector == 8) {
      ptx::st_global_v4_b32(d, value);
    } else if constexpr (kVector == 2) {
      ptx::st_global_b32(d, value.x);
    } else {
      ptx::st_global_b16(d, static_cast<u16>(value.x));
    }
  }

  const TensorMap& map_;
  const GemmArgs& args_;
  int lane_;
  u32 buffers_;
};

}  // namespace hotgemm
