#include "emulate/kernels/wmma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> wmma_f16_kernels() {
  static const std::vector<GemmKernel> kernels = make_wmma_kernels<DType::f16, DType::f32>();
  return kernels;
}

}  // namespace hotgemm::emulate
