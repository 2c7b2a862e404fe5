#include "emulate/kernels/mma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> mma_f16_sum_kernels() {
  static const std::vector<GemmKernel> kernels = make_mma_kernels<DType::f16, DType::f16>();
  return kernels;
}

}  // namespace hotgemm::emulate
