#pragma once

// How family `wgmma` adds a part of sums, of which the tensor cores keep few bits, to its accumulators.

#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "shared/fragment.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// A promotion is made for a consumer's part of a tile. `prepare` is called while the products of instruction `i` are
/// in flight, and then `add`.
struct PlainPromotion {
  template <class Item>
  HOTGEMM_DEVICE PlainPromotion(const Item& /*item*/, int /*consumer*/, int /*thread*/) {}

  HOTGEMM_DEVICE void prepare(int /*i*/, u32 /*factors*/) const {}

  /// Adds `part`, which the instruction has computed.
  template <class Accumulator>
  HOTGEMM_DEVICE void add(Accumulator& sums, const Accumulator& part) const {
    constexpr int kRegisters = sizeof sums.d / sizeof sums.d[0];
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) sums.d[r] += part.d[r];
  }
};

/// The blocks of columns of B whose scales a tile needs: kBlocks in each of its halves, in each block of k.
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct TileScales {
  static constexpr int kHalves = WgmmaConfig::halves(kTraits);
  static constexpr int kBlocks = kConfig.touched_scales(kTraits, kConfig.block_n / kHalves);

  /// The place among the factors for a block of k of that for a row of the tile and a block of columns of a half.
  static HOTGEMM_DEVICE u32 place(int half, int block, int row) {
    return static_cast<u32>(((half * kBlocks + block) * kConfig.block_m + row)) * sizeof(float);
  }
};

/// Multiplies the sums of a block of k by its factors, which a producer brings (ScaleRing). A lane has kRows
/// rows in each instruction of a part, and kBlocks blocks of columns in each half of it. Of a transposed config, the 64
/// rows of an instruction are columns of D, which lie in one block, and all instructions have the same rows of D.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class ScaledPromotion {
  using Tile = TileScales<kTraits, kConfig>;
  static constexpr bool kTransposed = kConfig.transposed;
  static constexpr int kRows = kTransposed ? kConfig.instruction_n() / 4 : 2;
  static constexpr int kBlocks = kTransposed ? 1 : kConfig.scale_columns(kTraits);
  static constexpr int kGrain = kConfig.scale_grain(kTraits);

 public:
  template <class Item>
  HOTGEMM_DEVICE ScaledPromotion(const Item& item, int consumer, int thread)
      : first_block_(item.n / Tile::kHalves / kScaleBlock),
        col_((item.n + kConfig.first_col(consumer)) / Tile::kHalves) {
    static_assert(kPromotedK == kScaleBlock);
    const Element2d first = accumulator_element(thread % kWarpSize, 0);
    row_ = kConfig.first_row(consumer) + (kTransposed ? first.col : thread / kWarpSize * 16 + first.row);
  }

  /// Takes the factors for instruction `i` from shared memory.
  HOTGEMM_DEVICE void prepare(int i, u32 factors) {
#pragma unroll
    for (int half = 0; half < Tile::kHalves; ++half) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int row = 0; row < kRows; ++row) factors_[half][block][row] = factor(factors, i, half, block, row);
      }
    }
  }

  template <class Accumulator>
  HOTGEMM_DEVICE void add(Accumulator& sums, const Accumulator& part) const {
    constexpr int kOfHalf = kConfig.instruction_n() / 2 / Tile::kHalves;
    const int begin = kGrain == kScaleBlock ? 0 : col_ % kScaleBlock;
#pragma unroll
    for (int half = 0; half < Tile::kHalves; ++half) {
#pragma unroll
      for (int r = 0; r < kOfHalf; ++r) {
        const int row = kTransposed ? r / 4 * 2 + r % 2 : r / 2 % 2, grain = r / 4 * 8 / kGrain * kGrain;
        // Both are named, so that the compiler chooses between registers, and not by an index in memory.
        const float first = factors_[half][0][row], last = factors_[half][kBlocks - 1][row];
        const float factor = kBlocks == 1 || begin + grain < kScaleBlock ? first : last;
        float& sum = sums.d[half * kOfHalf + r];
        sum = ptx::fma_rn(part.d[half * kOfHalf + r], factor, sum);
      }
    }
  }

 private:
  /// The row of the tile that is the lane's row `row` of instruction `i`, and the number of a block of columns.
  HOTGEMM_DEVICE int row_of(int i, int row) const {
    return row_ + (kTransposed ? row / 2 * 8 + row % 2 : i * kWgmmaM + row * 8);
  }
  HOTGEMM_DEVICE int columns_of(int i, int block) const {
    return (col_ + (kTransposed ? i * kWgmmaM : 0)) / kScaleBlock + block;
  }

  HOTGEMM_DEVICE float factor(u32 factors, int i, int half, int block, int row) const {
    const int in_tile = min_of(columns_of(i, block) - first_block_, Tile::kBlocks - 1);
    return ptx::ld_shared_f32(factors + Tile::place(half, in_tile, row_of(i, row)));
  }

  int first_block_;  // of columns of a half of the tile
  int row_, col_;    // the first row of the lane in the tile, and the first column of a half of the part
  float factors_[Tile::kHalves][kBlocks][kRows];  // of the instruction that is added next
};

template <GemmTraits kTraits, WgmmaConfig kConfig, bool kScaled = kTraits.epilogue.has_block_scales()>
struct PromotionOf {
  using Type = PlainPromotion;
};
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct PromotionOf<kTraits, kConfig, true> {
  using Type = ScaledPromotion<kTraits, kConfig>;
};

}  // namespace hotgemm
