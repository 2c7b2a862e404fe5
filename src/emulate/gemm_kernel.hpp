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
  std::variant<void (*)(const GemmArgs&), void (*)(const WgmmaArgs&)> run;  ///< what each thread runs
};

/// Whether a kernel for `kernel` computes problems with `problem`. Operands may be better aligned than it needs, and it
/// may read a C that the problem does without.
bool computes(const GemmTraits& kernel, const GemmTraits& problem);

/// Those that are built into the library, of all families. The configs are few, chosen so that each branch of a
/// template is in one of them.
const std::vector<GemmKernel>& gemm_kernels();

/// Those of the ladder: each of its configs once, with the widest accesses and sums in the elements' type.
const std::vector<GemmKernel>& rung_kernels();

/// The kernel that computes problems with `traits`, of a family ("mma", without those of the ladder) or of one config;
/// nullptr if there is none. Of several the one with the widest accesses.
const GemmKernel* find_gemm_kernel(std::string_view family, const GemmTraits& traits);
const GemmKernel* find_gemm_kernel(const KernelConfig& config, const GemmTraits& traits);

/// The emulated kernels of a family with one of the pairs of types that its registration states. A specialisation for
/// each pair stands in a file of src/emulate/kernels/; one that is missing is an undefined reference.
template <class Config, DType kElement, DType kAccumulator>
std::span<const GemmKernel> emulated_kernels();

/// Those of the ladder's rungs, likewise; of each family that has rungs.
template <class Config>
std::span<const GemmKernel> emulated_rungs();

}  // namespace hotgemm::emulate
