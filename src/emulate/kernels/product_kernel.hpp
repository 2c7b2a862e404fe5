#pragma once

#include "emulate/gemm_kernel.hpp"

#include "config/families.hpp"
#include "emulate/emulated_wgmma.hpp"
#include "fma.cuh"
#include "mma.cuh"
#include "simt.cuh"
#include "wgmma.cuh"
#include "wmma.cuh"

#include <type_traits>

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
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
  using Config = std::remove_const_t<decltype(kConfig)>;
  if constexpr (std::is_same_v<Config, SimtConfig>) {
    return {kConfig, kTraits, simt_gemm<kTraits, kConfig>};
  } else if constexpr (std::is_same_v<Config, FmaConfig>) {
    return {kConfig, kTraits, fma_gemm<kTraits, kConfig>};
  } else if constexpr (std::is_same_v<Config, MmaConfig>) {
    return {kConfig, kTraits, mma_gemm<kTraits, kConfig>};
  } else if constexpr (std::is_same_v<Config, WmmaConfig>) {
    return {kConfig, kTraits, wmma_gemm<kTraits, kConfig>};
  } else if constexpr (kConfig.split_k) {
    return {kConfig, kTraits, wgmma_split_gemm<kTraits, kConfig, EmulatedWgmmaOf<kTraits, kConfig>>};
  } else {
    return {kConfig, kTraits, wgmma_gemm<kTraits, kConfig, EmulatedWgmmaOf<kTraits, kConfig>>};
  }
}

}  // namespace hotgemm::emulate
