#pragma once

// The scales of the blocks of A and B, as f32 in device memory. A kernel multiplies the sum over a block of k by the
// scales of that block, and adds the result to the sum over the earlier blocks. Operands has the layout of scales.

#include "ptx/element.hpp"
#include "ptx/memory.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"  // min_of

namespace hotgemm {

/// The scales of a product's blocks. Rows, columns and blocks beyond the edges have the scales of the last ones: what
/// is computed with them is zero, or not stored.
class BlockScales {
 public:
  /// `args` is the parameter of a kernel for one product, or one like it.
  template <class Args>
  HOTGEMM_DEVICE BlockScales(const Args& args, const GemmArgs& gemm)
      : BlockScales(static_cast<const Fused<Args>&>(args).epilogue, static_cast<const WithExtras<Args>&>(args).extras,
                    gemm) {}
  /// `gemm` are the sizes of the product.
  HOTGEMM_DEVICE BlockScales(const EpilogueArgs& epilogue, const ExtraArgs& extras, const GemmArgs& gemm)
      : a_(epilogue.scale_a),
        b_(epilogue.scale_b),
        ld_a_(extras.ld_scale_a),
        ld_b_(extras.ld_scale_b),
        last_row_(gemm.m - 1),
        last_columns_((gemm.n - 1) / kScaleBlock),
        last_block_((gemm.k - 1) / kScaleBlock) {}

  /// That of a row of A in block `block` of k.
  HOTGEMM_DEVICE float of_row(int row, int block) const {
    return at(a_, min_of(block, last_block_) * ld_a_ + min_of(row, last_row_));
  }
  /// That of the block of B with number `columns` in block `block` of k.
  HOTGEMM_DEVICE float of_columns(int columns, int block) const {
    return at(b_, min_of(columns, last_columns_) * ld_b_ + min_of(block, last_block_));
  }

  // A loop over blocks of k begins at these addresses and adds these bytes for each block of k, or block of columns.
  // It must leave out rows, columns and blocks beyond the edges.
  HOTGEMM_DEVICE u64 address_of_row(int row, int block) const { return address(a_, block * ld_a_ + row); }
  HOTGEMM_DEVICE u64 address_of_columns(int columns, int block) const { return address(b_, columns * ld_b_ + block); }
  HOTGEMM_DEVICE i64 row_block_bytes() const { return ld_a_ * static_cast<i64>(sizeof(float)); }
  HOTGEMM_DEVICE i64 column_bytes() const { return ld_b_ * static_cast<i64>(sizeof(float)); }
  HOTGEMM_DEVICE int last_row() const { return last_row_; }
  HOTGEMM_DEVICE int last_columns() const { return last_columns_; }
  HOTGEMM_DEVICE int last_block() const { return last_block_; }

 private:
  static HOTGEMM_DEVICE u64 address(u64 numbers, i64 index) {
    return numbers + static_cast<u64>(index) * sizeof(float);
  }
  static HOTGEMM_DEVICE float at(u64 numbers, i64 index) {
    return ptx::float_of(ptx::ld_global_b32(address(numbers, index)));
  }

  u64 a_, b_;
  i64 ld_a_, ld_b_;
  int last_row_, last_columns_, last_block_;
};

}  // namespace hotgemm
