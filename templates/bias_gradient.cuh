#pragma once

// The gradient of a bias: the sum of D over its rows, or over its columns. Lanes that have elements of one sum add
// these first, and then one of them adds the result to memory. So the order of the sum differs from call to call.

#include "ptx/element.hpp"
#include "ptx/index.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "relu_bits.cuh"
#include "shared/fragment.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

/// Adds `value` to those of the lanes whose numbers differ from this one's in `bit`. All lanes of `members` call this.
HOTGEMM_DEVICE float added_across(float value, u32 bit, u32 members) {
  return ptx::add_rn(value, ptx::float_of(ptx::shfl_sync_bfly_b32(ptx::bits_of(value), bit, 0x1f, members)));
}

/// Adds the value of an element at `at` to the gradient; 0 of one that is not there. Neighbours of a lane, as
/// kNeighbours says, call this together with it.
template <Bias kBias, Neighbours kNeighbours>
HOTGEMM_DEVICE void add_to_gradient(u64 gradient, float value, Element2d at, bool is_there) {
  const u32 lane = static_cast<u32>(ptx::thread_index()) % 32;
  bool is_first = true;
  if (!is_there) value = 0;
  // With `across` the lanes of a quad have one row, and lanes that are 4 apart have one column; with `down` a quad has
  // one column. Lanes that are 4 apart and have odd and even rows may be at other columns (WideStaging), so values are
  // added over lanes that are 8 apart.
  if constexpr (kNeighbours != Neighbours::none) {
    if constexpr ((kBias == Bias::per_row) == (kNeighbours == Neighbours::across)) {
      const u32 quad = 0xfu << (lane & 28u);
      value = added_across(added_across(value, 1, quad), 2, quad);
      is_first = lane % 4 == 0;
    } else {
      const u32 column = 0x01010101u << (lane % 8);
      value = added_across(added_across(value, 8, column), 16, column);
      is_first = lane < 8;
    }
  }
  const int index = kBias == Bias::per_row ? at.row : at.col;
  // The first lane's element lies ahead of the others that are added: if it is not there, none of them is.
  if (is_first && is_there) ptx::red_global_add_f32(gradient + static_cast<u64>(index) * sizeof(float), value);
}

/// The sums of a lane over its elements of 16 rows and 16 columns, of which it has pairs in eight rows and eight
/// columns each, as accumulators do. Lanes exchange halves of what they have, so that fewer values are passed on than
/// if each were added up by itself.
template <Bias kBias, Neighbours kNeighbours>
class GradientSums {
  /// True if eight lanes, 4 apart, have elements of four sums together; else the lanes of a quad have those of two.
  static constexpr bool kFour = (kBias == Bias::per_column) == (kNeighbours == Neighbours::across);

 public:
  /// Adds element `half` of pair `number`, which is in the second eight columns of an instruction's result from 2 on,
  /// and in its second eight rows if it is odd.
  HOTGEMM_DEVICE void add(int number, int half, float value) {
    float& sum = sums_[kFour ? number / 2 * 2 + half : number % 2];
    sum = ptx::add_rn(sum, value);
  }

  /// Adds the sums to the gradient. The rows and columns begin at `begin`; D ends at `end_of_d`. Called by all lanes of
  /// a warp.
  HOTGEMM_DEVICE void add_to(u64 gradient, Element2d begin, Element2d end_of_d) {
    const int first = kBias == Bias::per_row ? begin.row : begin.col;
    const int end = kBias == Bias::per_row ? end_of_d.row : end_of_d.col;
    const u32 lane = static_cast<u32>(ptx::thread_index()) % 32;
    if constexpr (kFour) {
      const float kept[2] = {exchanged(sums_[0], sums_[2], 16, lane), exchanged(sums_[1], sums_[3], 16, lane)};
      const float sum = added_across(exchanged(kept[0], kept[1], 8, lane), 4, ~0u);
      const int index = first + static_cast<int>(lane % 4 * 2 + lane / 8 % 2 + lane / 16 * 8);
      if (lane / 4 % 2 == 0 && index < end) add(gradient, index, sum);
    } else {
      const float sum = added_across(exchanged(sums_[0], sums_[1], 1, lane), 2, ~0u);
      const int index = first + static_cast<int>(lane / 4 + lane % 2 * 8);
      if (lane / 2 % 2 == 0 && index < end) add(gradient, index, sum);
    }
  }

 private:
  static HOTGEMM_DEVICE void add(u64 gradient, int index, float sum) {
    ptx::red_global_add_f32(gradient + static_cast<u64>(index) * sizeof(float), sum);
  }
  /// The sum of `low` over this lane and the one whose number differs in `bit`; of `high` if this lane's has the bit.
  static HOTGEMM_DEVICE float exchanged(float low, float high, u32 bit, u32 lane) {
    const bool is_high = (lane & bit) != 0;
    const u32 given = ptx::bits_of(is_high ? low : high);
    return ptx::add_rn(is_high ? high : low, ptx::float_of(ptx::shfl_sync_bfly_b32(given, bit, 0x1f, ~0u)));
  }

  float sums_[kFour ? 4 : 2] = {};
};

}  // namespace hotgemm
