#include "gpu/foreign_kernel.hpp"

namespace hotgemm {
namespace {

constexpr std::size_t kBytes = std::size_t{2}
                               << 20;  // 16 for each thread of 512 blocks: all SMs have some, L2 holds it

}  // namespace

ForeignKernel::ForeignKernel(const Driver& driver, const CheckKernels& kernels, CUstream stream)
    : kernels_(kernels), buffer_(driver, kBytes) {
  driver.check(driver.cuMemsetD8Async(buffer_.get(), 0, kBytes, stream), "clear the memory of a foreign kernel");
}

Launch ForeignKernel::launch() const {
  return [this](CUstream on, int) { kernels_.pointwise(buffer_.get(), kBytes, on); };
}

}  // namespace hotgemm
