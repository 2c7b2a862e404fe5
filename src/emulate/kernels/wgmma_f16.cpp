#include "emulate/kernels/wgmma_table.hpp"

#include <algorithm>
#include <iterator>

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_kernels<WgmmaConfig, DType::f16, DType::f32>() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> made =
        make_wgmma_kernels<DType::f16, DType::f32, 1, static_cast<int>(std::size(kWgmmaConfigs)) - 1>();
    std::ranges::copy(make_transposed_f16_kernels(), std::back_inserter(made));
    std::ranges::copy(make_thread_load_f16_kernels(), std::back_inserter(made));
    return made;
  }();
  return kernels;
}

}  // namespace hotgemm::emulate
