#pragma once

#include "emulate/gemm_kernel.hpp"

#include <span>

namespace hotgemm::emulate {

/// Kernels of one family, compiled from templates with or without a bug. Each family has its own definition, such as
/// mutant_mma.cpp.
std::span<const GemmKernel> mutant_kernels();

}  // namespace hotgemm::emulate
