#pragma once

#include "config/families.hpp"
#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <vector>

namespace hotgemm {

/// The configs of one family for the sweeps, and all types that the family computes.
struct TestFamily {
  std::vector<KernelConfig> configs;
  std::vector<KernelTypes> types;
};

// clang-format off
/// Every value of every field: tiles from 16×64 to 256×192, also with block_m or a number of warps that is not a power
/// of two, an odd number of k-steps per tile, and every number of stages.
inline TestFamily mma_family() {
  return {{
      MmaConfig{.block_m = 16,  .block_n = 64,  .block_k = 64,  .warps_m = 1, .warps_n = 4, .stages = 4, .swizzle = true,  .fragment_buffers = 2, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 32,  .block_n = 32,  .block_k = 32,  .warps_m = 1, .warps_n = 1, .stages = 5, .swizzle = true,  .fragment_buffers = 1, .store = kDirectStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 64,  .block_n = 16,  .block_k = 32,  .warps_m = 4, .warps_n = 1, .stages = 2, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .blocks_per_sm = 4},
      MmaConfig{.block_m = 32,  .block_n = 64,  .block_k = 128, .warps_m = 1, .warps_n = 2, .stages = 2, .swizzle = true,  .fragment_buffers = 2, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 64,  .block_n = 64,  .block_k = 32,  .warps_m = 2, .warps_n = 2, .stages = 2, .swizzle = false, .fragment_buffers = 2, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 64,  .block_n = 64,  .block_k = 64,  .warps_m = 2, .warps_n = 1, .stages = 3, .swizzle = true,  .fragment_buffers = 1, .store = kStagedStore, .blocks_per_sm = 2},
      MmaConfig{.block_m = 96,  .block_n = 64,  .block_k = 32,  .warps_m = 3, .warps_n = 2, .stages = 3, .swizzle = true,  .fragment_buffers = 2, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 96,  .block_n = 96,  .block_k = 48,  .warps_m = 2, .warps_n = 3, .stages = 3, .swizzle = true,  .fragment_buffers = 2, .store = kDirectStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 64,  .block_n = 192, .block_k = 32,  .warps_m = 2, .warps_n = 2, .stages = 4, .swizzle = true,  .fragment_buffers = 2, .store = kDirectStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 160, .block_n = 128, .block_k = 32,  .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = true,  .fragment_buffers = 1, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 128, .block_n = 128, .block_k = 32,  .warps_m = 2, .warps_n = 2, .stages = 5, .swizzle = true,  .fragment_buffers = 1, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 128, .block_n = 128, .block_k = 64,  .warps_m = 2, .warps_n = 4, .stages = 3, .swizzle = false, .fragment_buffers = 2, .store = kDirectStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 128, .block_n = 256, .block_k = 64,  .warps_m = 2, .warps_n = 4, .stages = 3, .swizzle = true,  .fragment_buffers = 1, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 192, .block_n = 96,  .block_k = 32,  .warps_m = 4, .warps_n = 2, .stages = 4, .swizzle = false, .fragment_buffers = 1, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 256, .block_n = 128, .block_k = 64,  .warps_m = 4, .warps_n = 4, .stages = 3, .swizzle = true,  .fragment_buffers = 1, .store = kStagedStore, .blocks_per_sm = 1},
      MmaConfig{.block_m = 256, .block_n = 192, .block_k = 32,  .warps_m = 4, .warps_n = 2, .stages = 4, .swizzle = true,  .fragment_buffers = 1, .store = kStagedStore, .blocks_per_sm = 1},
  }, {{DType::f16, DType::f32}, {DType::bf16, DType::f32}, {DType::f16, DType::f16}}};
}

/// Tiles of 8 to 128 rows, one of them not a power of two, and threads with 1 to 64 elements.
inline TestFamily simt_family() {
  return {{
      SimtConfig{.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 4, .thread_n = 4},
      SimtConfig{.block_m = 16,  .block_n = 16,  .block_k = 32, .thread_m = 1, .thread_n = 1},
      SimtConfig{.block_m = 8,   .block_n = 64,  .block_k = 32, .thread_m = 1, .thread_n = 4},
      SimtConfig{.block_m = 24,  .block_n = 48,  .block_k = 7,  .thread_m = 3, .thread_n = 3},
      SimtConfig{.block_m = 128, .block_n = 128, .block_k = 8,  .thread_m = 8, .thread_n = 8},
  }, {{DType::f16, DType::f32}, {DType::bf16, DType::f32}, {DType::f32, DType::f32}}};
}

/// Types of D, or of B, that differ from that of A.
inline TestFamily mixed_types_family() {
  TestFamily family = simt_family();
  family.types.clear();
  for (const KernelTypes& types : kSimtTypes) {
    if (types.is_mixed()) family.types.push_back(types);
  }
  return family;
}

/// Every number of stages, packed and not packed, with accesses of single elements, so that any alignment works.
inline TestFamily fma_family() {
  return {{
      FmaConfig{.block_m = 32,  .block_n = 32,  .thread_m = 1, .thread_n = 1, .stages = 0, .access = 1, .packed = false, .padded = false},
      FmaConfig{.block_m = 32,  .block_n = 32,  .block_k = 32, .thread_m = 1, .thread_n = 1, .stages = 1, .access = 1, .packed = false, .padded = false},
      FmaConfig{.block_m = 96,  .block_n = 32,  .block_k = 14, .thread_m = 6, .thread_n = 4, .stages = 2, .access = 1, .packed = false},
      FmaConfig{.block_m = 128, .block_n = 128, .block_k = 8,  .thread_m = 8, .thread_n = 8, .stages = 1, .access = 1},
      FmaConfig{.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8, .thread_n = 8, .stages = 2, .access = 1},
      FmaConfig{.block_m = 256, .block_n = 128, .block_k = 8,  .thread_m = 16, .thread_n = 8, .stages = 2, .access = 1},
  }, {{DType::f16, DType::f32}, {DType::bf16, DType::f32}, {DType::f32, DType::f32}, {DType::f16, DType::f16},
      {DType::tf32, DType::f32, DType::tf32, DType::f32}}};
}
/// Configs with cp.async of words, also with slices.
inline TestFamily fma_words_family() {
  return {{
      FmaConfig{.block_m = 32,  .block_n = 32,  .block_k = 32, .thread_m = 4,  .thread_n = 4,  .stages = 4, .access = 1, .async_copy = true},
      FmaConfig{.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 2, .access = 1, .async_copy = true, .blocks_per_sm = 2},
      FmaConfig{.block_m = 128, .block_n = 256, .block_k = 16, .thread_m = 8,  .thread_n = 16, .stages = 3, .access = 1, .async_copy = true},
      FmaConfig{.block_m = 4,   .block_n = 32,  .block_k = 48, .thread_m = 2,  .thread_n = 2,  .stages = 3, .access = 1, .packed = false, .async_copy = true, .slices = 6},
  }, {{DType::f32, DType::f32}}};
}
// clang-format on

}  // namespace hotgemm
