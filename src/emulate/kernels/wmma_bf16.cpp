#include "emulate/kernels/wmma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> wmma_bf16_kernels() {
  static const std::vector<GemmKernel> kernels = make_wmma_kernels<DType::bf16, DType::f32>();
  return kernels;
}

}  // namespace hotgemm::emulate
