#include "emulate/kernels/wgmma_table.hpp"

namespace hotgemm::emulate {

template <>
std::span<const GemmKernel> emulated_kernels<WgmmaConfig, DType::bf16, DType::f32>() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> made = make_wgmma_kernels<DType::bf16, DType::f32, 2, 3>();
    add_transposed_kernels<DType::bf16, DType::f32, 0, 3>(made);
    add_thread_load_kernels<DType::bf16, DType::f32, 0, 1>(made);
    return made;
  }();
  return kernels;
}

}  // namespace hotgemm::emulate
