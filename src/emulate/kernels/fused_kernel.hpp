#pragma once

#include "emulate/kernels/kernel_of.hpp"

namespace hotgemm::emulate {

/// A kernel for one product with an epilogue. FP8 has fast sums. Accesses to A and B have kVec elements, those to D
/// kVecD.
template <KernelTypes kTypes, Epilogue kEpilogue, bool kReadsC, Op kOpB, int kVec, int kVecD, auto kConfig>
GemmKernel fused_kernel() {
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
                               .op_b = kOpB,
                               .reads_c = kReadsC,
                               .vec_a = kVec,
                               .vec_b = kVec,
                               .vec_d = kVecD,
                               .fast_sums = is_fp8(kTypes.element),
                               .epilogue = kEpilogue};
  return kernel_of<kTraits, kConfig>();
}

}  // namespace hotgemm::emulate
