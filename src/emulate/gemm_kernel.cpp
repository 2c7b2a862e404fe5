#include "emulate/gemm_kernel.hpp"

#include "ladder/rung_table.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

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

void append(std::vector<GemmKernel>& kernels, std::span<const GemmKernel> table) {
  kernels.insert(kernels.end(), table.begin(), table.end());
}

/// Appends the kernels of a family, for all types that the family's registration states.
template <class Config>
void append_family(std::vector<GemmKernel>& kernels) {
  constexpr auto kTypes = FamilyOf<Config>::kFamily.types;
  [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    (append(kernels, emulated_kernels<Config, kTypes[kIndices].element, kTypes[kIndices].accumulator,
                                      kTypes[kIndices].element_b, kTypes[kIndices].element_d>()),
     ...);
  }
  (std::make_index_sequence<kTypes.size()>());
}

template <class Config>
constexpr bool has_rungs() {
  return std::ranges::any_of(
      kRungs, [](const auto& rung) { return rung.config && std::holds_alternative<Config>(*rung.config); });
}

}  // namespace

bool computes(const GemmTraits& kernel, const GemmTraits& problem) {
  return kernel.element == problem.element && kernel.accumulator == problem.accumulator &&
         kernel.element_b == problem.element_b && kernel.element_d == problem.element_d &&
         kernel.op_a == problem.op_a && kernel.op_b == problem.op_b && kernel.reads_c >= problem.reads_c &&
         kernel.fast_sums <= problem.fast_sums && kernel.epilogue == problem.epilogue &&
         kernel.batched == problem.batched && kernel.grouped == problem.grouped && kernel.masked == problem.masked &&
         kernel.along_k == problem.along_k && kernel.pointers == problem.pointers && kernel.vec_a <= problem.vec_a &&
         kernel.vec_b <= problem.vec_b && kernel.vec_d <= problem.vec_d;
}

const std::vector<GemmKernel>& gemm_kernels() {
  static const std::vector<GemmKernel> all = [] {
    std::vector<GemmKernel> kernels;
    for_each_family([&]<class Config>(std::type_identity<Config>) { append_family<Config>(kernels); });
    return kernels;
  }();
  return all;
}

const std::vector<GemmKernel>& rung_kernels() {
  static const std::vector<GemmKernel> all = [] {
    std::vector<GemmKernel> kernels;
    for_each_family([&]<class Config>(std::type_identity<Config>) {
      if constexpr (has_rungs<Config>()) append(kernels, emulated_rungs<Config>());
    });
    return kernels;
  }();
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
