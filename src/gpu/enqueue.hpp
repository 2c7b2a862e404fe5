#pragma once

#include "gpu/driver.hpp"

namespace hotgemm {

/// A launch of a kernel with a grid and blocks of one dimension.
struct KernelLaunch {
  unsigned blocks;
  unsigned threads;
  unsigned smem_bytes;
  bool programmatic;  ///< may begin before the preceding work in the stream has ended
};

/// Enqueues `function` on `stream` and returns the driver's result.
CUresult enqueue(const Driver& driver, CUfunction function, const KernelLaunch& launch, void** parameters,
                 CUstream stream) noexcept;

}  // namespace hotgemm
