#include "emulate/kernels/fma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> fma_bf16_kernels() {
  static const std::vector<GemmKernel> kernels = make_fma_kernels<DType::bf16, DType::f32>();
  return kernels;
}

}  // namespace hotgemm::emulate
