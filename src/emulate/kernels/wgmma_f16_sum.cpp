#include "emulate/kernels/wgmma_table.hpp"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_kernels<WgmmaConfig, DType::f16, DType::f16>() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> made = make_wgmma_kernels<DType::f16, DType::f16, 4, 3>();
    add_transposed_kernels<DType::f16, DType::f16, 1, 3>(made);
    return made;
  }();
  return kernels;
}

}  // namespace hotgemm::emulate
