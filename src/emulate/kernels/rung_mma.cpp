#include "emulate/kernels/rung_kernels.hpp"

#include "mma.cuh"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_rungs<MmaConfig>() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> made;
    for_each_rung_kernel<MmaConfig>([&]<std::size_t kIndex>() {
      constexpr GemmTraits kTraits = kRungTraits<kIndex>;
      constexpr MmaConfig kConfig = kRungConfig<MmaConfig, kIndex>;
      static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
      made.push_back({kConfig, kTraits, mma_gemm<kTraits, kConfig>});
    });
    return made;
  }();
  return kernels;
}

}  // namespace hotgemm::emulate
