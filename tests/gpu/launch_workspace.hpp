#pragma once

#include "config/workspace.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/gemm_launch.hpp"

#include <cstdint>

namespace hotgemm {

/// The workspace of launches of `kernel` with `splits`; none if its blocks do not divide k.
class LaunchWorkspace {
 public:
  LaunchWorkspace(const Driver& driver, const GemmKernel& kernel, std::int64_t m, std::int64_t n, int splits,
                  CUstream stream) {
    const LaunchShape& shape = kernel.shape;
    if (!shape.splits_k) return;
    const WorkspaceSize size = split_workspace(shape, m, n, splits);
    memory_ = DeviceBuffer(driver, size.total_bytes());
    driver.check(driver.cuMemsetD32Async(memory_.get(), 0, size.counters, stream), "clear counters");
    args_ = {.scratch = memory_.get() + size.counter_bytes(), .counters = memory_.get()};
  }
  const WorkspaceArgs& args() const { return args_; }

 private:
  DeviceBuffer memory_;
  WorkspaceArgs args_;
};

}  // namespace hotgemm
