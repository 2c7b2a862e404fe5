#pragma once

#include "block_scales.cuh"
#include "ptx/math.hpp"

namespace hotgemm {

/// The sums of a warp of family `mma` over the blocks of k in front, if blocks have scales.
template <class Accumulator, int kRows, int kColumns, bool kScaled>
class MmaTotals {};
template <class Accumulator, int kRows, int kColumns>
class MmaTotals<Accumulator, kRows, kColumns, true> {
 public:
  /// Adds `sums` of block `block`, multiplied by its scales, and sets them to zero. `row(i, half)` is the row of the
  /// first two sums of an accumulator, or of the other two, and `columns(j)` the number of their block of columns.
  template <class Row, class Columns>
  HOTGEMM_DEVICE void add(Accumulator (&sums)[kRows][kColumns], const BlockScales& scales, int block, const Row& row,
                          const Columns& columns) {
    float of_columns[kColumns];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) of_columns[j] = scales.of_columns(columns(j), block);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float of_row = scales.of_row(row(i, half), block);
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          const float factor = ptx::mul_rn(of_row, of_columns[j]);
#pragma unroll
          for (int e = half * 2; e < half * 2 + 2; ++e) {
            totals_[i][j].d[e] = ptx::fma_rn(sums[i][j].d[e], factor, totals_[i][j].d[e]);
            sums[i][j].d[e] = 0;
          }
        }
      }
    }
  }
  HOTGEMM_DEVICE void take(Accumulator (&sums)[kRows][kColumns]) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) sums[i][j] = totals_[i][j];
    }
  }

 private:
  Accumulator totals_[kRows][kColumns];
};

}  // namespace hotgemm
