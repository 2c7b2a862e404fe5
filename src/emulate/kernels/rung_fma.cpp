#include "emulate/kernels/rung_kernels.hpp"

#include "fma.cuh"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_rungs<FmaConfig>() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> made;
    for_each_rung_kernel<FmaConfig>([&]<std::size_t kIndex>() {
      constexpr GemmTraits kTraits = kRungTraits<kIndex>;
      constexpr FmaConfig kConfig = kRungConfig<FmaConfig, kIndex>;
      static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
      made.push_back({kConfig, kTraits, fma_gemm<kTraits, kConfig>});
    });
    return made;
  }();
  return kernels;
}

}  // namespace hotgemm::emulate
