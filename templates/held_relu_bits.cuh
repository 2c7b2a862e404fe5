#pragma once

#include "funnel.cuh"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "relu_bits.cuh"
#include "shared/fragment.hpp"

namespace hotgemm {

/// The bits of a part of D. A warp holds those of 16 rows and 64 columns; with `down`, those of 64 rows and 16 columns,
/// and the first column is a multiple of 16. Pairs lie in the part as in an accumulator. All lanes of a warp call each
/// function.
template <Neighbours kNeighbours>
class HeldReluBits {
 public:
  /// Loads the bits from `first` on, as far as they lie in front of `end`.
  HOTGEMM_DEVICE void load(u64 bits, i64 ld, Element2d first, Element2d end) {
    const int lane = ptx::thread_index() % kWarpSize;
    const auto word = [&](int row, int col) {
      const bool is_there = row < end.row && col < end.col;
      return ptx::ld_global_unchanged_b32_if(word_of_bits(bits, ld, {row, col}), is_there);
    };
    if constexpr (kNeighbours == Neighbours::down) {
      const int row = first.row + 2 * lane, shift = first.col % 32;
      words_[0][0] = (word(row, first.col) >> shift & 0xffffu) | word(row + 1, first.col) >> shift << 16;
    } else {
      // A lane loads 32 bits, which may begin within a word, and then gets those of its two rows.
      const int row = first.row + lane / 2, col = first.col + lane % 2 * 32, shift = col % 32;
      const u32 loaded = funnel(word(row, col), word(row, col - shift + 32), static_cast<u32>(shift));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          const auto from = static_cast<u32>((lane / 4 + 8 * half) * 2 + side);
          words_[half][side] = ptx::shfl_sync_idx_b32(loaded, from, 31, ~0u) >> (lane % 4 * 2);
        }
      }
    }
  }

  /// The bits of pair `number` of group `group` (FusedSum::begin_pair).
  HOTGEMM_DEVICE void get(int group, int number, bool& first, bool& second) const {
    const int lane = ptx::thread_index() % kWarpSize;
    if constexpr (kNeighbours == Neighbours::down) {
      const auto from = static_cast<u32>(holding_lane(lane, group, number));
      const u32 both = ptx::shfl_sync_idx_b32(words_[0][0], from, 31, ~0u) >> (lane / 4 + number % 2 * 8);
      first = (both & 1u) != 0;
      second = (both & 0x10000u) != 0;
    } else {
      const u32 both = words_[number % 2][group / 2] >> (group % 2 * 16 + number / 2 * 8);
      first = (both & 1u) != 0;
      second = (both & 2u) != 0;
    }
  }

 private:
  // [half][side]: row g + 8 * half, 32 columns from 32 * side on; bit 0 is of the lane's first column. With `down`,
  // [0][0] alone: 16 columns of row 2 * lane in the lower half, and of row 2 * lane + 1 in the upper one.
  u32 words_[2][2] = {};
};

}  // namespace hotgemm
