#include "emulate/kernels/wgmma_table.hpp"

#include "config/typed_config.hpp"

#include <array>
#include <cstddef>

namespace hotgemm::emulate {
namespace {

// clang-format off
/// Configs of each schedule and epilogue, for elements of 16 bits.
constexpr WgmmaConfig kMixedConfigs[] = {
    {.block_m = 64,  .block_n = 64,  .block_k = 64,  .consumers = 1, .stages = 3},
    {.block_m = 128, .block_n = 48,  .block_k = 64,  .consumers = 1, .stages = 2},
    {.block_m = 72,  .block_n = 128, .block_k = 64,  .consumers = 2, .split_n = true, .stages = 2, .transposed = true},
    {.block_m = 64,  .block_n = 32,  .block_k = 64,  .consumers = 2, .ping_pong = true, .stages = 3},
    {.block_m = 64,  .block_n = 96,  .block_k = 64,  .consumers = 1, .one_tile = true, .stages = 2, .cluster_n = 2},
    {.block_m = 64,  .block_n = 32,  .block_k = 64,  .consumers = 1, .one_tile = true, .stages = 3, .split_k = true},
    {.block_m = 128, .block_n = 64,  .block_k = 128, .consumers = 2, .stages = 2},
};
/// Configs whose lanes load rows of words: the rows of A of a plain config, those of B of a transposed one. Slabs of 64
/// and of 128 bytes, one and two instructions, and each schedule and epilogue.
constexpr WgmmaConfig kLoadedConfigs[] = {
    {.block_m = 128, .block_n = 48,  .block_k = 64,  .consumers = 1, .stages = 2},
    {.block_m = 80,  .block_n = 64,  .block_k = 64,  .consumers = 1, .stages = 3, .transposed = true},
    {.block_m = 64,  .block_n = 32,  .block_k = 64,  .consumers = 2, .ping_pong = true, .stages = 3},
    {.block_m = 32,  .block_n = 256, .block_k = 64,  .consumers = 2, .split_n = true, .stages = 2, .cluster_n = 2, .transposed = true},
    {.block_m = 64,  .block_n = 32,  .block_k = 64,  .consumers = 1, .stages = 3, .split_k = true},
    {.block_m = 96,  .block_n = 128, .block_k = 128, .consumers = 2, .split_n = true, .stages = 2, .transposed = true},
    {.block_m = 128, .block_n = 48,  .block_k = 64,  .consumers = 1, .one_tile = true, .stages = 2, .cluster_n = 2},  // precise FP8 alone
};
// clang-format on

/// The config for the elements of `t`.
constexpr WgmmaConfig config_for(const GemmTraits& t, WgmmaConfig config) {
  config = typed(config, t);
  // There is no instruction for 72 columns of s8.
  if (t.element == DType::s8 && config.block_m == 72) config.block_m = 80;
  return config;
}

/// Access widths for D in bytes, at least an element, and whether C is read.
struct MixedAccess {
  int d_bytes;
  bool reads_c;
};
constexpr MixedAccess kAccesses[] = {{16, false}, {1, true}, {16, true}, {8, false}};

template <KernelTypes kTypes, int kLayout, MixedAccess kAccess, WgmmaConfig kConfig, bool kFastSums>
void add_mixed_kernel(std::vector<GemmKernel>& kernels) {
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
                               .op_a = kLayout / 2 == 0 ? Op::n : Op::t,
                               .op_b = kLayout % 2 == 0 ? Op::n : Op::t,
                               .reads_c = kAccess.reads_c,
                               .vec_a = kChunkBytes / size_bytes(kTypes.element),
                               .vec_b = kChunkBytes / size_bytes(kTypes.element_b),
                               .vec_d = max_of(kAccess.d_bytes / size_bytes(kTypes.element_d), 1),
                               .fast_sums = kFastSums};
  constexpr WgmmaConfig kRightConfig = config_for(kTraits, kConfig);
  if constexpr (is_legal(kRightConfig, kTraits, *find_arch_limits(90))) {
    using Instruction = EmulatedWgmmaOf<kTraits, kRightConfig>;
    if constexpr (kRightConfig.split_k) {
      kernels.push_back({kRightConfig, kTraits, wgmma_split_gemm<kTraits, kRightConfig, Instruction>});
    } else {
      kernels.push_back({kRightConfig, kTraits, wgmma_gemm<kTraits, kRightConfig, Instruction>});
    }
  }
}

/// A config in each layout with C. `kCount` others from `kFirst` on, in one layout each; of words as many whose lanes
/// load rows.
template <KernelTypes kTypes, int kFirst, int kCount, bool kFastSums = false>
std::span<const GemmKernel> mixed_kernels() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> all;
    [&]<int... kLayout>(std::integer_sequence<int, kLayout...>) {
      (add_mixed_kernel<kTypes, kLayout, kAccesses[1], kMixedConfigs[0], false>(all), ...);
    }
    (std::make_integer_sequence<int, 4>{});
    constexpr bool kAllLayouts = size_bytes(kTypes.element) == 2;
    [&]<int... kOther>(std::integer_sequence<int, kOther...>) {
      (add_mixed_kernel < kTypes, kAllLayouts ? (kFirst + kOther) % 4 : 1, kAccesses[(kFirst + kOther) % 4],
       kMixedConfigs[1 + (kFirst + kOther) % 6], kFastSums > (all), ...);
    }
    (std::make_integer_sequence<int, kCount>{});
    if constexpr (!kAllLayouts) {
      add_mixed_kernel<kTypes, 0, kAccesses[1], kLoadedConfigs[1], false>(all);
      [&]<int... kOther>(std::integer_sequence<int, kOther...>) {
        (add_mixed_kernel < kTypes, kLoadedConfigs[(kFirst + kOther) % 7].transposed ? 0 : 3,
         kAccesses[(kFirst + kOther) % 4], kLoadedConfigs[(kFirst + kOther) % 7], kFastSums > (all), ...);
      }
      (std::make_integer_sequence < int, kCount == 6 ? 7 : kCount > {});
    }
    return all;
  }();
  return kernels;
}

}  // namespace

#define HOTGEMM_EMULATED_MIXED(a, sum, b, d, ...)                                                         \
  template <>                                                                                             \
  std::span<const GemmKernel> emulated_kernels<WgmmaConfig, DType::a, DType::sum, DType::b, DType::d>() { \
    return mixed_kernels<KernelTypes{DType::a, DType::sum, DType::b, DType::d}, __VA_ARGS__>();           \
  }
HOTGEMM_EMULATED_MIXED(f16, f32, f16, f32, 0, 6)
HOTGEMM_EMULATED_MIXED(bf16, f32, bf16, f32, 1, 2)
HOTGEMM_EMULATED_MIXED(tf32, f32, tf32, f32, 0, 6)
HOTGEMM_EMULATED_MIXED(s8, s32, s8, s32, 0, 6)
HOTGEMM_EMULATED_MIXED(s8, s32, s8, f32, 1, 1)
HOTGEMM_EMULATED_MIXED(s8, s32, s8, bf16, 1, 2)
HOTGEMM_EMULATED_MIXED(s8, s32, s8, f16, 4, 1)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e4m3, bf16, 0, 6)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e4m3, f16, 0, 1)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e4m3, f32, 0, 3)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e5m2, bf16, 1, 1)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e5m2, f16, 2, 1)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e5m2, f32, 3, 1)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e4m3, bf16, 0, 2, true)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e4m3, f16, 5, 1)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e4m3, f32, 1, 1)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e5m2, bf16, 2, 1)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e5m2, f16, 3, 1)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e5m2, f32, 4, 1)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e4m3, e4m3, 0, 6)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e5m2, e4m3, 1, 1)
HOTGEMM_EMULATED_MIXED(e4m3, f32, e5m2, e5m2, 2, 1)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e4m3, e4m3, 3, 1)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e4m3, e5m2, 4, 1, true)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e5m2, e4m3, 5, 1)
HOTGEMM_EMULATED_MIXED(e5m2, f32, e5m2, e5m2, 1, 2)
HOTGEMM_EMULATED_MIXED(s8, s32, s8, s8, 0, 6)
#undef HOTGEMM_EMULATED_MIXED

}  // namespace hotgemm::emulate
