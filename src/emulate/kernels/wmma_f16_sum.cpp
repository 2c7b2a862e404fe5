#include "emulate/kernels/wmma_table.hpp"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_kernels<WmmaConfig, DType::f16, DType::f16>() {
  static const std::vector<GemmKernel> kernels = make_wmma_kernels<DType::f16, DType::f16>();
  return kernels;
}

}  // namespace hotgemm::emulate
