#include "emulate/kernels/mma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> mma_f16_kernels() {
  static const std::vector<GemmKernel> kernels = make_mma_kernels<DType::f16, DType::f32>();
  return kernels;
}

}  // namespace hotgemm::emulate
