#pragma once

// The epilogue of transposed configs of family `wgmma`. Their accumulators hold D^T = B^T A^T: lane 4g + t of a warp
// has the elements of D in the warp's columns g and g + 8, and in rows 2t and 2t + 1 of each eight.
//
// The warps of a consumer have 16 columns each. They exchange elements in shared memory, so that each warp stores rows
// of 64 columns:
//
//                    warp 0    warp 1    warp 2    warp 3     stmatrix.trans
//   buffer of warp 0 ┌─────────┬─────────┬─────────┬─────────┐
//                    │ 16 × 16 │         │         │         │ rows 0 to 15, which warp 0 stores
//   buffer of warp 1 ├─────────┼─────────┼─────────┼─────────┤
//                    │         │         │         │         │ rows 16 to 31, which warp 1 stores
//                    └─────────┴─────────┴─────────┴─────────┘ …

#include "ptx/index.hpp"
#include "ptx/mma.hpp"
#include "ptx/named_barrier.hpp"
#include "ptx/stmatrix.hpp"
#include "ptx/warp.hpp"
#include "shared/fragment.hpp"
#include "wgmma_batch.cuh"
#include "wgmma_epilogue.cuh"
#include "wgmma_staging.cuh"
#include "wgmma_wide.cuh"

namespace hotgemm {

/// The buffers of a consumer. A piece is a warp's part of 64 rows and 64 columns of D, or of the rows that are left.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class TransposedStaging : public WgmmaStaging<kTraits, kConfig> {
  using Base = WgmmaStaging<kTraits, kConfig>;
  static constexpr int kRows = WgmmaConfig::kStoreRows;

 public:
  static constexpr int kRowsAtOnce = kRows * (kWarpgroupThreads / kWarpSize);  // by the warps of the consumer together
  using Pairs = typename Base::Pairs;
  static_assert(Base::kPieceColumns == kWgmmaM);

  /// The numbers of pieces below and beside each other. Pieces that are stored as a strip follow each other.
  static constexpr int kPiecesBelow = div_up(kConfig.consumer_m(), kRowsAtOnce);
  static constexpr int kPiecesBeside = kConfig.instructions();
  static constexpr bool kAlongRows = !WgmmaConfig::has_aligned_d(kTraits);
  static constexpr int below(int number) { return kAlongRows ? number / kPiecesBeside : number % kPiecesBelow; }
  static constexpr int beside(int number) { return kAlongRows ? number % kPiecesBeside : number / kPiecesBelow; }
  /// The rows of piece `number` that the warps of the consumer have together.
  static constexpr int first_row(int number) { return below(number) * kRowsAtOnce; }
  static constexpr int rows(int number) { return min_of(kRowsAtOnce, kConfig.consumer_m() - first_row(number)); }

  using Base::Base;

  /// The warp's number in its consumer.
  static HOTGEMM_DEVICE int warp() { return ptx::thread_index() % kWarpgroupThreads / kWarpSize; }

  static HOTGEMM_DEVICE void sync() {
    ptx::bar_sync(1 + ptx::thread_index() / kWarpgroupThreads, kWarpgroupThreads);  // barrier 0 is that of the block
  }

  /// Stores the warp's 16 columns of rows `group` * 16 to `group` * 16 + 15.
  HOTGEMM_DEVICE void put(const WgmmaPiece& piece, int group, const u32 (&pairs)[4]) const {
    ptx::stmatrix_x4_trans(matrix_row(piece, group, this->lane() / 16 * 8), pairs);
  }

  static HOTGEMM_DEVICE void await_copy() {
    Base::await_own_copy();
    sync();  // all warps have copied their rows
  }
  static constexpr int parts(const WgmmaPiece& piece) { return div_up(rows(piece.number), kRows); }
  /// Loads the part of 16 rows of it that belongs to this warp's accumulators. The warp overwrites only elements that
  /// it has loaded itself.
  HOTGEMM_DEVICE void fetch(Pairs& pairs, const WgmmaPiece& piece, int part) const {
    // If eight rows are left, the buffer has no rows after them, so the same two matrices are loaded twice.
    const bool is_half = rows(piece.number) - part * kRows < kRows;
    ptx::ldmatrix_x4_trans(pairs.at[part], matrix_row(piece, part, is_half ? 0 : this->lane() / 16 * 8));
    ptx::bar_warp_sync(~0u);
  }

 private:
  /// The address that this lane passes to ldmatrix and stmatrix. The four matrices are columns 0 to 7 and columns 8 to
  /// 15 of eight rows, then the same columns of the next eight rows, whose number is `first`.
  HOTGEMM_DEVICE u32 matrix_row(const WgmmaPiece& piece, int group, int first) const {
    const int buffer = (group - warp()) * kConfig.warp_store_bytes(kTraits);  // counted from this warp's own
    return Base::in_buffer(piece.buffer + static_cast<u32>(buffer), first + this->lane() % 8,
                           warp() * 16 + this->lane() / 8 % 2 * 8);
  }
};

template <GemmTraits kTraits, WgmmaConfig kConfig, bool kTransposed = kConfig.transposed,
          bool kWide = kConfig.has_wide_d(kTraits)>
struct StagingOf {
  using Type = WgmmaStaging<kTraits, kConfig>;
};
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct StagingOf<kTraits, kConfig, true, false> {
  using Type = TransposedStaging<kTraits, kConfig>;
};
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct StagingOf<kTraits, kConfig, false, true> {
  using Type = WideStaging<kTraits, kConfig>;
};

/// All warps of a consumer store 64 rows and 64 columns of D together.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op, class ResultSink>
class TransposedEpilogue {
  using Staging = TransposedStaging<kTraits, kConfig>;
  using Matrices = MatrixPieces<ResultSink, Op, true>;
  static constexpr int kInstructions = kConfig.instructions();
  static constexpr int kPieces = kConfig.store_pieces(kTraits);
  static_assert(kPieces == kInstructions * Staging::kPiecesBelow);

 public:
  using Accumulator = WgmmaAccumulator<kTraits.accumulator, kConfig.instruction_n()>;
  using Sink = ResultSink;
  static constexpr bool kRequestsAhead = Matrices::kAhead && kPieces > 1;

  /// `product` is the number of the product in a batch. `buffers` are those of this warp, in shared memory.
  HOTGEMM_DEVICE TransposedEpilogue(const WgmmaArgs& args, const ProductOf<kTraits>& product, int lane, u32 buffers)
      : args_(product_args<kTraits>(args, product)),
        source_(args, product),
        lane_(lane),
        sink_(args.d, kTraits.batched ? args_ : args.gemm, product, lane, buffers) {}

  /// See WgmmaEpilogue.
  HOTGEMM_DEVICE void prefetch(int row, int col) const {
    Op::prefetch(args_, source_, {row, col}, {kConfig.consumer_m(), kConfig.consumer_n()}, lane_);
  }

  HOTGEMM_DEVICE void request(int row, int col) const {
    Matrices::request(sink_, source_, args_, piece(0, row, col), false);
  }

  /// Stores the consumer's part of the tile. The first rows that this warp stores begin at `row`, `col` of D.
  HOTGEMM_DEVICE void store(const Accumulator (&accumulators)[kInstructions], int row, int col) const {
    Op op(args_, source_);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      WgmmaPiece here = piece(i, row, col);
      const Element2d at = op.begin_part({here.row, here.col});
      here.row = at.row;
      here.col = at.col;
      if constexpr (Op::kHoldsVectors) op.hold_vectors(args_, first_pair(here));
      store_piece(op, accumulators[Staging::beside(i)], here, [&] {
        if (kRequestsAhead && i + 1 < kPieces) Matrices::request(sink_, source_, args_, piece(i + 1, row, col), true);
      });
    }
    sink_.end_tile();
  }

 private:
  HOTGEMM_DEVICE WgmmaPiece piece(int number, int row, int col) const {
    const int begin = Staging::beside(number) * kWgmmaM;
    return {.number = number,
            .buffer = sink_.buffer(number),
            .cols = kWgmmaM,
            .stored = 0,
            .rows = Staging::rows(number) - Staging::warp() * WgmmaConfig::kStoreRows,
            .begin = begin,
            .row = row + Staging::first_row(number),
            .col = col + begin};
  }

  /// The place in D of the first element that the warp computes of a piece. It computes 16 columns of all rows, and
  /// stores 16 rows of all columns.
  static HOTGEMM_DEVICE Element2d first_pair(const WgmmaPiece& piece) {
    return {piece.row - Staging::warp() * WgmmaConfig::kStoreRows, piece.col + Staging::warp() * 16};
  }

  template <class RequestNext>
  HOTGEMM_DEVICE void store_piece(const Op& op, const Accumulator& accumulator, const WgmmaPiece& piece,
                                  const RequestNext& request_next) const {
    if (!kRequestsAhead) Matrices::request(sink_, source_, args_, piece, false);
    Matrices matrices(sink_, source_, args_, piece);
    request_next();
    const int rows = Staging::rows(piece.number);
    // The compiler unrolls this loop before the one around it. If its bound depends on that one, strips use
    // accumulators by an index that is not constant, and the compiler puts them in memory. So strips have a fixed
    // bound.
    const int groups = Staging::kAlongRows ? Staging::kRowsAtOnce / 16 : div_up(rows, 16);
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      if (Staging::kAlongRows && group * 16 >= rows) continue;
      matrices.fetch(sink_, source_, args_, piece, group);
      const Element2d first = first_pair(piece), begin = {first.row + group * 16, first.col};
      if constexpr (Op::kHasGroups) op.begin_group();
      u32 pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        op.begin_pair(group, i);
        const int row = group * 16 + i / 2 * 8;
        const int element = (Staging::first_row(piece.number) + row) / 2 + i % 2 * 2;
        const Element2d in_block = accumulator_element(lane_, i % 2 * 2);  // of the transposed tile
        const Element2d at = {begin.row + i / 2 * 8 + in_block.col, begin.col + in_block.row};
        pairs[i] = row < rows ? op.pair(args_, accumulator.get(element), accumulator.get(element + 1),
                                        matrices.c().at[group][i],
                                        matrices.each([&](const auto& all) { return all.at[group][i]; }), at)
                              : 0;
      }
      if constexpr (Op::kHasGroups) op.end_group(args_, begin, {min_of(16, rows - group * 16), 16});
      sink_.put(piece, group, pairs);
    }
    sink_.close(piece);
  }

  HeldGemm<kTraits> args_;
  typename Op::Source source_;
  int lane_;
  Sink sink_;
};

}  // namespace hotgemm
