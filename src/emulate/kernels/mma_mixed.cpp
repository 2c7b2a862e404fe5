#include "emulate/kernels/mma_table.hpp"

#include <iterator>

namespace hotgemm::emulate {
namespace {

// clang-format off
/// Configs, whose k-tiles count elements of 16 bits: both numbers of fragment buffers, both ways against bank conflicts, one stage.
constexpr MmaConfig kWordConfigs[] = {
    {.block_m = 64, .block_n = 64, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = true,  .fragment_buffers = 2, .store = kDirectStore},
    {.block_m = 32, .block_n = 48, .block_k = 48, .warps_m = 1, .warps_n = 3, .stages = 5, .swizzle = true,  .fragment_buffers = 2, .store = kDirectStore},
    {.block_m = 48, .block_n = 64, .block_k = 32, .warps_m = 3, .warps_n = 2, .stages = 4, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore},
    {.block_m = 32, .block_n = 16, .block_k = 32, .warps_m = 2, .warps_n = 1, .stages = 1, .swizzle = true,  .fragment_buffers = 1, .store = kDirectStore, .b_matrices = 2, .serpentine = false},
};
/// Access widths for A, B and D in bytes, at least an element, and whether C is read.
struct WordAccess {
  int a_bytes, b_bytes, d_bytes;
  bool reads_c;
};
constexpr WordAccess kWordAccesses[] = {{4, 4, 1, true}, {16, 16, 16, false}, {8, 16, 16, true}, {16, 4, 8, false}};
// clang-format on

/// Kernel number `kIndex`: with `kAll` of all configs in all layouts, with accesses that take turns; otherwise of each
/// config in one layout, with the narrowest accesses. Layouts are nt, nn, tn and tt.
template <KernelTypes kTypes, bool kAll, std::size_t kIndex>
GemmKernel word_kernel() {
  constexpr std::size_t kLayout = kAll ? kIndex / std::size(kWordConfigs) : kIndex;
  constexpr WordAccess kAccess = kWordAccesses[kAll ? (kIndex + kLayout) % std::size(kWordAccesses) : 0];
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
                               .op_a = kLayout < 2 ? Op::n : Op::t,
                               .op_b = kLayout % 3 == 0 ? Op::t : Op::n,
                               .reads_c = kAccess.reads_c,
                               .vec_a = kAccess.a_bytes / size_bytes(kTypes.element),
                               .vec_b = kAccess.b_bytes / size_bytes(kTypes.element_b),
                               .vec_d = max_of(kAccess.d_bytes / size_bytes(kTypes.element_d), 1)};
  constexpr MmaConfig kConfig = [] {
    MmaConfig config = kWordConfigs[kIndex % std::size(kWordConfigs)];
    config.block_k = typed_block_k(config.block_k, kTypes.element);
    if (size_bytes(kTypes.element) == 1 && kLayout % 3 != 0) config.b_matrices = 4;  // op_b is n
    return config;
  }();
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
  return {kConfig, kTraits, mma_gemm<kTraits, kConfig>};
}

template <KernelTypes kTypes, bool kAll>
std::span<const GemmKernel> word_kernels() {
  constexpr std::size_t kLayouts = 4;
  constexpr std::size_t kCount = kAll ? kLayouts * std::size(kWordConfigs) : kLayouts;
  static const std::vector<GemmKernel> kernels = [] {
    return [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
      return std::vector<GemmKernel>{word_kernel<kTypes, kAll, kIndices>()...};
    }
    (std::make_index_sequence<kCount>{});
  }();
  return kernels;
}

}  // namespace

#define HOTGEMM_EMULATED_WORDS(a, sum, b, d, all)                                                       \
  template <>                                                                                           \
  std::span<const GemmKernel> emulated_kernels<MmaConfig, DType::a, DType::sum, DType::b, DType::d>() { \
    return word_kernels<KernelTypes{DType::a, DType::sum, DType::b, DType::d}, all>();                  \
  }
HOTGEMM_EMULATED_WORDS(tf32, f32, tf32, f32, true)
HOTGEMM_EMULATED_WORDS(s8, s32, s8, s32, true)
HOTGEMM_EMULATED_WORDS(s8, s32, s8, f32, false)
HOTGEMM_EMULATED_WORDS(s8, s32, s8, bf16, false)
HOTGEMM_EMULATED_WORDS(s8, s32, s8, f16, false)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e4m3, bf16, true)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e4m3, f16, false)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e4m3, f32, false)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e5m2, bf16, false)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e5m2, f16, false)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e5m2, f32, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e4m3, bf16, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e4m3, f16, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e4m3, f32, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e5m2, bf16, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e5m2, f16, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e5m2, f32, false)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e4m3, e4m3, false)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e5m2, e4m3, false)
HOTGEMM_EMULATED_WORDS(e4m3, f32, e5m2, e5m2, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e4m3, e4m3, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e4m3, e5m2, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e5m2, e4m3, false)
HOTGEMM_EMULATED_WORDS(e5m2, f32, e5m2, e5m2, false)
HOTGEMM_EMULATED_WORDS(s8, s32, s8, s8, true)
#undef HOTGEMM_EMULATED_WORDS

}  // namespace hotgemm::emulate
