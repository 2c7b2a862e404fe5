#pragma once

#include "emulate/gemm_kernel.hpp"

#include "mma.cuh"

#include <array>
#include <iterator>

namespace hotgemm::emulate {

// clang-format off
inline constexpr MmaConfig kMmaConfigs[] = {
    {.block_m = 64,  .block_n = 64,  .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = true,  .fragment_buffers = 2, .store = kStagedStore},
    {.block_m = 64,  .block_n = 96,  .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 2, .swizzle = true,  .fragment_buffers = 1, .store = kDirectStore},
    {.block_m = 96,  .block_n = 64,  .block_k = 32, .warps_m = 3, .warps_n = 2, .stages = 4, .swizzle = false, .fragment_buffers = 1, .store = kStagedStore},
    {.block_m = 32,  .block_n = 48,  .block_k = 48, .warps_m = 1, .warps_n = 3, .stages = 5, .swizzle = true,  .fragment_buffers = 2, .store = kDirectStore},
    {.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 4, .swizzle = true,  .fragment_buffers = 1, .store = kStagedStore},
    // Features of the ladder's rungs: one warp with only the instructions; lanes that exchange results, four rows at a
    // time with two rows left over; and one stage.
    {.block_m = 16,  .block_n = 8,   .block_k = 16, .warps_m = 1, .warps_n = 1, .stages = 1, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .async_copy = false, .padded = false, .b_matrices = 2, .serpentine = false},
    {.block_m = 64,  .block_n = 64,  .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 2, .swizzle = false, .fragment_buffers = 2, .store = kShuffledStore, .b_matrices = 2},
    {.block_m = 16,  .block_n = 48,  .block_k = 48, .warps_m = 1, .warps_n = 2, .stages = 3, .swizzle = true,  .fragment_buffers = 1, .store = kShuffledStore, .b_matrices = 2},
    {.block_m = 32,  .block_n = 64,  .block_k = 32, .warps_m = 2, .warps_n = 1, .stages = 1, .swizzle = true,  .fragment_buffers = 1, .store = kShuffledStore, .serpentine = false},
    {.block_m = 32,  .block_n = 32,  .block_k = 16, .warps_m = 1, .warps_n = 2, .stages = 1, .swizzle = false, .fragment_buffers = 1, .store = kStagedStore, .async_copy = false},
};
/// Access widths for A, B and D, and whether C is read. Each config takes the next one for each layout.
struct MmaAccess {
  int vec_a, vec_b, vec_d;
  bool reads_c;
};
inline constexpr MmaAccess kMmaAccesses[] = {
    {8, 8, 8, false}, {8, 8, 8, true}, {4, 8, 4, true}, {8, 4, 2, false}, {2, 8, 1, true}, {1, 2, 8, false}, {1, 1, 1, true},
};
// clang-format on

inline constexpr int kLayouts = 4;

template <DType kElement, DType kAccumulator, int kLayout, MmaAccess kAccess, MmaConfig kConfig>
GemmKernel mma_kernel() {
  constexpr GemmTraits kTraits{.element = kElement,
                               .accumulator = kAccumulator,
                               .op_a = kLayout / 2 == 0 ? Op::n : Op::t,
                               .op_b = kLayout % 2 == 0 ? Op::n : Op::t,
                               .reads_c = kAccess.reads_c,
                               .vec_a = kAccess.vec_a,
                               .vec_b = kAccess.vec_b,
                               .vec_d = kAccess.vec_d};
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(90)));
  return {kConfig, kTraits, mma_gemm<kTraits, kConfig>};
}

/// The first config in every layout, with the widest and the narrowest accesses, so that it computes any problem. The
/// other configs once in every layout, each time with other accesses.
template <DType kElement, DType kAccumulator>
std::vector<GemmKernel> make_mma_kernels() {
  std::vector<GemmKernel> kernels;
  const auto add_layout = [&]<int kLayout>() {
    const auto add = [&]<MmaAccess kAccess, MmaConfig kConfig>() {
      kernels.push_back(mma_kernel<kElement, kAccumulator, kLayout, kAccess, kConfig>());
    };
    constexpr auto access = [](int config) { return kMmaAccesses[(config + 2 * kLayout) % std::size(kMmaAccesses)]; };
    add.template operator()<kMmaAccesses[kLayout % 2], kMmaConfigs[0]>();
    add.template operator()<kMmaAccesses[6], kMmaConfigs[0]>();
    add.template operator()<access(1), kMmaConfigs[1]>();
    add.template operator()<access(2), kMmaConfigs[2]>();
    add.template operator()<access(3), kMmaConfigs[3]>();
    if constexpr (kElement == DType::f16) {
      add.template operator()<kMmaAccesses[0], kMmaConfigs[4]>();
      add.template operator()<access(0), kMmaConfigs[5]>();
      add.template operator()<access(1), kMmaConfigs[6]>();
      add.template operator()<access(2), kMmaConfigs[7]>();
      add.template operator()<access(3), kMmaConfigs[8]>();
      add.template operator()<access(4), kMmaConfigs[9]>();
    }
  };
  add_layout.template operator()<0>();
  add_layout.template operator()<1>();
  add_layout.template operator()<2>();
  add_layout.template operator()<3>();
  static_assert(kLayouts == 4);
  return kernels;
}

}  // namespace hotgemm::emulate
