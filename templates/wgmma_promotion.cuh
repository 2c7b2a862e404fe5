#pragma once

// How family `wgmma` adds the sums of a k-tile, of which the tensor cores keep few bits, to its accumulators.

#include "batch.cuh"
#include "block_scales.cuh"
#include "ptx/math.hpp"
#include "shared/fragment.hpp"
#include "shared/wgmma_config.hpp"
#include "wgmma_schedule.cuh"

namespace hotgemm {

/// A promotion is made for each part of a tile. It adds the sums of k-tile after k-tile, each instruction by
/// instruction.
struct PlainPromotion {
  template <class Item>
  HOTGEMM_DEVICE PlainPromotion(const WgmmaArgs& /*args*/, const Item& /*item*/, int /*consumer*/, int /*thread*/) {}

  /// Adds `part`, which instruction `i` has computed.
  template <class Accumulator>
  HOTGEMM_DEVICE void add(Accumulator& sums, const Accumulator& part, int /*i*/) const {
    constexpr int kRegisters = sizeof sums.d / sizeof sums.d[0];
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) sums.d[r] += part.d[r];
  }
};

/// The scales for a part of a product's tile.
template <GemmTraits kTraits, class Item>
HOTGEMM_DEVICE BlockScales block_scales_of(const WgmmaArgs& args, const Item& item) {
  if constexpr (kTraits.grouped) {
    const ExtraArgs& extras = static_cast<const WithExtras<WgmmaArgs>&>(args).extras;
    GemmArgs gemm = args.gemm;
    gemm.m = item.group.rows;
    const EpilogueArgs& all = static_cast<const Fused<WgmmaArgs>&>(args).epilogue;
    return {with_scales_of(moved<kTraits>(all, batch_of(args), item.group), extras, item.group), extras, gemm};
  } else {
    return {args, args.gemm};
  }
}

/// Multiplies the sums of a k-tile by the scales of its blocks. A lane loads the scales for the next k-tile as soon as
/// it needs those of this one no longer, so that they arrive during the products.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class ScaledPromotion {
  static constexpr int kPieces = kConfig.instructions();  // 64 rows each
  static constexpr int kGrain = kConfig.scale_grain();
  static constexpr int kBlocks = kConfig.scale_columns();

 public:
  template <class Item>
  HOTGEMM_DEVICE ScaledPromotion(const WgmmaArgs& args, const Item& item, int consumer, int thread)
      : scales_(block_scales_of<kTraits>(args, item)), block_(item.first_k_tile) {
    static_assert(kConfig.block_k == kScaleBlock);
    const int warp = thread / kWarpSize, lane = thread % kWarpSize;
    row_ = item.m + kConfig.first_row(consumer) + warp * 16 + accumulator_element(lane, 0).row;
    col_ = item.n + kConfig.first_col(consumer);
    if (item.k_tiles == 0) return;
#pragma unroll
    for (int i = 0; i < kPieces; ++i) load_rows(i);
    load_columns();
  }

  template <class Accumulator>
  HOTGEMM_DEVICE void add(Accumulator& sums, const Accumulator& part, int i) {
    float factors[kBlocks][2];
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int half = 0; half < 2; ++half) factors[block][half] = ptx::mul_rn(of_rows_[i][half], of_columns_[block]);
    }
    const int begin = kGrain == kScaleBlock ? 0 : col_ % kScaleBlock;
#pragma unroll
    for (int r = 0; r < kConfig.instruction_n() / 2; ++r) {
      const int half = r / 2 % 2, grain = r / 4 * 8 / kGrain * kGrain;
      const float factor = kBlocks == 1 || begin + grain < kScaleBlock ? factors[0][half] : factors[kBlocks - 1][half];
      sums.d[r] = ptx::fma_rn(part.d[r], factor, sums.d[r]);
    }
    // From here on the next k-tile's.
    if (i == 0) ++block_;
    load_rows(i);
    if (i == kPieces - 1) load_columns();
  }

 private:
  HOTGEMM_DEVICE void load_rows(int i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) of_rows_[i][half] = scales_.of_row(row_ + i * kWgmmaM + half * 8, block_);
  }
  HOTGEMM_DEVICE void load_columns() {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block)
      of_columns_[block] = scales_.of_columns(col_ / kScaleBlock + block, block_);
  }

  BlockScales scales_;
  int block_;      // of k, whose scales are loaded next
  int row_, col_;  // the first row of this lane, and the first column of the part
  float of_rows_[kPieces][2];
  float of_columns_[kBlocks];
};

/// The same for a transposed config: the 64 rows of an instruction are columns of D, which lie in one block.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class TransposedPromotion {
  static constexpr int kPieces = kConfig.instructions();
  static constexpr int kPairs = kConfig.instruction_n() / 8;  // of rows of D, of a lane

 public:
  template <class Item>
  HOTGEMM_DEVICE TransposedPromotion(const WgmmaArgs& args, const Item& item, int consumer, int thread)
      : scales_(block_scales_of<kTraits>(args, item)), block_(item.first_k_tile) {
    static_assert(kConfig.block_k == kScaleBlock && kConfig.block_n % kWgmmaM == 0);
    row_ = item.m + kConfig.first_row(consumer) + accumulator_element(thread % kWarpSize, 0).col;
    col_ = item.n + kConfig.first_col(consumer);
    if (item.k_tiles == 0) return;
    load_rows();
#pragma unroll
    for (int i = 0; i < kPieces; ++i) load_columns(i);
  }

  template <class Accumulator>
  HOTGEMM_DEVICE void add(Accumulator& sums, const Accumulator& part, int i) {
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float factor = ptx::mul_rn(of_rows_[pair][e], of_columns_[i]);
#pragma unroll
        for (int r = pair * 4 + e; r < pair * 4 + 4; r += 2) sums.d[r] = ptx::fma_rn(part.d[r], factor, sums.d[r]);
      }
    }
    if (i == 0) ++block_;
    load_columns(i);
    if (i == kPieces - 1) load_rows();
  }

 private:
  HOTGEMM_DEVICE void load_rows() {
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
      for (int e = 0; e < 2; ++e) of_rows_[pair][e] = scales_.of_row(row_ + pair * 8 + e, block_);
    }
  }
  HOTGEMM_DEVICE void load_columns(int i) {
    of_columns_[i] = scales_.of_columns((col_ + i * kWgmmaM) / kScaleBlock, block_);
  }

  BlockScales scales_;
  int block_;
  int row_, col_;
  float of_rows_[kPairs][2];
  float of_columns_[kPieces];
};

template <GemmTraits kTraits, WgmmaConfig kConfig, bool kScaled = kTraits.epilogue.has_block_scales(),
          bool kTransposed = kConfig.transposed>
struct PromotionOf {
  using Type = PlainPromotion;
};
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct PromotionOf<kTraits, kConfig, true, false> {
  using Type = ScaledPromotion<kTraits, kConfig>;
};
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct PromotionOf<kTraits, kConfig, true, true> {
  using Type = TransposedPromotion<kTraits, kConfig>;
};

}  // namespace hotgemm
