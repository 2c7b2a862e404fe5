#pragma once

#include "config/repack.hpp"
#include "gpu/loaded_kernel.hpp"
#include "shared/repack_args.hpp"

namespace hotgemm {

/// The loaded kernel that repacks operands.
struct RepackKernel {
  LoadedKernel kernel;
  int sm_count;  ///< number of SMs of the GPU
};

/// The part of the kernel's arguments for the copy at `to` of the matrices that are stored from `from` on, with rows
/// `ld` and matrices `stride` elements apart.
RepackMatrix repack_matrix(const OperandCopy& copy, const void* from, long long ld, unsigned long long to,
                           long long stride = 0) noexcept;

/// Enqueues the kernel on `stream` and returns the driver's result. An `sm_limit` below the number of SMs, if it is not
/// 0, limits the number of blocks.
CUresult launch_repack(const Driver& driver, const RepackKernel& repack, RepackArgs args, bool programmatic,
                       CUstream stream, int sm_limit = 0) noexcept;

}  // namespace hotgemm
