#pragma once

// The epilogue of family `wgmma` for a D of elements of 8 or 32 bits. Lanes store results right from their registers:
// the four lanes that have eight neighbouring columns of a row store a whole sector of 32 bytes. Of elements of 8 bits,
// the four exchange their pairs of 32 columns first, so that each has eight neighbours. Of a transposed config a lane
// has pairs below each other, and eight lanes store neighbours.

#include "element_access.cuh"
#include "gated_sums.cuh"
#include "pair_access.cuh"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "shared/fragment.hpp"
#include "wgmma_batch.cuh"
#include "wgmma_epilogue.cuh"

namespace hotgemm {

/// It is its own sink: there are no buffers.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op>
class DirectEpilogue {
  static constexpr int kInstructions = kConfig.instructions();
  static constexpr Gate kGate = kTraits.epilogue.gate;
  static constexpr int kSumColumns = kConfig.instruction_n();
  static constexpr int kColumns = kGate == Gate::halves ? kSumColumns / 2 : kSumColumns;  // that are walked
  static constexpr int kHalf = kSumColumns / 4;  // of the sums of an accumulator
  static constexpr int kPairs = kColumns / 4;    // of a lane, of one instruction
  /// Loads of C in flight of a lane. D may be C, so that no load of C may follow the store of its pair.
  static constexpr int kBatch = min_of(kPairs, 8);
  /// True if the four lanes of a quad exchange bytes, of which each then stores eight.
  static constexpr bool kExchanges =
      kConfig.has_byte_d(kTraits) && !kConfig.transposed && kTraits.vec_d >= 8 && kGate != Gate::interleaved;
  static constexpr int kExchangedColumns = 32;

 public:
  using Accumulator = WgmmaAccumulator<kTraits.accumulator, kSumColumns>;
  using Sink = DirectEpilogue;
  static constexpr bool kRequestsAhead = false;
  static HOTGEMM_DEVICE void prefetch_maps(const WgmmaArgs& args) { static_cast<void>(args); }
  static HOTGEMM_DEVICE void drain() {}

  HOTGEMM_DEVICE DirectEpilogue(const WgmmaArgs& args, const ProductOf<kTraits>& product, int lane, u32 buffers)
      : args_(product_args<kTraits>(args, product)), source_(args, product), lane_(lane) {
    static_cast<void>(buffers);
  }

  /// See WgmmaEpilogue.
  HOTGEMM_DEVICE void prefetch(int row, int col) const {
    Op::prefetch(args_, source_, {row, kTraits.epilogue.columns_of_d(col)},
                 {kConfig.consumer_m(), kConfig.stored_n(kTraits)}, lane_);
  }

  /// Stores the warp's part of the tile, which begins at `row`, `col` of the product. In a transposed config warps have
  /// columns beside each other, 16 each. Callers count 16 rows for each warp in front, in every config.
  HOTGEMM_DEVICE void store(const Accumulator (&accumulators)[kInstructions], int row, int col) const {
    Op op(args_, source_);
    const int warp = kConfig.transposed ? ptx::thread_index() % kWarpgroupThreads / kWarpSize : 0;
    const Element2d origin = {row - warp * WgmmaConfig::kStoreRows,
                              kTraits.epilogue.columns_of_d(col) + warp * WgmmaConfig::kStoreRows};
#pragma unroll
    for (int i = 0; i < kInstructions; ++i) {
      constexpr int kExchanged = kExchanges ? kColumns / kExchangedColumns : 0;
      if constexpr (kExchanges) {
#pragma unroll
        for (int part = 0; part < kExchanged; ++part) store_bytes(op, accumulators[i], op.begin_part(origin), i, part);
      }
#pragma unroll
      for (int first = kExchanged * kExchangedColumns / 4; first < kPairs; first += kBatch) {
        const Element2d at = op.begin_part(origin);
        NumberPair<kTraits.element_d> c[kBatch] = {};
        if constexpr (Op::kReadsC) {
#pragma unroll
          for (int p = 0; p < kBatch; ++p) {
            if (first + p < kPairs) c[p] = load_c(place(at, i, first + p));
          }
        }
#pragma unroll
        for (int p = 0; p < kBatch; ++p) {
          if (first + p >= kPairs) continue;
          const int element = (first + p) * 2;
          if constexpr (kGate == Gate::interleaved) {
            store_interleaved(op, place(at, i, first + p), accumulators[i].get(element),
                              accumulators[i].get(element + 1));
          } else {
            store_pair(op, place(at, i, first + p), sum_of<kGate>(accumulators[i], element, kHalf),
                       sum_of<kGate>(accumulators[i], element + 1, kHalf), c[p]);
          }
        }
      }
    }
  }

 private:
  /// Stores 32 columns of 16 rows. Lane q of a quad has a pair in each eight columns; it gets all of the eight columns
  /// with number q.
  HOTGEMM_DEVICE void store_bytes(const Op& op, const Accumulator& accumulator, Element2d origin, int i,
                                  int part) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      NumberPair<kTraits.element_d> c[4] = {};
      if constexpr (Op::kReadsC) {
#pragma unroll
        for (int q = 0; q < 4; ++q) c[q] = load_c(place(origin, i, (part * 4 + q) * 2 + half));
      }
      u32 pairs[4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const int pair = (part * 4 + q) * 2 + half;
        const Element2d at = place(origin, i, pair);
        const NumberPair<kTraits.element_d> values =
            op.numbers(args_, sum_of<kGate>(accumulator, pair * 2, kHalf),
                       sum_of<kGate>(accumulator, pair * 2 + 1, kHalf), c[q], at);
        pairs[q] = byte_pair_of<kTraits.element_d>(values.low, values.high);
      }
      const ptx::Vec2 eight = transposed_pairs(pairs);
      if constexpr (Op::kMayReadD) ptx::bar_warp_sync(~0u);  // other lanes have read these elements of D
      const Element2d first = place(origin, i, part * 8 + half);
      store_eight({first.row, first.col - lane_ % 4 * 2 + lane_ % 4 * 8}, eight);
    }
  }

  /// From the pairs of a lane, which number q gets: the pairs of number q of all lanes of the quad, in their order.
  HOTGEMM_DEVICE ptx::Vec2 transposed_pairs(const u32 (&pairs)[4]) const {
    // First lanes that are two apart exchange two pairs each, then neighbours exchange pairs of what they have.
    const bool is_upper = (lane_ & 2) != 0, is_odd = (lane_ & 1) != 0;
    const u32 low = pairs[0] | pairs[1] << 16, high = pairs[2] | pairs[3] << 16;
    const u32 own = is_upper ? high : low;
    const u32 other = ptx::shfl_sync_bfly_b32(is_upper ? low : high, 2, 0x1f, ~0u);
    const u32 first = is_upper ? other : own, second = is_upper ? own : other;  // of lanes 0 or 1, and of 2 or 3
    const u32 given = is_odd ? halves(first, second, 0) : halves(first, second, 16);
    const u32 taken = ptx::shfl_sync_bfly_b32(given, 1, 0x1f, ~0u);
    const u32 kept = is_odd ? halves(first, second, 16) : halves(first, second, 0);
    const u32 even = is_odd ? taken : kept, odd = is_odd ? kept : taken;
    return {halves(even, odd, 0), halves(even, odd, 16)};
  }
  /// The lower halves of two words, or the upper ones with a `shift` of 16.
  static HOTGEMM_DEVICE u32 halves(u32 first, u32 second, int shift) {
    return (first >> shift & 0xffffu) | second >> shift << 16;
  }

  /// Stores eight neighbouring elements of 8 bits.
  HOTGEMM_DEVICE void store_eight(Element2d at, const ptx::Vec2& codes) const {
    if (at.row >= args_.m) return;
    const u64 address = this->address(args_.d, args_.ldd, at);
    if (at.col + 8 <= args_.n) return ptx::st_global_v2_b32(address, codes.x, codes.y);
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const u32 word = e < 4 ? codes.x : codes.y;
      if (at.col + e < args_.n) ptx::st_global_u8(address + static_cast<u64>(e), word >> (e % 4 * 8) & 0xff);
    }
  }

  /// The place in D of the lane's pair number `pair` of instruction `i`; or of the element that it makes.
  HOTGEMM_DEVICE Element2d place(Element2d origin, int i, int pair) const {
    const Element2d in_block = accumulator_element(lane_, pair % 2 * 2);
    const int along_rows = i * kWgmmaM + in_block.row;
    const int along_columns = (pair / 2 * 8 + in_block.col) / (kGate == Gate::interleaved ? 2 : 1);
    if constexpr (kConfig.transposed) return {origin.row + along_columns, origin.col + along_rows};
    return {origin.row + along_rows, origin.col + along_columns};
  }

  HOTGEMM_DEVICE NumberPair<kTraits.element_d> load_c(Element2d at) const {
    if (at.row >= args_.m || at.col >= args_.n) return {};
    if constexpr (!kConfig.transposed) {
      return load_number_pair<kTraits>(address(args_.c, args_.ldc, at), at.col + 1 < args_.n);
    }
    const i64 index = at.row * args_.ldc + at.col;
    const bool has_both = at.row + 1 < args_.m;
    return {load_result<kTraits.element_d>(args_.c, index),
            has_both ? load_result<kTraits.element_d>(args_.c, index + args_.ldc) : 0};
  }
  static HOTGEMM_DEVICE u64 address(u64 matrix, i64 ld, Element2d at) {
    return matrix + static_cast<u64>(at.row * ld + at.col) * size_bytes(kTraits.element_d);
  }

  HOTGEMM_DEVICE void store_interleaved(const Op& op, Element2d at, typename Op::Sum gate,
                                        typename Op::Sum other) const {
    if (at.row >= args_.m || at.col >= args_.n) return;
    store_element<kTraits.element_d>(args_.d, at.row * args_.ldd + at.col,
                                     op.value(args_, GatedSums{gate, other}, 0, at));
  }
  template <class Sum>
  HOTGEMM_DEVICE void store_pair(const Op& op, Element2d at, Sum low, Sum high,
                                 const NumberPair<kTraits.element_d>& c) const {
    const bool is_inside = at.row < args_.m && at.col < args_.n;
    if (!Op::kNeedsNeighbours && !is_inside) return;
    const Element2d next = {at.row + (kConfig.transposed ? 1 : 0), at.col + (kConfig.transposed ? 0 : 1)};
    const NumberPair<kTraits.element_d> values = op.numbers(args_, low, high, c, at);
    if (Op::kNeedsNeighbours && !is_inside) return;
    if constexpr (kConfig.transposed) {
      const i64 index = at.row * args_.ldd + at.col;
      store_element<kTraits.element_d>(args_.d, index, values.low);
      if (next.row < args_.m) store_element<kTraits.element_d>(args_.d, index + args_.ldd, values.high);
    } else {
      store_number_pair<kTraits>(address(args_.d, args_.ldd, at), values, next.col < args_.n);
    }
  }

  HeldGemm<kTraits> args_;
  typename Op::Source source_;
  int lane_;
};

}  // namespace hotgemm
