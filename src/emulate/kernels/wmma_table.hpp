#pragma once

#include "emulate/gemm_kernel.hpp"

#include "wmma.cuh"

#include <iterator>

namespace hotgemm::emulate {

// clang-format off
inline constexpr WmmaConfig kWmmaConfigs[] = {
    {.block_m = 64,  .block_n = 64,  .block_k = 32, .warps_m = 2, .warps_n = 2, .fragment_m = 16, .stages = 3, .async_copy = true,  .padded = true},
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .warps_m = 2, .warps_n = 2, .fragment_m = 32, .stages = 2, .async_copy = true,  .padded = true},
    {.block_m = 48,  .block_n = 64,  .block_k = 48, .warps_m = 3, .warps_n = 2, .fragment_m = 8,  .stages = 4, .async_copy = true,  .padded = false},
    {.block_m = 64,  .block_n = 32,  .block_k = 16, .warps_m = 4, .warps_n = 2, .fragment_m = 16, .stages = 1, .async_copy = false, .padded = false},
    {.block_m = 32,  .block_n = 48,  .block_k = 64, .warps_m = 1, .warps_n = 3, .fragment_m = 32, .stages = 1, .async_copy = false, .padded = true},
    {.block_m = 16,  .block_n = 32,  .block_k = 32, .warps_m = 1, .warps_n = 1, .fragment_m = 8,  .stages = 1, .async_copy = true,  .padded = true},
};
/// Access widths for A, B and D, and whether C is read. Each config takes the next one for each layout.
struct WmmaAccess {
  int vec_a, vec_b, vec_d;
  bool reads_c;
};
inline constexpr WmmaAccess kWmmaAccesses[] = {
    {8, 8, 8, false}, {8, 8, 8, true}, {4, 8, 4, true}, {8, 4, 2, false}, {2, 8, 1, true}, {1, 2, 8, false}, {1, 1, 1, true},
};
// clang-format on

template <DType kElement, DType kAccumulator, int kLayout, WmmaAccess kAccess, WmmaConfig kConfig>
GemmKernel wmma_kernel() {
  constexpr GemmTraits kTraits{.element = kElement,
                               .accumulator = kAccumulator,
                               .op_a = kLayout / 2 == 0 ? Op::n : Op::t,
                               .op_b = kLayout % 2 == 0 ? Op::n : Op::t,
                               .reads_c = kAccess.reads_c,
                               .vec_a = kAccess.vec_a,
                               .vec_b = kAccess.vec_b,
                               .vec_d = kAccess.vec_d};
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
  return {kConfig, kTraits, wmma_gemm<kTraits, kConfig>};
}

/// The first config in every layout, with the widest and the narrowest accesses, so that it computes any problem. The
/// other configs once in every layout, each time with other accesses.
template <DType kElement, DType kAccumulator>
std::vector<GemmKernel> make_wmma_kernels() {
  std::vector<GemmKernel> kernels;
  const auto add_layout = [&]<int kLayout>() {
    const auto add = [&]<WmmaAccess kAccess, WmmaConfig kConfig>() {
      kernels.push_back(wmma_kernel<kElement, kAccumulator, kLayout, kAccess, kConfig>());
    };
    constexpr auto access = [](int config) { return kWmmaAccesses[(config + 2 * kLayout) % std::size(kWmmaAccesses)]; };
    add.template operator()<kWmmaAccesses[kLayout % 2], kWmmaConfigs[0]>();
    add.template operator()<kWmmaAccesses[6], kWmmaConfigs[0]>();
    add.template operator()<access(1), kWmmaConfigs[1]>();
    add.template operator()<access(2), kWmmaConfigs[2]>();
    add.template operator()<access(3), kWmmaConfigs[3]>();
    add.template operator()<access(4), kWmmaConfigs[4]>();
    add.template operator()<access(0), kWmmaConfigs[5]>();
  };
  add_layout.template operator()<0>();
  add_layout.template operator()<1>();
  add_layout.template operator()<2>();
  add_layout.template operator()<3>();
  return kernels;
}

}  // namespace hotgemm::emulate
