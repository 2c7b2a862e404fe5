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

/// A lies in shared memory as in global memory.
constexpr FmaConfig untransposed(FmaConfig config) { config.transposed = false; return config; }
/// The rows of a thread are two groups of four that lie apart, and so are its columns.
constexpr FmaConfig split(FmaConfig config) { config.group = 4; return config; }

/// A thread for each element of D, which reads its rows of A and columns of B itself.
inline constexpr FmaConfig kNaive{.block_m = 32, .block_n = 32, .block_k = 8, .thread_m = 1, .thread_n = 1, .stages = 0, .access = 1, .packed = false, .padded = false};
/// A thread for each element, or for 4×4 or 6×4, with tiles in shared memory. TF32's, in layout nt, are transposed:
/// columns of B that lie along k would all begin in one bank.
inline constexpr FmaConfig kBlockTile{.block_m = 32, .block_n = 32, .block_k = 32, .thread_m = 1, .thread_n = 1, .access = 1, .packed = false, .padded = false};
inline constexpr FmaConfig kThreadTile{.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4, .access = 1, .packed = false, .padded = false};
inline constexpr FmaConfig kFloatTile{.block_m = 96, .block_n = 32, .block_k = 64, .thread_m = 6, .thread_n = 4, .access = 4, .packed = false, .padded = true};

/// The tiles of the log of INT8 kernels, whose block_k is always 128.
constexpr FmaConfig int8_tile(int block_m, int block_n, int thread_m, int thread_n) {
  return {.block_m = block_m, .block_n = block_n, .block_k = 128, .thread_m = thread_m, .thread_n = thread_n, .access = 16,
          .packed = false, .padded = true};
}

/// 16×16 fragments. In the name, `mma` is m×n warps, and `warp` is the m×n fragments of each warp.
/// `stages` 0: fragments come from global memory.
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
constexpr MmaConfig with_reduced_registers(MmaConfig config) { config.recomputes = true; return config; }
/// Like the CuTe kernel of the material: each of 2×2 warps has 64×128 of a tile.
constexpr MmaConfig cute(int stages) {
  return {.block_m = 128, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = stages};
}
// clang-format on

}  // namespace rung

// clang-format off
inline constexpr auto kRungs = std::to_array<Rung>({
    // HGEMM on CUDA cores
    {"hgemm_naive_f16", "naive", rung::kNaive},
    {"hgemm_sliced_k_f16", "sliced_k", rung::untransposed(rung::kBlockTile)},
    {"hgemm_t_8x8_sliced_k_f16x4", "f16x4+t8x8", rung::untransposed(rung::hfma(128, 8, 8, 1, 4, false, false))},
    {"hgemm_t_8x8_sliced_k_f16x4_pack", "f16x4pack+t8x8", rung::untransposed(rung::hfma(128, 8, 8, 1, 4, true, false))},
    {"hgemm_t_8x8_sliced_k_f16x4_bcf", "f16x4+t8x8+bcf", rung::split(rung::hfma(128, 8, 8, 1, 4, false, false))},
    {"hgemm_t_8x8_sliced_k_f16x4_pack_bcf", "f16x4pack+t8x8+bcf", rung::split(rung::hfma(128, 8, 8, 1, 4, true, true))},
    {"hgemm_t_8x8_sliced_k_f16x8_pack_bcf", "f16x8pack+t8x8+bcf", rung::hfma(128, 8, 8, 1, 8, true, true)},
    {"hgemm_t_8x8_sliced_k_f16x8_pack_bcf_dbuf", "f16x8pack+t8x8+dbuf", rung::hfma(128, 8, 8, 2, 8, true, true)},
    {"hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf", "f16x8pack+t8x8+k16+dbuf", rung::hfma(128, 16, 8, 2, 8, true, true)},
    {"hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf_async", "f16x8pack+t8x8+k16+dbuf+async", rung::hfma(128, 16, 8, 2, 8, true, true, true)},
    {"hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf", "f16x8pack+t8x8+k32+dbuf", rung::hfma(128, 32, 8, 2, 8, true, true)},
    {"hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf_async", "f16x8pack+t8x8+k32+dbuf+async", rung::hfma(128, 32, 8, 2, 8, true, true, true)},
    {"hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf", "f16x8pack+t16x8+k32+dbuf", rung::hfma(128, 32, 16, 2, 8, true, true)},
    {"hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf_async", "f16x8pack+t16x8+k32+dbuf+async", rung::hfma(128, 32, 16, 2, 8, true, true, true)},
    // WMMA
    {"hgemm_wmma_m16n16k16_naive", "wmma", rung::wmma(1, 1, 1, 1, 0, false, false)},
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
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_rr", "mma2x4+warp4x4x2+stage2+dsmem+rr", rung::with_reduced_registers(rung::warp4x4x2(2))},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_rr", "mma2x4+warp4x4x2+stage2+dsmem+swizzle+rr", rung::with_reduced_registers(rung::warp4x4x2(2)), DType::f16, Op::n, true},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_swizzle", "mma2x4+warp4x4x2+stage2+dsmem+smem swizzle", rung::with_swizzle(rung::warp4x4x2(2))},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4_stages_dsmem_tn", "tn+mma2x4+warp4x4+stage2+dsmem", rung::warp4x4(2), DType::f16, Op::t},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem_tn_swizzle_x4", "tn+mma2x4+warp4x4x2+stage2+dsmem+smem swizzle+x4", rung::with_x4(rung::with_swizzle(rung::warp4x4x2(2))), DType::f16, Op::t},
    {"hgemm_mma_stages_block_swizzle_tn_cute", "tn+cute+stage3+smem swizzle", rung::cute(3), DType::f16, Op::t},
    {"hgemm_mma_stages_block_swizzle_tn_cute", "tn+cute+stage2+smem swizzle+swizzle", rung::cute(2), DType::f16, Op::t, true},
    // SGEMM on CUDA cores
    {"sgemm_naive", "f32+naive", rung::kNaive, DType::f32},
    {"sgemm_block_tiling", "f32+block", rung::untransposed(rung::kBlockTile), DType::f32},
    {"sgemm_thread_tiling", "f32+t4x4", rung::untransposed(rung::kThreadTile), DType::f32},
    {"mm_mma_float", "f32+t6x4", rung::kFloatTile, DType::f32},
    // INT8 on CUDA cores, with dp4a, which the first feeds with one element; from the smallest tile to the largest
    {"matrixMulOnGPU", "s8+naive", rung::kNaive, DType::s8, Op::t},
    {"mm_mma_int8", "s8+16x16+t1x1", rung::int8_tile(16, 16, 1, 1), DType::s8, Op::t},
    {"mm_mma_int8", "s8+32x32+t2x2", rung::int8_tile(32, 32, 2, 2), DType::s8, Op::t},
    {"mm_mma_int8", "s8+64x32+t4x2", rung::int8_tile(64, 32, 4, 2), DType::s8, Op::t},
    {"mm_mma_int8", "s8+64x64+t4x4", rung::int8_tile(64, 64, 4, 4), DType::s8, Op::t},
    {"mm_mma_int8", "s8+128x128+t8x16", rung::int8_tile(128, 128, 8, 16), DType::s8, Op::t},
    {"mm_mma_int8", "s8+128x128+t16x8", rung::int8_tile(128, 128, 16, 8), DType::s8, Op::t},
    {"mm_mma_int8", "s8+128x256+t8x16", rung::int8_tile(128, 256, 8, 16), DType::s8, Op::t},
    {"mm_mma_int8", "s8+256x128+t16x8", rung::int8_tile(256, 128, 16, 8), DType::s8, Op::t},
    // Kernels that hotgemm developed from these: the fastest known of each family
    {"hotgemm_wmma", "ours: wmma256x128", WmmaConfig{.block_m = 256, .block_n = 128, .block_k = 64, .warps_m = 4, .warps_n = 2, .stages = 3}, DType::f16, Op::n, true},
    {"hotgemm_wmma", "ours: wmma256x256", WmmaConfig{.block_m = 256, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 4}, DType::f16, Op::n, true},
    {"hotgemm_mma", "ours: mma2x4+warp4x4x2+stage2+one set", rung::with_one_buffer(rung::warp4x4x2(2))},
    {"hotgemm_mma", "ours: mma256x256", MmaConfig{.block_m = 256, .block_n = 256, .block_k = 64, .warps_m = 2, .warps_n = 4, .stages = 3}, DType::f16, Op::n, true},
    {"hotgemm_mma", "ours: mma256x128", MmaConfig{.block_m = 256, .block_n = 128, .block_k = 64, .warps_m = 4, .warps_n = 2, .stages = 3}, DType::f16, Op::n, true},
    {"hotgemm_mma", "ours: tn+mma256x256", MmaConfig{.block_m = 256, .block_n = 256, .block_k = 64, .warps_m = 2, .warps_n = 4, .stages = 3}, DType::f16, Op::t, true},
    {"hotgemm_wgmma", "ours: wgmma128x128", WgmmaConfig{.block_m = 128, .block_n = 128, .ping_pong = true, .stages = 6, .cluster_n = 2}, DType::f16, Op::n, true},
    {"hotgemm_sgemm", "ours: f32+t8x8", FmaConfig{.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8, .thread_n = 8, .stages = 3, .access = 4, .async_copy = true, .blocks_per_sm = 2}, DType::f32, Op::n, true},
    {"hotgemm_sgemm", "ours: f32+t16x8", FmaConfig{.block_m = 256, .block_n = 128, .block_k = 16, .thread_m = 16, .thread_n = 8, .stages = 3, .access = 4, .async_copy = true}, DType::f32, Op::n, true},
    {"hotgemm_igemm", "ours: s8+t8x8", FmaConfig{.block_m = 128, .block_n = 128, .block_k = 64, .thread_m = 8, .thread_n = 8, .stages = 3, .access = 16, .async_copy = true, .blocks_per_sm = 2}, DType::s8, Op::t, true},
    {"hotgemm_igemm", "ours: s8+t16x8", FmaConfig{.block_m = 256, .block_n = 128, .block_k = 64, .thread_m = 16, .thread_n = 8, .stages = 3, .access = 16, .async_copy = true}, DType::s8, Op::t, true},
    {"hotgemm_igemm_mma", "ours: s8+mma256x128", MmaConfig{.block_m = 256, .block_n = 128, .block_k = 128, .warps_m = 4, .warps_n = 2, .stages = 3, .store = kDirectStore}, DType::s8, Op::t, true},
    {"hotgemm_igemm_wgmma", "ours: s8+wgmma128x128", WgmmaConfig{.block_m = 128, .block_n = 128, .block_k = 128, .ping_pong = true, .stages = 6}, DType::s8, Op::t, true},
    // TF32: the tiles of SGEMM, whose copies round, then tensor cores
    {"hotgemm_tf32_naive", "ours: tf32+naive", rung::kNaive, DType::tf32, Op::t},
    {"hotgemm_tf32", "ours: tf32+block", rung::kBlockTile, DType::tf32, Op::t},
    {"hotgemm_tf32", "ours: tf32+t4x4", rung::kThreadTile, DType::tf32, Op::t},
    {"hotgemm_tf32", "ours: tf32+t6x4", rung::kFloatTile, DType::tf32, Op::t},
    {"hotgemm_tf32_mma", "ours: tf32+mma256x128", MmaConfig{.block_m = 256, .block_n = 128, .block_k = 32, .warps_m = 4, .warps_n = 2, .stages = 3, .store = kDirectStore}, DType::tf32, Op::t, true},
    {"hotgemm_tf32_wgmma", "ours: tf32+wgmma128x256", WgmmaConfig{.block_m = 128, .block_n = 256, .block_k = 32}, DType::tf32, Op::t, true},
    // cuBLAS, last
    {"hgemm_cublas_tensor_op_nn", "cublas", std::nullopt},
    {"hgemm_cublas_tensor_op_tn", "tn+cublas", std::nullopt, DType::f16, Op::t},
    {"sgemm_cublas", "f32+cublas", std::nullopt, DType::f32},
    {"igemm_cublas", "s8+cublas", std::nullopt, DType::s8, Op::t},
    {"tf32_cublas", "tf32+cublas", std::nullopt, DType::tf32, Op::t},
});
// clang-format on

}  // namespace hotgemm
