#include "emulate/kernels/fma_table.hpp"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_kernels<FmaConfig, DType::tf32, DType::f32, DType::tf32, DType::f32>() {
  static const std::vector<GemmKernel> kernels = make_fma_kernels<DType::tf32, DType::f32, DType::f32>();
  return kernels;
}

}  // namespace hotgemm::emulate
