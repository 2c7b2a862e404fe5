#pragma once

#include "emulate/gemm_kernel.hpp"

#include <span>

namespace hotgemm::emulate {

/// Kernels of one family, from templates with or without a bug: mutant_mma.cpp and its like.
std::span<const GemmKernel> mutant_kernels();

}  // namespace hotgemm::emulate
