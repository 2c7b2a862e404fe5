#include "emulate/kernels/mma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> mma_bf16_kernels() {
  static const std::vector<GemmKernel> kernels = make_mma_kernels<DType::bf16, DType::f32>();
  return kernels;
}

}  // namespace hotgemm::emulate
