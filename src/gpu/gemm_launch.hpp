#pragma once

#include "gemm_args.hpp"
#include "gpu/loaded_kernel.hpp"
#include "plan/kernel_config.hpp"

#include <hotgemm/types.hpp>

namespace hotgemm {

/// A GEMM kernel with all that its launches have in common. Launching is thread-safe.
struct GemmKernel {
  LoadedKernel kernel;
  int block_m;
  int block_n;
  int threads;
};

/// How many blocks a launch has; m and n at least 1.
constexpr std::int64_t tile_count(std::int64_t m, std::int64_t n, int block_m, int block_n) {
  return ((m - 1) / block_m + 1) * ((n - 1) / block_n + 1);
}

/// Enqueues the kernel on `stream`; returns what the driver says. m and n at least 1, all sizes below 2^31, and no more
/// than 2^31 - 1 tiles.
CUresult launch_gemm(const Driver& driver, const GemmKernel& kernel, const LaunchConfig& launch, std::int64_t m,
                     std::int64_t n, std::int64_t k, const Operands& operands, CUstream stream) noexcept;

}  // namespace hotgemm
