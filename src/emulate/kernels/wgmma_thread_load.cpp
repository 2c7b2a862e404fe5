#include "emulate/kernels/wgmma_table.hpp"

namespace hotgemm::emulate {

std::vector<GemmKernel> make_thread_load_f16_kernels() {
  std::vector<GemmKernel> kernels;
  add_thread_load_kernels<DType::f16, DType::f32, 0, static_cast<int>(std::size(kThreadLoads))>(kernels);
  return kernels;
}

}  // namespace hotgemm::emulate
