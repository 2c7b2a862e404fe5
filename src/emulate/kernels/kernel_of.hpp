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

/// The kernel of its family for a config and its traits, which are legal on Hopper.
template <GemmTraits kTraits, auto kConfig>
GemmKernel kernel_of() {
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
