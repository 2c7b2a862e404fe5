#pragma once

#include "config/kernel_config.hpp"
#include "shared/gemm_args.hpp"

#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace hotgemm::emulate {

/// A GEMM kernel of templates/, compiled for the emulated device.
struct GemmKernel {
  KernelConfig config;
  GemmTraits traits;
  std::variant<void (*)(const GemmArgs&), void (*)(const WgmmaArgs&)> run;  ///< the function that each thread runs
};

/// True if a kernel with the traits `kernel` computes problems with the traits `problem`. Operands may be better
/// aligned than the kernel needs, and the kernel may read a C that the problem does not use.
bool computes(const GemmTraits& kernel, const GemmTraits& problem);

/// The kernels that are built into the library, of all families. There are few configs, chosen so that each branch of a
/// template occurs in one of them.
const std::vector<GemmKernel>& gemm_kernels();

/// The kernels of the ladder: each config once, with the widest accesses, and with sums in the element type.
const std::vector<GemmKernel>& rung_kernels();

/// Finds the kernel with the widest accesses that computes problems with `traits`; nullptr if there is none. The kernel
/// is of a family ("mma", without the kernels of the ladder) or has one given config.
const GemmKernel* find_gemm_kernel(std::string_view family, const GemmTraits& traits);
const GemmKernel* find_gemm_kernel(const KernelConfig& config, const GemmTraits& traits);

// The tables of kernels, each in its own file in kernels/.
std::span<const GemmKernel> simt_kernels();
std::span<const GemmKernel> fma_f16_kernels();
std::span<const GemmKernel> fma_bf16_kernels();
std::span<const GemmKernel> fma_f32_kernels();
std::span<const GemmKernel> fma_f16_sum_kernels();
std::span<const GemmKernel> mma_f16_kernels();
std::span<const GemmKernel> mma_bf16_kernels();
std::span<const GemmKernel> mma_f16_sum_kernels();
std::span<const GemmKernel> wgmma_f16_kernels();
std::span<const GemmKernel> wgmma_bf16_kernels();
std::span<const GemmKernel> wgmma_f16_sum_kernels();
std::span<const GemmKernel> wmma_f16_kernels();
std::span<const GemmKernel> wmma_bf16_kernels();
std::span<const GemmKernel> wmma_f16_sum_kernels();
std::span<const GemmKernel> fma_rung_kernels();
std::span<const GemmKernel> wmma_rung_kernels();
std::span<const GemmKernel> mma_rung_kernels();

}  // namespace hotgemm::emulate
