#pragma once

// The epilogue of family `wgmma`, from accumulators to D. The op computes each pair of elements (scaled_sum.cuh), and
// the sink stores the results (wgmma_sink.cuh). The epilogue calls both, piece by piece.

#include "gated_sums.cuh"
#include "pair_access.cuh"
#include "ptx/convert.hpp"
#include "ptx/math.hpp"
#include "ptx/warp.hpp"
#include "ptx/wgmma.hpp"
#include "shared/fragment.hpp"
#include "shared/wgmma_config.hpp"
#include "wgmma_batch.cuh"
#include "wgmma_staging.cuh"

namespace hotgemm {

/// A thread's part of 64 rows of the tile. For each eight columns, it has the elements that accumulator_element gives.
template <DType kType, int kColumns>
struct WgmmaAccumulator {
  float d[kColumns / 2] = {};
  HOTGEMM_DEVICE float get(int i) const { return d[i]; }
};
template <int kColumns>
struct WgmmaAccumulator<DType::s32, kColumns> {
  u32 d[kColumns / 2] = {};
  HOTGEMM_DEVICE int get(int i) const { return static_cast<int>(d[i]); }
};
template <int kColumns>
struct WgmmaAccumulator<DType::f16, kColumns> {
  u32 d[kColumns / 4] = {};
  HOTGEMM_DEVICE float get(int i) const { return ptx::cvt_f32_f16(static_cast<u16>(d[i / 2] >> (i % 2 * 16))); }
};

/// Hides from the compiler what the registers hold (ptx::pin).
template <class Accumulator>
HOTGEMM_DEVICE void pin(Accumulator& accumulator) {
#pragma unroll
  for (auto& d : accumulator.d) ptx::pin(d);
}
template <class Accumulator, int kInstructions>
HOTGEMM_DEVICE void pin(Accumulator (&accumulators)[kInstructions]) {
#pragma unroll
  for (int i = 0; i < kInstructions; ++i) pin(accumulators[i]);
}

/// Sets all sums to zero.
template <class Accumulator, int kInstructions>
HOTGEMM_DEVICE void clear(Accumulator (&accumulators)[kInstructions]) {
#pragma unroll
  for (int i = 0; i < kInstructions; ++i) accumulators[i] = {};
}

/// A thread's part of a piece of C, and with kAll of each other matrix that the op reads. They come by way of the
/// piece's buffer: `request` begins to copy the first one there. The last one stays there, and `fetch` loads it part by
/// part, because the accumulators leave few registers.
template <class Sink, class Op, bool kAll>
class MatrixPieces {
  using Pairs = typename Sink::Pairs;
  using Source = typename Op::Source;
  static constexpr int kCount = kAll ? Op::kMatrices : Op::kReadsC ? 1 : 0;

 public:
  /// True if a piece is requested while the one before is computed, and the first one before the products of its tile:
  /// nothing else hides the latency of global memory. This takes a second buffer outside of the strip.
  static constexpr bool kAhead = kCount > 0 && Sink::kHasBufferAhead;

  /// Opens the piece, and begins to copy its first matrix. `is_ahead` is true if the piece before is not yet closed.
  static HOTGEMM_DEVICE void request(const Sink& sink, const Source& source, const GemmArgs& args,
                                     const WgmmaPiece& piece, bool is_ahead) {
    sink.open(piece, kCount > 0, is_ahead);
    MatrixPieces().for_each(source, args, [&](int number, Pairs&, u64 matrix, i64 ld) {
      if (number == 0) sink.copy(piece, matrix, ld);
    });
  }

  /// Waits for the matrices of a piece that has been requested.
  HOTGEMM_DEVICE MatrixPieces(const Sink& sink, const Source& source, const GemmArgs& args, const WgmmaPiece& piece) {
    for_each(source, args, [&](int number, Pairs& pairs, u64 matrix, i64 ld) {
      if (number > 0) {
        Sink::sync();  // the lanes that share the buffer have loaded the matrix before
        sink.copy(piece, matrix, ld);
      }
      sink.await_copy();
      if (is_last(number)) return;
#pragma unroll
      for (int part = 0; part < Sink::parts(piece); ++part) sink.fetch(pairs, piece, part);
    });
  }

  /// Called before the elements of a part, 16 columns or rows, are used.
  HOTGEMM_DEVICE void fetch(const Sink& sink, const Source& source, const GemmArgs& args, const WgmmaPiece& piece,
                            int part) {
    for_each(source, args, [&](int number, Pairs& pairs, u64, i64) {
      if (is_last(number)) sink.fetch(pairs, piece, part);
    });
  }
  HOTGEMM_DEVICE const Pairs& c() const { return c_; }
  /// The result of `of` for the Pairs of each matrix beside C. With kAll.
  template <class Of>
  HOTGEMM_DEVICE auto each(Of&& of) const {
    return matrices_.each(of);
  }

 private:
  MatrixPieces() = default;
  static constexpr bool is_last(int number) { return number == kCount - 1; }
  /// Calls use(number, pairs, address, leading dimension) for each matrix.
  template <class Use>
  HOTGEMM_DEVICE void for_each(const Source& source, const GemmArgs& args, Use&& use) {
    int number = 0;
    if constexpr (Op::kReadsC) use(number++, c_, args.c, args.ldc);
    if constexpr (kAll)
      Op::for_each_matrix(source, matrices_,
                          [&](Pairs& pairs, u64 matrix, i64 ld) { use(number++, pairs, matrix, ld); });
  }

  Pairs c_ = {};
  typename Op::template Matrices<Pairs> matrices_;
};

/// Each warp stores its rows by itself, at most 64 columns of 16-bit elements at a time.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op, class ResultSink>
class WgmmaEpilogue {
  static constexpr int kBlocks = kConfig.consumer_m() / kWgmmaM;
  static constexpr int kSumColumns = kConfig.consumer_n();
  static constexpr int kColumns = kConfig.stored_n(kTraits);
  static constexpr int kPieceColumns = ResultSink::kPieceColumns;
  static constexpr int kPieces = kConfig.row_pieces(kTraits);
  static constexpr Gate kGate = kTraits.epilogue.gate;
  static constexpr int kHalf = kSumColumns / 4;  // of the sums of an accumulator
  static constexpr bool kCopies = kConfig.copies_matrices(kTraits);
  using Matrices = MatrixPieces<ResultSink, Op, kCopies>;
  /// True if the last piece begins at columns that the piece before it has already stored. False if D may be read as C
  /// or as the residual: then these columns are already overwritten; and if an op must see each element once.
  static constexpr bool kOverlaps = ResultSink::kWantsWholePieces && !Op::kOnceOnly && kColumns % kPieceColumns != 0;

 public:
  using Accumulator = WgmmaAccumulator<kTraits.accumulator, kSumColumns>;
  using Sink = ResultSink;
  static constexpr bool kRequestsAhead = Matrices::kAhead && kBlocks * kPieces > 1;

  /// `product` is the number of the product in a batch. `buffers` are those of this warp, in shared memory.
  HOTGEMM_DEVICE WgmmaEpilogue(const WgmmaArgs& args, const ProductOf<kTraits>& product, int lane, u32 buffers)
      : args_(product_args<kTraits>(args, product)),
        source_(args, product),
        lane_(lane),
        sink_(args.d, kTraits.batched || kTraits.epilogue.is_gated() ? args_ : args.gemm, product, lane, buffers) {}

  /// Called by a warp before the products of a tile, or of a consumer's part of it, that begins at `row`, `col` of the
  /// product.
  HOTGEMM_DEVICE void prefetch(int row, int col) const {
    Op::prefetch(args_, source_, {row, kTraits.epilogue.columns_of_d(col)}, {kConfig.consumer_m(), kColumns}, lane_);
  }

  /// Called by each warp before the products of a tile, with the place that `store` is given. With kRequestsAhead.
  HOTGEMM_DEVICE void request(int row, int first_col) const {
    Matrices::request(sink_, source_, args_, piece(0, row, kTraits.epilogue.columns_of_d(first_col)), false);
  }

  /// Stores the warp's 16 rows of each 64 rows of the tile. They begin at `row`, `first_col` of the product.
  HOTGEMM_DEVICE void store(const Accumulator (&accumulators)[kBlocks], int row, int first_col) const {
    Op op(args_, source_);
    const int col = kTraits.epilogue.columns_of_d(first_col);
#pragma unroll
    for (int i = 0; i < kBlocks * kPieces; ++i) {
      WgmmaPiece here = piece(i, row, col);
      const Element2d at = op.begin_part({here.row, here.col});
      here.row = at.row;
      here.col = at.col;
      if constexpr (Op::kHoldsVectors) op.hold_vectors(args_, at);
      store_piece(op, accumulators[i / kPieces], here, [&] {
        if (kRequestsAhead && i + 1 < kBlocks * kPieces)
          Matrices::request(sink_, source_, args_, piece(i + 1, row, col), true);
      });
    }
    sink_.end_tile();
  }

 private:
  /// Piece `number` of a warp's rows that begin at `row`, `col` of D.
  HOTGEMM_DEVICE WgmmaPiece piece(int number, int row, int col) const {
    const int first = number % kPieces * kPieceColumns;
    const int begin = kOverlaps ? min_of(first, kColumns - kPieceColumns) : first;
    return {.number = number,
            .buffer = sink_.buffer(number),
            .cols = min_of(kPieceColumns, kColumns - begin),
            .stored = first - begin,
            .rows = WgmmaConfig::kStoreRows,
            .begin = begin,
            .row = row + number / kPieces * kWgmmaM,
            .col = col + begin};
  }

  /// Calls request_next() when the matrices of the piece are there.
  template <class RequestNext>
  HOTGEMM_DEVICE void store_piece(const Op& op, const Accumulator& accumulator, const WgmmaPiece& piece,
                                  const RequestNext& request_next) const {
    if constexpr (kGate == Gate::interleaved) {
      sink_.open(piece, Op::kReadsC, false);
      put_interleaved(op, accumulator, piece.begin, piece);
    } else {
      if (!kRequestsAhead) Matrices::request(sink_, source_, args_, piece, false);
      Matrices matrices(sink_, source_, args_, piece);
      request_next();
      if constexpr (WgmmaConfig::has_wide_d(kTraits)) {
        put_wide(op, accumulator, piece, matrices);
      } else {
        put(op, accumulator, piece, matrices);
      }
    }
    sink_.close(piece);
  }

  HOTGEMM_DEVICE void put(const Op& op, const Accumulator& accumulator, const WgmmaPiece& piece,
                          Matrices& matrices) const {
#pragma unroll
    for (int group = 0; group < div_up(piece.cols, 16); ++group) {
      matrices.fetch(sink_, source_, args_, piece, group);
      if constexpr (Op::kHasGroups) op.begin_group();
      u32 pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int column = group * 16 + i / 2 * 8;
        // If cols is an odd multiple of eight, the last eight columns of the group are not used.
        const int element = (piece.begin + column) / 2 + i % 2 * 2;
        const Element2d in_block = accumulator_element(lane_, i % 2 * 2);
        const Element2d at = {piece.row + in_block.row, piece.col + column + in_block.col};
        pairs[i] = 0;
        if (column >= piece.cols) continue;
        op.begin_pair(group, i);
        const auto low = sum_of<kGate>(accumulator, element, kHalf),
                   high = sum_of<kGate>(accumulator, element + 1, kHalf);
        const u32 c = matrices.c().at[group][i];
        if constexpr (kCopies) {
          pairs[i] = op.pair(args_, low, high, c, matrices.each([&](const auto& all) { return all.at[group][i]; }), at);
        } else {
          pairs[i] = op.pair(args_, low, high, c, at);
        }
      }
      if constexpr (Op::kHasGroups)
        op.end_group(args_, {piece.row, piece.col + group * 16}, {16, min_of(16, piece.cols - group * 16)});
      sink_.put(piece, group, pairs);
    }
  }

  /// The same of an interleaved product: in each eight of its columns a lane has both sums of one element of D.
  HOTGEMM_DEVICE void put_interleaved(const Op& op, const Accumulator& accumulator, int begin,
                                      const WgmmaPiece& piece) const {
#pragma unroll
    for (int group = 0; group < div_up(piece.cols, 16); ++group) {
      u32 pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int column = group * 16 + i / 2 * 8;
        float results[2] = {};
#pragma unroll
        for (int four = 0; four < 2; ++four) {
          const int element = begin + column + four * 4 + i % 2 * 2;
          const int row = accumulator_element(lane_, i % 2 * 2).row;
          if (column < piece.cols) {
            results[four] = op.value(args_, GatedSums{accumulator.get(element), accumulator.get(element + 1)}, 0,
                                     {piece.row + row, piece.col + column + four * 4 + lane_ % 4});
          }
        }
        pairs[i] = neighbours(ptx::narrow_pair<kTraits.element_d>(results[0], results[1]));
      }
      sink_.put(piece, group, pairs);
    }
  }
  /// Of the eight elements of a quad, lane t has numbers t and 4 + t. It gets 2t and 2t + 1.
  HOTGEMM_DEVICE u32 neighbours(u32 pair) const {
    const u32 t = static_cast<u32>(lane_) % 4, first = static_cast<u32>(lane_) - t + t % 2 * 2;
    const u32 low = ptx::shfl_sync_idx_b32(pair, first, 31, ~0u),
              high = ptx::shfl_sync_idx_b32(pair, first + 1, 31, ~0u);
    return ptx::prmt_b32(low, high, t < 2 ? 0x5410 : 0x7632);
  }

  /// The same for elements of 32 bits. In each step a lane takes one of two groups of eight columns (WideStaging).
  HOTGEMM_DEVICE void put_wide(const Op& op, const Accumulator& accumulator, const WgmmaPiece& piece,
                               Matrices& matrices) const {
    const bool goes_ahead = sink_.staging().goes_ahead();
    const int begin = piece.begin;
#pragma unroll
    for (int step = 0; step < kPieceColumns / 8; ++step) {
      matrices.fetch(sink_, source_, args_, piece, step);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int here = begin / 2 + step * 4 + half * 2, ahead = begin / 2 + (step ^ 2) * 4 + half * 2;
        const int group = sink_.staging().group(step);
        if (group * 8 >= piece.cols) continue;
        const Element2d in_block = accumulator_element(lane_, half * 2);
        const Element2d at = {piece.row + in_block.row, piece.col + group * 8 + in_block.col};
        sink_.put(piece, step, half,
                  op.numbers(args_, chosen(accumulator, goes_ahead, here, ahead),
                             chosen(accumulator, goes_ahead, here + 1, ahead + 1), matrices.c().at[step][half],
                             matrices.each([&](const auto& all) { return all.at[step][half]; }), at));
      }
    }
  }
  /// Sum `ahead` or `here`. Of a narrow part, `ahead` may lie beyond it.
  static HOTGEMM_DEVICE auto chosen(const Accumulator& accumulator, bool goes_ahead, int here, int ahead) {
    const auto one = [&](int stays_at, int goes_to) {
      const int last = kSumColumns / 2 - 1;
      const typename Op::Sum stays = accumulator.get(min_of(stays_at, last));
      const typename Op::Sum goes = accumulator.get(min_of(goes_to, last));
      return goes_ahead ? goes : stays;
    };
    if constexpr (kGate == Gate::halves) {
      return GatedSums{one(here, ahead), one(here + kHalf, ahead + kHalf)};
    } else {
      return one(here, ahead);
    }
  }

  HeldGemm<kTraits> args_;
  typename Op::Source source_;
  int lane_;
  Sink sink_;
};

}  // namespace hotgemm
