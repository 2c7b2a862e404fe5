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

}  // namespace hotgemm
