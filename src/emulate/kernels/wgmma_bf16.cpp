#include "emulate/kernels/wgmma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> wgmma_bf16_kernels() {
  static const std::vector<GemmKernel> kernels = make_wgmma_kernels<DType::bf16, DType::f32, 2, 3>();
  return kernels;
}

}  // namespace hotgemm::emulate
