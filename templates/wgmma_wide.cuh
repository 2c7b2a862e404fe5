#pragma once

// The buffers of family `wgmma` for results of 32 bits, which stmatrix cannot move. A lane of quad q has two
// neighbouring columns of rows q and q + 8 in each eight columns. Stored in the same order by all lanes, two rows would
// meet in the same banks, because the swizzle exchanges neighbouring chunks; so lanes of odd rows store 16 columns
// ahead, or back:
//
//   step        0    1    2    3
//   even rows   0    1    2    3     the eight columns that a lane stores
//   odd rows    2    3    0    1

#include "pair_access.cuh"
#include "ptx/memory.hpp"
#include "wgmma_staging.cuh"

namespace hotgemm {

template <GemmTraits kTraits, WgmmaConfig kConfig>
class WideStaging : public WgmmaStaging<kTraits, kConfig> {
  using Base = WgmmaStaging<kTraits, kConfig>;
  using Pair = NumberPair<kTraits.element_d>;

 public:
  static constexpr int kSteps = Base::kPieceColumns / 8;
  /// A thread's part of a piece: in each step a pair of each of its two rows.
  struct Pairs {
    Pair at[kSteps][2];
  };
  using Base::Base;

  /// True if the lane has odd rows.
  HOTGEMM_DEVICE bool goes_ahead() const { return this->lane() / 4 % 2 != 0; }
  /// The eight columns that the lane stores in step `step`.
  HOTGEMM_DEVICE int group(int step) const { return step ^ (goes_ahead() ? 2 : 0); }

  /// Stores the pair of row `half` * 8 + lane / 4 to the piece's buffer.
  HOTGEMM_DEVICE void put(const WgmmaPiece& piece, int step, int half, const Pair& pair) const {
    ptx::st_shared_v2_b32(place(piece, step, half), {bits_of_number(pair.low), bits_of_number(pair.high)});
  }

  static constexpr int parts(const WgmmaPiece&) { return kSteps; }
  /// Loads the pairs of a step from the piece's buffer, where `copy` has brought a matrix.
  HOTGEMM_DEVICE void fetch(Pairs& pairs, const WgmmaPiece& piece, int step) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (group(step) * 8 >= piece.cols) continue;
      const u32 from = place(piece, step, half);
      pairs.at[step][half] = {number_of<kTraits.element_d>(ptx::ld_shared_b32(from)),
                              number_of<kTraits.element_d>(ptx::ld_shared_b32(from + 4))};
    }
  }

 private:
  HOTGEMM_DEVICE u32 place(const WgmmaPiece& piece, int step, int half) const {
    return Base::in_buffer(piece.buffer, this->lane() / 4 + half * 8, group(step) * 8 + this->lane() % 4 * 2);
  }
};

}  // namespace hotgemm
