#include "emulate/kernels/fma_table.hpp"

namespace hotgemm::emulate {

std::span<const GemmKernel> fma_f16_sum_kernels() {
  static const std::vector<GemmKernel> kernels = make_fma_kernels<DType::f16, DType::f16>();
  return kernels;
}

}  // namespace hotgemm::emulate
