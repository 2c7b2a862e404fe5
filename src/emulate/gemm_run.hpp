#pragma once

#include "emulate/device.hpp"
#include "emulate/gemm_case.hpp"
#include "emulate/gemm_kernel.hpp"

#include <cstdint>

namespace hotgemm::emulate {

/// The result of a GEMM on the emulated device.
struct GemmRun {
  HostMatrix d;
  HostMatrix auxiliary;      ///< of an epilogue that has one
  HostMatrix bias_gradient;  ///< likewise
  float amax = 0;            ///< likewise
  LaunchReport report;
};

/// Runs `kernel` on the matrices of `c`, as on a GPU. `seed` is for every random choice of the device. Throws
/// Error{not_supported} if the kernel does not compute such a problem, or if the CPU lacks an instruction that the
/// kernel was compiled for.
GemmRun run_gemm(const GemmKernel& kernel, const GemmCase& c, const GemmMatrices& matrices, std::uint64_t seed);

}  // namespace hotgemm::emulate
