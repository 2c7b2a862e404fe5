#pragma once

#include "ladder/ladder.hpp"

#include <array>

// The rungs in the order of the ladder. Include this header only to use the kernels of all rungs at compile time.

namespace hotgemm {
namespace rung {

// clang-format off
/// hgemm on CUDA cores. The thread tile is in the kernel's name; k16 and k32 in the name are block_k.
constexpr FmaConfig hfma(int block_m, int block_k, int thread_m, int stages, int access, bool packed, bool padded, bool async_copy = false) {
  return {.block_m = block_m, .block_n = 128, .block_k = block_k, .thread_m = thread_m, .thread_n = 8, .stages = stages,
          .access = access, .packed = packed, .padded = padded, .async_copy = async_copy};
}

/// 16×16 fragments. In the name, `mma` is m×n warps, and `warp` is the m×n fragments of each warp.
constexpr WmmaConfig wmma(int warps_m, int warps_n, int fragments_m, int fragments_n, int stages, bool async_copy = true, bool padded = true) {
  return {.block_m = warps_m * fragments_m * 16, .block_n = warps_n * fragments_n * 16, .block_k = 16, .warps_m = warps_m,
          .warps_n = warps_n, .stages = stages, .async_copy = async_copy, .padded = padded};
}

/// 128×128 tiles of 2×4 warps, each with 4×4 instructions. warp4x4 has k-tiles of one k-step. warp4x4x2 has k-tiles of
/// two k-steps, double-buffered fragments, and a store that collects results by shuffles.
constexpr MmaConfig warp4x4(int stages) {
  return {.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 2, .warps_n = 4, .stages = stages, .swizzle = false,
          .fragment_buffers = 1, .store = kDirectStore, .b_matrices = 2, .serpentine = false};
}
constexpr MmaConfig warp4x4x2(int stages) {
  return {.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = stages, .swizzle = false,
          .fragment_buffers = 2, .store = kShuffledStore, .b_matrices = 2};
}
constexpr MmaConfig with_x4(MmaConfig config) { config.b_matrices = 4; return config; }
constexpr MmaConfig with_swizzle(MmaConfig config) { config.swizzle = true; return config; }
constexpr MmaConfig with_one_buffer(MmaConfig config) { config.fragment_buffers = 1; return config; }
/// Like the CuTe kernel of the material: each of 2×2 warps has 64×128 of a tile.
constexpr MmaConfig cute(int stages) {
  return {.block_m = 128, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = stages};
}
// clang-format on

}  // namespace rung

// clang-format off
inline constexpr auto kRungs = std::to_array<Rung>({
    // HGEMM on CUDA cores
    {"hgemm_naive_f16", "naive", FmaConfig{.block_m = 32, .block_n = 32, .block_k = 8, .thread_m = 1, .thread_n = 1, .stages = 0, .access = 1, .packed = false, .padded = false}},
    {"hgemm_sliced_k_f16", "sliced_k", FmaConfig{.block_m = 32, .block_n = 32, .block_k = 32, .thread_m = 1, .thread_n = 1, .access = 1, .packed = false, .padded = false}},
    {"hgemm_t_8x8_sliced_k_f16x4", "f16x4+t8x8", rung::hfma(128, 8, 8, 1, 4, false, false)},
    {"hgemm_t_8x8_sliced_k_f16x4_pack", "f16x4pack+t8x8", rung::hfma(128, 8, 8, 1, 4, true, false)},
    {"hgemm_t_8x8_sliced_k_f16x4_bcf", "f16x4+t8x8+bcf", rung::hfma(128, 8, 8, 1, 4, false, true)},
    {"hgemm_t_8x8_sliced_k_f16x4_pack_bcf", "f16x4pack+t8x8+bcf", rung::hfma(128, 8, 8, 1, 4, true, true)},
    {"hgemm_t_8x8_sliced_k_f16x8_pack_bcf", "f16x8pack+t8x8+bcf", rung::hfma(128, 8, 8, 1, 8, true, true)},
    {"hgemm_t_8x8_sliced_k_f16x8_pack_bcf_dbuf", "f16x8pack+t8x8+dbuf", rung::hfma(128, 8, 8, 2, 8, true, true)},
    {"hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf", "f16x8pack+t8x8+k16+dbuf", rung::hfma(128, 16, 8, 2, 8, true, true)},
    {"hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf_async", "f16x8pack+t8x8+k16+dbuf+async", rung::hfma(128, 16, 8, 2, 8, true, true, true)},
    {"hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf", "f16x8pack+t8x8+k32+dbuf", rung::hfma(128, 32, 8, 2, 8, true, true)},
    {"hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf_async", "f16x8pack+t8x8+k32+dbuf+async", rung::hfma(128, 32, 8, 2, 8, true, true, true)},
    {"hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf", "f16x8pack+t16x8+k32+dbuf", rung::hfma(256, 32, 16, 2, 8, true, true)},
    {"hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf_async", "f16x8pack+t16x8+k32+dbuf+async", rung::hfma(256, 32, 16, 2, 8, true, true, true)},
    // WMMA
    {"hgemm_wmma_m16n16k16_naive", "wmma", rung::wmma(1, 1, 1, 1, 1, false, false)},
    {"hgemm_wmma_m16n16k16_mma4x2", "wmma4x2", rung::wmma(4, 2, 1, 1, 1, false, false)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4", "wmma4x2+warp2x4", rung::wmma(4, 2, 2, 4, 1, false, false)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_async", "wmma4x2+warp2x4+async", rung::wmma(4, 2, 2, 4, 1, true, false)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_async_offset", "wmma4x2+warp2x4+async+offset", rung::wmma(4, 2, 2, 4, 1)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_dbuf_async", "wmma4x2+warp2x4+dbuf+async", rung::wmma(4, 2, 2, 4, 2)},
    {"hgemm_wmma_m32n8k16_mma2x4_warp2x4_dbuf_async", "wmma32x8+mma2x4+warp2x4+dbuf+async", WmmaConfig{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 2, .warps_n = 4, .fragment_m = 32, .stages = 2}},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages", "wmma4x2+warp2x4+stage3", rung::wmma(4, 2, 2, 4, 3)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages", "wmma4x2+warp2x4+stage2", rung::wmma(4, 2, 2, 4, 2)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages", "wmma4x2+warp2x4+stage3+swizzle", rung::wmma(4, 2, 2, 4, 3), DType::f16, Op::n, true},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages", "wmma4x2+warp2x4+stage2+swizzle", rung::wmma(4, 2, 2, 4, 2), DType::f16, Op::n, true},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem", "wmma4x2+warp2x4+stage4+dsmem", rung::wmma(4, 2, 2, 4, 4)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem", "wmma4x2+warp2x4+stage3+dsmem", rung::wmma(4, 2, 2, 4, 3)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem", "wmma4x2+warp2x4+stage2+dsmem", rung::wmma(4, 2, 2, 4, 2)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem", "wmma4x2+warp2x4+stage3+dsmem+swizzle", rung::wmma(4, 2, 2, 4, 3), DType::f16, Op::n, true},
    {"hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem", "wmma4x2+warp2x4+stage2+dsmem+swizzle", rung::wmma(4, 2, 2, 4, 2), DType::f16, Op::n, true},
    {"hgemm_wmma_m16n16k16_mma4x2_warp4x4_stages_dsmem", "wmma4x2+warp4x4+stage3+dsmem", rung::wmma(4, 2, 4, 4, 3)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp4x4_stages_dsmem", "wmma4x2+warp4x4+stage2+dsmem", rung::wmma(4, 2, 4, 4, 2)},
    {"hgemm_wmma_m16n16k16_mma4x2_warp4x4_stages_dsmem", "wmma4x2+warp4x4+stage3+dsmem+swizzle", rung::wmma(4, 2, 4, 4, 3), DType::f16, Op::n, true},
    {"hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages_dsmem", "wmma4x4+warp4x4+stage3+dsmem", rung::wmma(4, 4, 4, 4, 3)},
    {"hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages_dsmem", "wmma4x4+warp4x4+stage2+dsmem", rung::wmma(4, 4, 4, 4, 2)},
    {"hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages_dsmem", "wmma4x4+warp4x4+stage3+dsmem+swizzle", rung::wmma(4, 4, 4, 4, 3), DType::f16, Op::n, true},
    {"hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages_dsmem", "wmma4x4+warp4x4+stage2+dsmem+swizzle", rung::wmma(4, 4, 4, 4, 2), DType::f16, Op::n, true},
    // MMA
    {"hgemm_mma_m16n8k16_naive", "mma", MmaConfig{.block_m = 16, .block_n = 8, .block_k = 16, .warps_m = 1, .warps_n = 1, .stages = 1, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .async_copy = false, .padded = false, .b_matrices = 2, .serpentine = false}},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4", "mma2x4+warp4x4", MmaConfig{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 2, .warps_n = 4, .stages = 1, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .async_copy = false, .padded = false, .b_matrices = 2, .serpentine = false}},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages", "mma2x4+warp4x4+stage3", rung::warp4x4(3)},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages", "mma2x4+warp4x4+stage2", rung::warp4x4(2)},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages", "mma2x4+warp4x4+stage3+swizzle", rung::warp4x4(3), DType::f16, Op::n, true},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages", "mma2x4+warp4x4+stage2+swizzle", rung::warp4x4(2), DType::f16, Op::n, true},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem", "mma2x4+warp4x4+stage4+dsmem", rung::warp4x4(4)},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem", "mma2x4+warp4x4+stage2+dsmem", rung::warp4x4(2)},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem", "mma2x4+warp4x4+stage2+dsmem+swizzle", rung::warp4x4(2), DType::f16, Op::n, true},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem", "mma2x4+warp4x4x2+stage4+dsmem", rung::warp4x4x2(4)},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem", "mma2x4+warp4x4x2+stage2+dsmem", rung::warp4x4x2(2)},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem", "mma2x4+warp4x4x2+stage2+dsmem+swizzle", rung::warp4x4x2(2), DType::f16, Op::n, true},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_x4", "mma2x4+warp4x4x2+stage2+dsmem+x4", rung::with_x4(rung::warp4x4x2(2))},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_rr", "mma2x4+warp4x4x2+stage2+dsmem+rr", rung::with_one_buffer(rung::warp4x4x2(2))},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_rr", "mma2x4+warp4x4x2+stage2+dsmem+swizzle+rr", rung::with_one_buffer(rung::warp4x4x2(2)), DType::f16, Op::n, true},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_swizzle", "mma2x4+warp4x4x2+stage2+dsmem+smem swizzle", rung::with_swizzle(rung::warp4x4x2(2))},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem_tn", "tn+mma2x4+warp4x4+stage2+dsmem", rung::warp4x4(2), DType::f16, Op::t},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_tn_swizzle_x4", "tn+mma2x4+warp4x4x2+stage2+dsmem+smem swizzle+x4", rung::with_x4(rung::with_swizzle(rung::warp4x4x2(2))), DType::f16, Op::t},
    {"hgemm_mma_stages_block_swizzle_tn_cute", "tn+cute+stage3+smem swizzle", rung::cute(3), DType::f16, Op::t},
    {"hgemm_mma_stages_block_swizzle_tn_cute", "tn+cute+stage2+smem swizzle+swizzle", rung::cute(2), DType::f16, Op::t, true},
    // SGEMM on CUDA cores
    {"sgemm_naive", "f32+naive", FmaConfig{.block_m = 32, .block_n = 32, .block_k = 8, .thread_m = 1, .thread_n = 1, .stages = 0, .access = 1, .packed = false, .padded = false}, DType::f32},
    {"sgemm_block_tiling", "f32+block", FmaConfig{.block_m = 32, .block_n = 32, .block_k = 32, .thread_m = 1, .thread_n = 1, .access = 1, .packed = false, .padded = false}, DType::f32},
    {"sgemm_thread_tiling", "f32+t4x4", FmaConfig{.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4, .access = 1, .packed = false, .padded = false}, DType::f32},
    {"mm_mma_float", "f32+t6x4", FmaConfig{.block_m = 96, .block_n = 32, .block_k = 64, .thread_m = 6, .thread_n = 4, .access = 4, .packed = false, .padded = true}, DType::f32},
    // Kernels that hotgemm developed from these: the fastest known of each family
    {"hotgemm_wmma", "ours: wmma256x128", WmmaConfig{.block_m = 256, .block_n = 128, .block_k = 64, .warps_m = 4, .warps_n = 2, .stages = 3}, DType::f16, Op::n, true},
    {"hotgemm_wmma", "ours: wmma256x256", WmmaConfig{.block_m = 256, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 4}, DType::f16, Op::n, true},
    {"hotgemm_mma", "ours: mma256x256", MmaConfig{.block_m = 256, .block_n = 256, .block_k = 64, .warps_m = 2, .warps_n = 4, .stages = 3}, DType::f16, Op::n, true},
    {"hotgemm_mma", "ours: mma256x128", MmaConfig{.block_m = 256, .block_n = 128, .block_k = 64, .warps_m = 4, .warps_n = 2, .stages = 3}, DType::f16, Op::n, true},
    {"hotgemm_mma", "ours: tn+mma256x256", MmaConfig{.block_m = 256, .block_n = 256, .block_k = 64, .warps_m = 2, .warps_n = 4, .stages = 3}, DType::f16, Op::t, true},
    {"hotgemm_wgmma", "ours: wgmma128x128", WgmmaConfig{.block_m = 128, .block_n = 128, .ping_pong = true, .stages = 6, .cluster_n = 2}, DType::f16, Op::n, true},
    {"hotgemm_sgemm", "ours: f32+t8x8", FmaConfig{.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8, .thread_n = 8, .stages = 3, .access = 4, .async_copy = true, .blocks_per_sm = 2}, DType::f32, Op::n, true},
    {"hotgemm_sgemm", "ours: f32+t16x8", FmaConfig{.block_m = 256, .block_n = 128, .block_k = 16, .thread_m = 16, .thread_n = 8, .stages = 3, .access = 4, .async_copy = true}, DType::f32, Op::n, true},
    // cuBLAS, last
    {"hgemm_cublas_tensor_op_nn", "cublas", std::nullopt},
    {"hgemm_cublas_tensor_op_tn", "tn+cublas", std::nullopt, DType::f16, Op::t},
    {"sgemm_cublas", "f32+cublas", std::nullopt, DType::f32},
});
// clang-format on

}  // namespace hotgemm
