#include "emulate/gemm_kernel.hpp"

#include "simt.cuh"

#include <iterator>

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr SimtConfig kConfigs[] = {
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 4, .thread_n = 4},
    {.block_m = 16,  .block_n = 16,  .block_k = 32, .thread_m = 1, .thread_n = 1},
    {.block_m = 24,  .block_n = 48,  .block_k = 7,  .thread_m = 3, .thread_n = 3},
    {.block_m = 128, .block_n = 128, .block_k = 8,  .thread_m = 8, .thread_n = 8},
};
// clang-format on

template <DType kElement, Op kOpA, Op kOpB, bool kReadsC, SimtConfig kConfig>
GemmKernel simt_kernel() {
  constexpr GemmTraits kTraits{.element = kElement,
                               .accumulator = DType::f32,
                               .op_a = kOpA,
                               .op_b = kOpB,
                               .reads_c = kReadsC,
                               .vec_a = 1,  // the family accesses single elements, whatever the alignment is
                               .vec_b = 1,
                               .vec_d = 1};
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(75)));
  return {kConfig, kTraits, simt_gemm<kTraits, kConfig>};
}

/// The first config with C and without C; every other config with or without C, alternately.
template <DType kElement, Op kOpA, Op kOpB>
void append(std::vector<GemmKernel>& kernels) {
  constexpr bool kOdd = (kOpA == Op::t) != (kOpB == Op::t);
  kernels.push_back(simt_kernel<kElement, kOpA, kOpB, false, kConfigs[0]>());
  kernels.push_back(simt_kernel<kElement, kOpA, kOpB, true, kConfigs[0]>());
  kernels.push_back(simt_kernel<kElement, kOpA, kOpB, kOdd, kConfigs[1]>());
  kernels.push_back(simt_kernel<kElement, kOpA, kOpB, !kOdd, kConfigs[2]>());
  kernels.push_back(simt_kernel<kElement, kOpA, kOpB, kOdd, kConfigs[3]>());
}

template <DType kElement>
std::span<const GemmKernel> kernels_of() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> all;
    append<kElement, Op::n, Op::n>(all);
    append<kElement, Op::n, Op::t>(all);
    append<kElement, Op::t, Op::n>(all);
    append<kElement, Op::t, Op::t>(all);
    return all;
  }();
  return kernels;
}

}  // namespace

template <>
std::span<const GemmKernel> emulated_kernels<SimtConfig, DType::f16, DType::f32>() {
  return kernels_of<DType::f16>();
}
template <>
std::span<const GemmKernel> emulated_kernels<SimtConfig, DType::bf16, DType::f32>() {
  return kernels_of<DType::bf16>();
}
template <>
std::span<const GemmKernel> emulated_kernels<SimtConfig, DType::f32, DType::f32>() {
  return kernels_of<DType::f32>();
}

}  // namespace hotgemm::emulate
