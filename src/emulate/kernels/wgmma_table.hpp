#pragma once

#include "emulate/emulated_wgmma.hpp"
#include "emulate/gemm_kernel.hpp"

#include "wgmma.cuh"

#include <iterator>
#include <utility>

namespace hotgemm::emulate {

// Small tiles of each schedule and split. For operands that are not k-major, their parts need each of the swizzles.
// clang-format off
inline constexpr WgmmaConfig kWgmmaConfigs[] = {
    {.block_m = 64,  .block_n = 64, .block_k = 64,  .consumers = 1, .stages = 3},
    {.block_m = 128, .block_n = 48, .block_k = 64,  .consumers = 2, .stages = 2},
    {.block_m = 64,  .block_n = 64, .block_k = 128, .consumers = 2, .split_n = true, .stages = 2},
    {.block_m = 64,  .block_n = 192, .block_k = 64, .consumers = 1, .stages = 2},
    {.block_m = 192, .block_n = 24, .block_k = 64,  .consumers = 3, .stages = 4},
    {.block_m = 64,  .block_n = 32, .block_k = 64,  .consumers = 2, .ping_pong = true, .stages = 3},
    {.block_m = 64,  .block_n = 16, .block_k = 64,  .consumers = 3, .ping_pong = true, .stages = 2, .cluster_m = 2},
    {.block_m = 64,  .block_n = 80, .block_k = 64,  .consumers = 1, .one_tile = true, .stages = 2},
    {.block_m = 128, .block_n = 32, .block_k = 128, .consumers = 2, .one_tile = true, .stages = 2, .cluster_n = 2},
    {.block_m = 64,  .block_n = 64, .block_k = 64,  .consumers = 1, .stages = 2, .cluster_m = 2},
    {.block_m = 256, .block_n = 32, .block_k = 64,  .consumers = 2, .stages = 3, .cluster_n = 2},
    {.block_m = 320, .block_n = 64, .block_k = 64,  .consumers = 2, .split_n = true, .stages = 2},
    {.block_m = 64,  .block_n = 32, .block_k = 64,  .consumers = 1, .one_tile = true, .stages = 3, .split_k = true},
    {.block_m = 128, .block_n = 64, .block_k = 64,  .consumers = 2, .stages = 2, .cluster_n = 2, .split_k = true},
    {.block_m = 64,  .block_n = 48, .block_k = 64,  .consumers = 1, .one_tile = true, .stages = 2, .cluster_m = 2, .split_k = true},
    // clusters of four
    {.block_m = 64,  .block_n = 64, .block_k = 64,  .consumers = 1, .stages = 2, .cluster_m = 2, .cluster_n = 2},
    {.block_m = 64,  .block_n = 128, .block_k = 64, .consumers = 2, .split_n = true, .one_tile = true, .stages = 2, .cluster_m = 4},
    {.block_m = 128, .block_n = 32, .block_k = 64,  .consumers = 2, .stages = 3, .cluster_n = 4},
    {.block_m = 64,  .block_n = 64, .block_k = 64,  .consumers = 1, .one_tile = true, .stages = 2, .cluster_m = 2, .cluster_n = 2, .split_k = true},
};
/// Configs with transposed products: rows of D that fill 64 rows, that leave 16 or 8 of them, and that are few.
inline constexpr WgmmaConfig kTransposedConfigs[] = {
    {.block_m = 8,   .block_n = 64,  .block_k = 64,  .consumers = 1, .stages = 3, .transposed = true},
    {.block_m = 72,  .block_n = 64,  .block_k = 64,  .consumers = 1, .one_tile = true, .stages = 2, .blocks_per_sm = 2, .transposed = true},
    {.block_m = 80,  .block_n = 128, .block_k = 64,  .consumers = 2, .split_n = true, .stages = 2, .transposed = true},
    {.block_m = 64,  .block_n = 64,  .block_k = 64,  .consumers = 2, .ping_pong = true, .stages = 3, .transposed = true},
    {.block_m = 32,  .block_n = 128, .block_k = 128, .consumers = 2, .split_n = true, .one_tile = true, .stages = 2, .cluster_n = 2, .transposed = true},
    {.block_m = 96,  .block_n = 128, .block_k = 64,  .consumers = 1, .stages = 2, .cluster_m = 2, .transposed = true},
    {.block_m = 48,  .block_n = 64,  .block_k = 64,  .consumers = 3, .stages = 4, .transposed = true},
    {.block_m = 128, .block_n = 192, .block_k = 64,  .consumers = 3, .split_n = true, .stages = 2, .transposed = true},
};
/// Configs whose threads load ragged operands: one and two warpgroups of them, two slabs beside each other.
struct ThreadLoads {
  WgmmaConfig config;
  int vec_a, vec_b;  ///< 8: the copy engine loads the operand
};
inline constexpr ThreadLoads kThreadLoads[] = {
    {{.block_m = 64,  .block_n = 64,  .block_k = 64,  .consumers = 1, .stages = 3, .loaders = 1}, 1, 1},
    {{.block_m = 128, .block_n = 64,  .block_k = 64,  .consumers = 2, .stages = 2, .loaders = 2}, 1, 8},
    {{.block_m = 64,  .block_n = 128, .block_k = 64,  .consumers = 1, .stages = 2, .loaders = 2}, 8, 1},
    {{.block_m = 64,  .block_n = 128, .block_k = 64,  .consumers = 2, .split_n = true, .stages = 3, .loaders = 2}, 4, 2},
    {{.block_m = 64,  .block_n = 64,  .block_k = 64,  .consumers = 1, .stages = 2, .blocks_per_sm = 2, .loaders = 1}, 2, 4},
    {{.block_m = 16,  .block_n = 64,  .block_k = 64,  .consumers = 1, .stages = 3, .transposed = true, .loaders = 1}, 8, 1},
    {{.block_m = 64,  .block_n = 64,  .block_k = 64,  .consumers = 1, .stages = 2, .transposed = true, .loaders = 2}, 1, 4},
};
/// Access width for C and D, and whether C is read. Each config takes the next one for each layout.
struct WgmmaAccess {
  int vec_d;
  bool reads_c;
};
inline constexpr WgmmaAccess kWgmmaAccesses[] = {{8, false}, {8, true}, {4, false}, {1, true}, {2, true}, {1, false}, {2, false}};
// clang-format on

/// Adds the kernel if it is legal.
template <DType kElement, DType kAccumulator, int kLayout, WgmmaAccess kAccess, WgmmaConfig kConfig, int kVecA = 8,
          int kVecB = 8>
void add_wgmma_kernel(std::vector<GemmKernel>& kernels) {
  constexpr GemmTraits kTraits{.element = kElement,
                               .accumulator = kAccumulator,
                               .op_a = kLayout / 2 == 0 ? Op::n : Op::t,
                               .op_b = kLayout % 2 == 0 ? Op::n : Op::t,
                               .reads_c = kAccess.reads_c,
                               .vec_a = kVecA,
                               .vec_b = kVecB,
                               .vec_d = kAccess.vec_d};
  if constexpr (is_legal(kConfig, kTraits, *find_arch_limits(90))) {
    using Instruction = EmulatedWgmmaOf<kTraits, kConfig>;
    if constexpr (kConfig.split_k) {
      kernels.push_back({kConfig, kTraits, wgmma_split_gemm<kTraits, kConfig, Instruction>});
    } else {
      kernels.push_back({kConfig, kTraits, wgmma_gemm<kTraits, kConfig, Instruction>});
    }
  }
}

/// The first config in every layout, so that it computes any problem. Of the others, `kOthers` configs from `kFirst`
/// on, once in every layout.
template <DType kElement, DType kAccumulator, int kFirst, int kOthers>
std::vector<GemmKernel> make_wgmma_kernels() {
  std::vector<GemmKernel> kernels;
  const auto add_layout = [&]<int kLayout>() {
    add_wgmma_kernel<kElement, kAccumulator, kLayout, kWgmmaAccesses[0], kWgmmaConfigs[0]>(kernels);
    add_wgmma_kernel<kElement, kAccumulator, kLayout, kWgmmaAccesses[3], kWgmmaConfigs[0]>(kernels);
    [&]<int... kConfig>(std::integer_sequence<int, kConfig...>) {
      (add_wgmma_kernel<kElement, kAccumulator, kLayout,
                        kWgmmaAccesses[(kFirst + kConfig + 2 * kLayout) % std::size(kWgmmaAccesses)],
                        kWgmmaConfigs[kFirst + kConfig]>(kernels),
       ...);
    }
    (std::make_integer_sequence<int, kOthers>{});
  };
  add_layout.template operator()<0>();
  add_layout.template operator()<1>();
  add_layout.template operator()<2>();
  add_layout.template operator()<3>();
  return kernels;
}

/// `kCount` transposed configs from `kFirst` on, each once in every layout.
template <DType kElement, DType kAccumulator, int kFirst, int kCount>
void add_transposed_kernels(std::vector<GemmKernel>& kernels) {
  const auto add_config = [&]<int kConfig, int... kLayout>(std::integer_sequence<int, kLayout...>) {
    (add_wgmma_kernel<kElement, kAccumulator, kLayout, kWgmmaAccesses[(2 * kConfig + kLayout) % 7],
                      kTransposedConfigs[kConfig]>(kernels),
     ...);
  };
  [&]<int... kConfig>(std::integer_sequence<int, kConfig...>) {
    (add_config.template operator()<kFirst + kConfig>(std::make_integer_sequence<int, 4>{}), ...);
  }
  (std::make_integer_sequence<int, kCount>{});
}

/// The kernels whose threads load operands, from `kFirst` on, `kCount` of them, each once in every layout.
template <DType kElement, DType kAccumulator, int kFirst, int kCount>
void add_thread_load_kernels(std::vector<GemmKernel>& kernels) {
  const auto add_config = [&]<int kIndex, int... kLayout>(std::integer_sequence<int, kLayout...>) {
    (add_wgmma_kernel<kElement, kAccumulator, kLayout, kWgmmaAccesses[(3 * kIndex + kLayout) % 7],
                      kThreadLoads[kIndex].config, kThreadLoads[kIndex].vec_a, kThreadLoads[kIndex].vec_b>(kernels),
     ...);
  };
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    (add_config.template operator()<kFirst + kIndex>(std::make_integer_sequence<int, 4>{}), ...);
  }
  (std::make_integer_sequence<int, kCount>{});
}

/// The transposed kernels with f16 elements and f32 sums. They have a unit of their own, because it takes long to
/// compile.
std::vector<GemmKernel> make_transposed_f16_kernels();
/// The kernels whose threads load operands, likewise in a unit of their own.
std::vector<GemmKernel> make_thread_load_f16_kernels();

}  // namespace hotgemm::emulate
