#include "emulate/gemm_kernel.hpp"

#include "config/families.hpp"
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

template <KernelTypes kTypes, Op kOpA, Op kOpB, bool kReadsC, SimtConfig kConfig>
GemmKernel simt_kernel() {
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
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
template <KernelTypes kTypes, Op kOpA, Op kOpB>
void append(std::vector<GemmKernel>& kernels) {
  constexpr bool kOdd = (kOpA == Op::t) != (kOpB == Op::t);
  kernels.push_back(simt_kernel<kTypes, kOpA, kOpB, false, kConfigs[0]>());
  kernels.push_back(simt_kernel<kTypes, kOpA, kOpB, true, kConfigs[0]>());
  kernels.push_back(simt_kernel<kTypes, kOpA, kOpB, kOdd, kConfigs[1]>());
  kernels.push_back(simt_kernel<kTypes, kOpA, kOpB, !kOdd, kConfigs[2]>());
  kernels.push_back(simt_kernel<kTypes, kOpA, kOpB, kOdd, kConfigs[3]>());
}
/// One config, because only loads, products and stores depend on the types; in one layout also without C.
template <KernelTypes kTypes, Op kOpA, Op kOpB>
void append_one(std::vector<GemmKernel>& kernels) {
  kernels.push_back(simt_kernel<kTypes, kOpA, kOpB, true, kConfigs[2]>());
  if constexpr (kOpA == Op::n && kOpB == Op::t)
    kernels.push_back(simt_kernel<kTypes, kOpA, kOpB, false, kConfigs[2]>());
}

template <KernelTypes kTypes>
std::span<const GemmKernel> kernels_of() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> all;
    const auto append_layout = [&]<Op kOpA, Op kOpB>() {
      if constexpr (kTypes.is_mixed()) {
        append_one<kTypes, kOpA, kOpB>(all);
      } else {
        append<kTypes, kOpA, kOpB>(all);
      }
    };
    append_layout.template operator()<Op::n, Op::n>();
    append_layout.template operator()<Op::n, Op::t>();
    append_layout.template operator()<Op::t, Op::n>();
    append_layout.template operator()<Op::t, Op::t>();
    return all;
  }();
  return kernels;
}

}  // namespace

#define HOTGEMM_EMULATED(a, sum, b, d)                                                                   \
  template <>                                                                                            \
  std::span<const GemmKernel> emulated_kernels<SimtConfig, DType::a, DType::sum, DType::b, DType::d>() { \
    return kernels_of<KernelTypes{DType::a, DType::sum, DType::b, DType::d}>();                          \
  }
HOTGEMM_EMULATED(f16, f32, f16, f16)
HOTGEMM_EMULATED(f16, f32, f16, f32)
HOTGEMM_EMULATED(bf16, f32, bf16, bf16)
HOTGEMM_EMULATED(bf16, f32, bf16, f32)
HOTGEMM_EMULATED(f32, f32, f32, f32)
HOTGEMM_EMULATED(tf32, f32, tf32, f32)
HOTGEMM_EMULATED(e4m3, f32, e4m3, bf16)
HOTGEMM_EMULATED(e4m3, f32, e4m3, f16)
HOTGEMM_EMULATED(e4m3, f32, e4m3, f32)
HOTGEMM_EMULATED(e4m3, f32, e5m2, bf16)
HOTGEMM_EMULATED(e4m3, f32, e5m2, f16)
HOTGEMM_EMULATED(e4m3, f32, e5m2, f32)
HOTGEMM_EMULATED(e5m2, f32, e4m3, bf16)
HOTGEMM_EMULATED(e5m2, f32, e4m3, f16)
HOTGEMM_EMULATED(e5m2, f32, e4m3, f32)
HOTGEMM_EMULATED(e5m2, f32, e5m2, bf16)
HOTGEMM_EMULATED(e5m2, f32, e5m2, f16)
HOTGEMM_EMULATED(e5m2, f32, e5m2, f32)
HOTGEMM_EMULATED(s8, s32, s8, s32)
HOTGEMM_EMULATED(s8, s32, s8, f32)
HOTGEMM_EMULATED(s8, s32, s8, bf16)
HOTGEMM_EMULATED(s8, s32, s8, f16)
HOTGEMM_EMULATED(e4m3, f32, e4m3, e4m3)
HOTGEMM_EMULATED(e4m3, f32, e5m2, e4m3)
HOTGEMM_EMULATED(e4m3, f32, e5m2, e5m2)
HOTGEMM_EMULATED(e5m2, f32, e4m3, e4m3)
HOTGEMM_EMULATED(e5m2, f32, e4m3, e5m2)
HOTGEMM_EMULATED(e5m2, f32, e5m2, e4m3)
HOTGEMM_EMULATED(e5m2, f32, e5m2, e5m2)
HOTGEMM_EMULATED(s8, s32, s8, s8)
#undef HOTGEMM_EMULATED

}  // namespace hotgemm::emulate
