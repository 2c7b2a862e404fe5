#pragma once

#include "config/kernel_config.hpp"
#include "config/launch_shape.hpp"
#include "config/matrix_map.hpp"
#include "gpu/loaded_kernel.hpp"
#include "gpu/repack_launch.hpp"
#include "shared/gemm_args.hpp"
#include "shared/workspace_args.hpp"

#include <hotgemm/plan.hpp>
#include <hotgemm/types.hpp>

#include <optional>

namespace hotgemm {

/// A loaded GEMM kernel with the values that all its launches share. Launching is thread-safe.
struct GemmKernel {
  KernelConfig config;
  Resources resources;
  LoadedKernel kernel;
  LaunchShape shape;
  std::optional<MatrixMaps> maps;  ///< set for a kernel that copies by tensor map
  GemmTraits traits;               ///< of the operands as the kernel reads them
  bool waits_for_predecessor;      ///< Family::waits_for_predecessor
  int sm_count;                    ///< number of SMs of the GPU
};

/// Loads the kernel of `config` from `cubin` into the current context, on a GPU with `sm_count` SMs. Throws Error.
GemmKernel load_gemm_kernel(const Driver& driver, const KernelConfig& config, const GemmTraits& traits,
                            const Cubin& cubin, int sm_count);

/// Enqueues the kernel on `stream` and returns the driver's result. m and n must be at least 1, all sizes below 2^31,
/// and LaunchShape::fits must be true. `workspace` is passed only to a kernel that takes one. The caller knows whether
/// the launches of the config need one: see workspace_size. `repack` must be set for a launch that repacks operands. It
/// is not launched if the operands are not read. Persistent blocks stay within `sm_limit`, if it is below the number of
/// SMs and not 0; then the kernel does not begin before the copies are made. A kernel for batches computes `batch`
/// products, at least one; one for groups computes `groups` groups, which have at most `m` rows together.
CUresult launch_gemm(const Driver& driver, const GemmKernel& kernel, const LaunchConfig& launch, std::int64_t m,
                     std::int64_t n, std::int64_t k, const Operands& operands, CUstream stream,
                     const WorkspaceArgs& workspace = {}, const RepackKernel* repack = nullptr, int sm_limit = 0,
                     std::int64_t batch = 1, std::int64_t groups = 0) noexcept;

}  // namespace hotgemm
