#include "fma.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f32, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::n, .reads_c = false, .vec_a = 4, .vec_b = 4, .vec_d = 4};
constexpr hotgemm::FmaConfig kConfig{.block_m = 128, .block_n = 128, .block_k = 8, .thread_m = 8, .thread_n = 8, .stages = 2, .access = 4, .packed = true, .padded = true, .async_copy = false, .blocks_per_sm = 1};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_fma_m128_n128_k8_tm8_tn8_s2_v4_p1_x1_a0_b1_f32_f32_nn_a4b4d4_c0(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::fma_gemm<kTraits, kConfig>(args);
}
