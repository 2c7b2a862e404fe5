#pragma once

#include "emulate/kernels/kernel_of.hpp"

namespace hotgemm::emulate {

/// The widths of accesses to A and B, and to D.
struct Widths {
  int ab, d;
};

/// A kernel for several products: of a batch, or of groups.
template <bool kGrouped, KernelTypes kTypes, auto kConfig, Widths kWidths, bool kReadsC, Op kOpB = Op::t,
          Epilogue kEpilogue = Epilogue{}>
GemmKernel product_kernel() {
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
                               .op_b = kOpB,
                               .reads_c = kReadsC,
                               .vec_a = kWidths.ab,
                               .vec_b = kWidths.ab,
                               .vec_d = kWidths.d,
                               .epilogue = kEpilogue,
                               .batched = true,
                               .grouped = kGrouped};
  return kernel_of<kTraits, kConfig>();
}

}  // namespace hotgemm::emulate
