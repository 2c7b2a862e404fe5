#include "wmma.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::bf16, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::t, .op_b = hotgemm::Op::t, .reads_c = true, .vec_a = 8, .vec_b = 2, .vec_d = 1};
constexpr hotgemm::WmmaConfig kConfig{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 2, .warps_n = 4, .fragment_m = 32, .stages = 2, .async_copy = true, .padded = true, .blocks_per_sm = 1};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_wmma_m128_n128_k16_wm2_wn4_fm32_s2_a1_p1_b1_bf16_f32_tt_a8b2d1_c1(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::wmma_gemm<kTraits, kConfig>(args);
}
