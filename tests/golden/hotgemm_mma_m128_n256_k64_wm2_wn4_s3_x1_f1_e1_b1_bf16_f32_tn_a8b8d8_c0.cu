#include "mma.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::bf16, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::t, .op_b = hotgemm::Op::n, .reads_c = false, .vec_a = 8, .vec_b = 8, .vec_d = 8};
constexpr hotgemm::MmaConfig kConfig{.block_m = 128, .block_n = 256, .block_k = 64, .warps_m = 2, .warps_n = 4, .stages = 3, .swizzle = true, .fragment_buffers = 1, .store = 1, .blocks_per_sm = 1};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_mma_m128_n256_k64_wm2_wn4_s3_x1_f1_e1_b1_bf16_f32_tn_a8b8d8_c0(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::mma_gemm<kTraits, kConfig>(args);
}
