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
      made.push_back({kConfig, kTraits, wgmma_gemm<kTraits, kConfig, EmulatedWgmmaOf<kTraits, kConfig>>});
    });
    return made;
  }();
  return kernels;
}

}  // namespace hotgemm::emulate
