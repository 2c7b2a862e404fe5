#include "emulate/gemm_kernel.hpp"

#include <initializer_list>

namespace hotgemm::emulate {
namespace {

/// A measure of the capabilities of the operands that a kernel does not use.
int distance(const GemmTraits& kernel, const GemmTraits& problem) {
  const int unused_widths = problem.vec_a - kernel.vec_a + problem.vec_b - kernel.vec_b + problem.vec_d - kernel.vec_d;
  return 2 * unused_widths + (kernel.reads_c != problem.reads_c ? 1 : 0);
}

template <class IsWanted>
const GemmKernel* nearest(std::span<const GemmKernel> kernels, const GemmTraits& traits, const IsWanted& is_wanted) {
  const GemmKernel* best = nullptr;
  for (const GemmKernel& kernel : kernels) {
    if (!is_wanted(kernel) || !computes(kernel.traits, traits)) continue;
    if (best == nullptr || distance(kernel.traits, traits) < distance(best->traits, traits)) best = &kernel;
  }
  return best;
}

std::vector<GemmKernel> joined(std::initializer_list<std::span<const GemmKernel>> tables) {
  std::vector<GemmKernel> kernels;
  for (const auto& table : tables) kernels.insert(kernels.end(), table.begin(), table.end());
  return kernels;
}

}  // namespace

bool computes(const GemmTraits& kernel, const GemmTraits& problem) {
  return kernel.element == problem.element && kernel.accumulator == problem.accumulator &&
         kernel.op_a == problem.op_a && kernel.op_b == problem.op_b && kernel.reads_c >= problem.reads_c &&
         kernel.vec_a <= problem.vec_a && kernel.vec_b <= problem.vec_b && kernel.vec_d <= problem.vec_d;
}

const std::vector<GemmKernel>& gemm_kernels() {
  static const std::vector<GemmKernel> all =
      joined({simt_kernels(), fma_f16_kernels(), fma_bf16_kernels(), fma_f32_kernels(), fma_f16_sum_kernels(),
              mma_f16_kernels(), mma_bf16_kernels(), mma_f16_sum_kernels(), wgmma_f16_kernels(), wgmma_bf16_kernels(),
              wgmma_f16_sum_kernels(), wmma_f16_kernels(), wmma_bf16_kernels(), wmma_f16_sum_kernels()});
  return all;
}

const std::vector<GemmKernel>& rung_kernels() {
  static const std::vector<GemmKernel> all = joined({fma_rung_kernels(), wmma_rung_kernels(), mma_rung_kernels()});
  return all;
}

const GemmKernel* find_gemm_kernel(std::string_view family, const GemmTraits& traits) {
  return nearest(gemm_kernels(), traits,
                 [&](const GemmKernel& kernel) { return family_of(kernel.config).name == family; });
}

const GemmKernel* find_gemm_kernel(const KernelConfig& config, const GemmTraits& traits) {
  const auto is_it = [&](const GemmKernel& kernel) { return kernel.config == config; };
  const GemmKernel* const found = nearest(gemm_kernels(), traits, is_it);
  return found != nullptr ? found : nearest(rung_kernels(), traits, is_it);
}

}  // namespace hotgemm::emulate
