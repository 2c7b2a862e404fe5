#pragma once

// The epilogue of family `wgmma` for a D of 32-bit elements. Lanes store pairs of results right from their registers:
// the four lanes that have eight neighbouring columns of a row store a whole sector of 32 bytes. Of a transposed config
// a lane has pairs below each other, and eight lanes store a sector.

#include "element_access.cuh"
#include "pair_access.cuh"
#include "ptx/index.hpp"
#include "shared/fragment.hpp"
#include "wgmma_epilogue.cuh"

namespace hotgemm {

/// It is its own sink: there are no buffers.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op>
class DirectEpilogue {
  static constexpr int kInstructions = kConfig.instructions();
  static constexpr int kColumns = kConfig.instruction_n();
  static constexpr int kPairs = kColumns / 4;  // of a lane, of one instruction
  /// Loads of C in flight of a lane. D may be C, so that no load of C may follow the store of its pair.
  static constexpr int kBatch = min_of(kPairs, 8);

 public:
  using Accumulator = WgmmaAccumulator<kTraits.accumulator, kColumns>;
  using Sink = DirectEpilogue;
  static HOTGEMM_DEVICE void prefetch_maps(const WgmmaArgs& args) { static_cast<void>(args); }
  static HOTGEMM_DEVICE void drain() {}

  HOTGEMM_DEVICE DirectEpilogue(const WgmmaArgs& args, int lane, u32 buffers) : args_(args.gemm), lane_(lane) {
    static_cast<void>(buffers);
  }

  /// Stores the warp's part of the tile, which begins at `row`, `col` of D. In a transposed config warps have columns
  /// beside each other, 16 each. Callers count 16 rows for each warp in front, in every config.
  HOTGEMM_DEVICE void store(const Accumulator (&accumulators)[kInstructions], int row, int col) const {
    const int warp = kConfig.transposed ? ptx::thread_index() % kWarpgroupThreads / kWarpSize : 0;
    const Element2d origin = {row - warp * WgmmaConfig::kStoreRows, col + warp * WgmmaConfig::kStoreRows};
#pragma unroll
    for (int i = 0; i < kInstructions; ++i) {
#pragma unroll
      for (int first = 0; first < kPairs; first += kBatch) {
        NumberPair<kTraits.element_d> c[kBatch] = {};
        if constexpr (Op::kReadsC) {
#pragma unroll
          for (int p = 0; p < kBatch; ++p) {
            if (first + p < kPairs) c[p] = load_c(place(origin, i, first + p));
          }
        }
#pragma unroll
        for (int p = 0; p < kBatch; ++p) {
          if (first + p >= kPairs) continue;
          const int element = (first + p) * 2;
          store_pair(place(origin, i, first + p), accumulators[i].get(element), accumulators[i].get(element + 1), c[p]);
        }
      }
    }
  }

 private:
  /// The place in D of the lane's pair number `pair` of instruction `i`.
  HOTGEMM_DEVICE Element2d place(Element2d origin, int i, int pair) const {
    const Element2d in_block = accumulator_element(lane_, pair % 2 * 2);
    const int along_rows = i * kWgmmaM + in_block.row, along_columns = pair / 2 * 8 + in_block.col;
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
    return {load_element<kTraits.element_d>(args_.c, index),
            has_both ? load_element<kTraits.element_d>(args_.c, index + args_.ldc) : 0};
  }
  static HOTGEMM_DEVICE u64 address(u64 matrix, i64 ld, Element2d at) {
    return matrix + static_cast<u64>(at.row * ld + at.col) * size_bytes(kTraits.element_d);
  }

  HOTGEMM_DEVICE void store_pair(Element2d at, typename Op::Sum low, typename Op::Sum high,
                                 const NumberPair<kTraits.element_d>& c) const {
    if (at.row >= args_.m || at.col >= args_.n) return;
    const Element2d next = {at.row + (kConfig.transposed ? 1 : 0), at.col + (kConfig.transposed ? 0 : 1)};
    const NumberPair<kTraits.element_d> values = {Op::value(args_, low, c.low, at),
                                                  Op::value(args_, high, c.high, next)};
    if constexpr (kConfig.transposed) {
      const i64 index = at.row * args_.ldd + at.col;
      store_element<kTraits.element_d>(args_.d, index, values.low);
      if (next.row < args_.m) store_element<kTraits.element_d>(args_.d, index + args_.ldd, values.high);
    } else {
      store_number_pair<kTraits>(address(args_.d, args_.ldd, at), values, next.col < args_.n);
    }
  }

  const GemmArgs& args_;
  int lane_;
};

}  // namespace hotgemm
