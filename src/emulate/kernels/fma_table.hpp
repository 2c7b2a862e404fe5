#pragma once

#include "emulate/gemm_kernel.hpp"

#include "fma.cuh"

namespace hotgemm::emulate {

// clang-format off
/// The configs by access width, the widest first. The element type limits an access to 16 bytes.
inline constexpr FmaConfig kFmaConfigs[] = {
    // Packed configs: one stage, the double buffer, the ring of cp.async; whole and partial k-tiles.
    {.block_m = 64,  .block_n = 64, .block_k = 8,  .thread_m = 8,  .thread_n = 8, .stages = 1, .access = 8},
    {.block_m = 64,  .block_n = 64, .block_k = 8,  .thread_m = 8,  .thread_n = 8, .stages = 2, .access = 4},
    {.block_m = 128, .block_n = 64, .block_k = 16, .thread_m = 16, .thread_n = 8, .stages = 3, .access = 4, .async_copy = true},
    {.block_m = 32,  .block_n = 64, .block_k = 12, .thread_m = 8,  .thread_n = 8, .stages = 2, .access = 2, .padded = false, .async_copy = true},
    // Configs that are not packed: threads that copy nothing, groups of two rows, one k at a time, no shared memory.
    {.block_m = 32,  .block_n = 32, .block_k = 16, .thread_m = 1,  .thread_n = 1, .stages = 1, .access = 1, .packed = false, .padded = false},
    {.block_m = 96,  .block_n = 32, .block_k = 14, .thread_m = 6,  .thread_n = 4, .stages = 2, .access = 1, .packed = false},
    {.block_m = 16,  .block_n = 32, .block_k = 8,  .thread_m = 1,  .thread_n = 2, .stages = 0, .access = 1, .packed = false, .padded = false},
    // Slices: of the double buffer, and of cp.async, where the stages have fewer bytes than the sums.
    {.block_m = 8,   .block_n = 32, .block_k = 12, .thread_m = 2,  .thread_n = 4, .stages = 2, .access = 2, .packed = false, .slices = 3},
    {.block_m = 32,  .block_n = 32, .block_k = 8,  .thread_m = 4,  .thread_n = 8, .stages = 2, .access = 4, .packed = false, .async_copy = true, .slices = 4},
    // Quads: slices of a quarter of a warp, and an odd number of steps in each of two chunks.
    {.block_m = 4,   .block_n = 8,  .block_k = 64, .thread_m = 2,  .thread_n = 2, .stages = 2, .access = 4, .packed = false, .transposed = false, .slices = 8, .quads = true},
    {.block_m = 32,  .block_n = 64, .block_k = 48, .thread_m = 8,  .thread_n = 8, .stages = 3, .access = 2, .packed = false, .async_copy = true, .transposed = false, .slices = 2, .quads = true},
};
// clang-format on

/// Widths of access to A, B and D, and whether C is read.
struct FmaAccess {
  int vec_a, vec_b, vec_d;
  bool reads_c;
};

template <KernelTypes kTypes, int kLayout, FmaAccess kAccess, FmaConfig kConfig>
GemmKernel fma_kernel() {
  constexpr GemmTraits kTraits{.element = kTypes.element,
                               .accumulator = kTypes.accumulator,
                               .element_b = kTypes.element_b,
                               .element_d = kTypes.element_d,
                               .op_a = kLayout / 2 == 0 ? Op::n : Op::t,
                               .op_b = kLayout % 2 == 0 ? Op::n : Op::t,
                               .reads_c = kAccess.reads_c,
                               .vec_a = kAccess.vec_a,
                               .vec_b = kAccess.vec_b,
                               .vec_d = kAccess.vec_d};
  static_assert(is_legal(kConfig, kTraits, *find_arch_limits(80)));
  return {kConfig, kTraits, fma_gemm<kTraits, kConfig>};
}

/// Every config in every layout, alternately with and without C; TF32 has no cp.async. One config with accesses of
/// single elements also gets all traits that it needs for any problem.
template <DType kElement, DType kAccumulator, DType kElementD = kElement>
std::vector<GemmKernel> make_fma_kernels() {
  constexpr KernelTypes kTypes{kElement, kAccumulator, kElement, kElementD};
  std::vector<GemmKernel> kernels;
  constexpr int kNt = 1;
  const auto add_layout = [&]<int kLayout>() {
    const auto add = [&]<FmaAccess kAccess, FmaConfig kConfig>() {
      kernels.push_back(fma_kernel<kTypes, kLayout, kAccess, kConfig>());
    };
    constexpr bool kOdd = kLayout == 1 || kLayout == 2;
    if constexpr (size_bytes(kElement) == 2) add.template operator()<FmaAccess{8, 8, 8, kOdd}, kFmaConfigs[0]>();
    add.template operator()<FmaAccess{4, 4, 4, !kOdd}, kFmaConfigs[1]>();
    if constexpr (kElement != DType::tf32) {
      add.template operator()<FmaAccess{4, 4, 2, kOdd}, kFmaConfigs[2]>();
      add.template operator()<FmaAccess{2, 2, kOdd ? 4 : 1, !kOdd}, kFmaConfigs[3]>();
    }
    add.template operator()<FmaAccess{1, 1, 1, true}, kFmaConfigs[4]>();
    add.template operator()<FmaAccess{1, 1, 4, kOdd}, kFmaConfigs[5]>();
    add.template operator()<FmaAccess{1, 1, 1, !kOdd}, kFmaConfigs[6]>();
    if constexpr (size_bytes(kAccumulator) == 4) add.template operator()<FmaAccess{2, 2, 2, kOdd}, kFmaConfigs[7]>();
    if constexpr (size_bytes(kAccumulator) == 4 && kElement != DType::tf32) {
      add.template operator()<FmaAccess{4, 4, 1, !kOdd}, kFmaConfigs[8]>();
    }
    if constexpr (kElement == DType::f32 && kLayout == kNt) {
      add.template operator()<FmaAccess{4, 4, 1, true}, kFmaConfigs[9]>();
      add.template operator()<FmaAccess{2, 2, 2, false}, kFmaConfigs[10]>();
    }
  };
  add_layout.template operator()<0>();
  add_layout.template operator()<1>();
  add_layout.template operator()<2>();
  add_layout.template operator()<3>();
  return kernels;
}

}  // namespace hotgemm::emulate
