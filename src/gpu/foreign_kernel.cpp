#include "gpu/foreign_kernel.hpp"

namespace hotgemm {
namespace {

/// 16 bytes for each thread of 512 blocks. All SMs have some of the blocks, and L2 holds the bytes.
constexpr std::size_t kBytes = std::size_t{2} << 20;

}  // namespace

ForeignKernel::ForeignKernel(const Driver& driver, const CheckKernels& kernels, CUstream stream)
    : kernels_(kernels), buffer_(driver, kBytes) {
  driver.check(driver.cuMemsetD8Async(buffer_.get(), 0, kBytes, stream), "clear the memory of a foreign kernel");
}

Launch ForeignKernel::launch() const {
  return [this](CUstream on, int) { kernels_.pointwise(buffer_.get(), kBytes, on); };
}

}  // namespace hotgemm
