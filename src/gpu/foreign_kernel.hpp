#pragma once

#include "gpu/check_kernels.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/stopwatch.hpp"

namespace hotgemm {

/// A kernel that stands for the one that precedes a GEMM in a program. It takes about 1.5 µs on all SMs, reads and
/// writes memory of its own, and lets no programmatic launch begin before its end.
class ForeignKernel {
 public:
  /// Enqueues the clearing of its memory on `stream`, on which it is to be launched. `kernels` must outlive this
  /// object. Throws Error.
  ForeignKernel(const Driver& driver, const CheckKernels& kernels, CUstream stream);

  /// The launch for RaceOptions::ahead. It is valid as long as this object.
  Launch launch() const;

 private:
  const CheckKernels& kernels_;
  DeviceBuffer buffer_;
};

}  // namespace hotgemm
