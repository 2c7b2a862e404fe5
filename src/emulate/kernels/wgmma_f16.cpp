#include "emulate/kernels/wgmma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> wgmma_f16_kernels() {
  static const std::vector<GemmKernel> kernels = make_wgmma_kernels<DType::f16, DType::f32, 1, 10>();
  return kernels;
}

}  // namespace hotgemm::emulate
