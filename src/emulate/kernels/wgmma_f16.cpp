#include "emulate/kernels/wgmma_table.hpp"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_kernels<WgmmaConfig, DType::f16, DType::f32>() {
  static const std::vector<GemmKernel> kernels = make_wgmma_kernels<DType::f16, DType::f32, 1, 12>();
  return kernels;
}

}  // namespace hotgemm::emulate
