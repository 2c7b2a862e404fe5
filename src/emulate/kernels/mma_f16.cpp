#include "emulate/kernels/mma_table.hpp"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_kernels<MmaConfig, DType::f16, DType::f32>() {
  static const std::vector<GemmKernel> kernels = make_mma_kernels<DType::f16, DType::f32>();
  return kernels;
}

}  // namespace hotgemm::emulate
