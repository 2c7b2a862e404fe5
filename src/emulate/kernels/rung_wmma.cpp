#include "emulate/kernels/rung_kernels.hpp"

#include "wmma.cuh"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_rungs<WmmaConfig>() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> made;
    for_each_rung_kernel<WmmaConfig>([&]<std::size_t kIndex>() {
      constexpr GemmTraits kTraits = kRungTraits<kIndex>;
      constexpr WmmaConfig kConfig = kRungConfig<WmmaConfig, kIndex>;
      static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
      made.push_back({kConfig, kTraits, wmma_gemm<kTraits, kConfig>});
    });
    return made;
  }();
  return kernels;
}

}  // namespace hotgemm::emulate
