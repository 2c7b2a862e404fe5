#pragma once

#include "config/kernel_config.hpp"
#include "shared/gemm_args.hpp"
#include "shared/workspace_args.hpp"

#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace hotgemm::emulate {

/// A GEMM kernel of templates/, compiled for the emulated device.
struct GemmKernel {
  KernelConfig config;
  GemmTraits traits;
  /// The function that each thread runs.
  std::variant<void (*)(const GemmArgs&), void (*)(const WgmmaArgs&), void (*)(const WgmmaArgs&, const WorkspaceArgs&)>
      run;
};

/// True if a kernel with the traits `kernel` computes problems with the traits `problem`. Operands may be better
/// aligned than the kernel needs, and the kernel may read a C that the problem does not use.
bool computes(const GemmTraits& kernel, const GemmTraits& problem);

/// The kernels that are built into the library, of all families. There are few configs, chosen so that each branch of a
/// template occurs in one of them.
const std::vector<GemmKernel>& gemm_kernels();

/// Kernels with epilogues: each part alone, and chains of many parts in each way in which a family stores D. Of wgmma,
/// and of the other families.
const std::vector<GemmKernel>& fused_kernels();
const std::vector<GemmKernel>& fused_wgmma_kernels();

/// Kernels with a function, a clamp or amax, of every family that has epilogues: in each way in which they store D, and
/// for batches.
const std::vector<GemmKernel>& function_kernels();

/// Kernels with gates: of both arrangements of columns, in each way in which a family loads them and stores D.
const std::vector<GemmKernel>& gated_kernels();

/// Kernels with ReLU's bits, written and read, and with the gradient of a bias: in each way in which a family stores D.
const std::vector<GemmKernel>& backward_kernels();

/// Kernels for batches: one of each way in which a family finds the operands of a product.
const std::vector<GemmKernel>& batched_kernels();

/// Kernels for batches by pointers, likewise.
const std::vector<GemmKernel>& pointer_kernels();

/// Kernels for groups of rows, for masked groups, and for groups along k, likewise.
const std::vector<GemmKernel>& grouped_kernels();
const std::vector<GemmKernel>& masked_kernels();
const std::vector<GemmKernel>& k_grouped_kernels();

/// Kernels with scales of blocks, for one product and for groups.
const std::vector<GemmKernel>& block_scaled_kernels();

/// The kernels of the ladder: each config once, with the widest accesses, and with sums in the element type.
const std::vector<GemmKernel>& rung_kernels();

/// Finds the kernel with the widest accesses that computes problems with `traits`; nullptr if there is none. The kernel
/// is of a family ("mma", without the kernels of the ladder) or has one given config.
const GemmKernel* find_gemm_kernel(std::string_view family, const GemmTraits& traits);
const GemmKernel* find_gemm_kernel(const KernelConfig& config, const GemmTraits& traits);

/// The emulated kernels of a family with types that its registration states. Each of these has a specialisation in a
/// file of src/emulate/kernels/; a missing one is an undefined reference when the library is linked.
template <class Config, DType kElement, DType kAccumulator, DType kElementB = kElement, DType kElementD = kElement>
std::span<const GemmKernel> emulated_kernels();

/// The emulated kernels of the ladder's rungs, for each family that has rungs. Also specialised in
/// src/emulate/kernels/.
template <class Config>
std::span<const GemmKernel> emulated_rungs();

}  // namespace hotgemm::emulate
