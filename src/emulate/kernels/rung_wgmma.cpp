#include "emulate/emulated_wgmma.hpp"
#include "emulate/kernels/rung_kernels.hpp"

#include "wgmma.cuh"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_rungs<WgmmaConfig>() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> made;
    for_each_rung_kernel<WgmmaConfig>([&]<std::size_t kIndex>() {
      constexpr GemmTraits kTraits = kRungTraits<kIndex>;
      constexpr WgmmaConfig kConfig = kRungConfig<WgmmaConfig, kIndex>;
      static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
      using Instruction = EmulatedWgmma<kConfig.consumer_n(), kTraits.element, kTraits.accumulator,
                                        kTraits.a_is_k_major(), kTraits.b_is_k_major()>;
      made.push_back({kConfig, kTraits, wgmma_gemm<kTraits, kConfig, Instruction>});
    });
    return made;
  }();
  return kernels;
}

}  // namespace hotgemm::emulate
