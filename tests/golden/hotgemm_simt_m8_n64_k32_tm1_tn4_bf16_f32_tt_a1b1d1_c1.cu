#include "simt.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::bf16, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::t, .op_b = hotgemm::Op::t, .reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1};
constexpr hotgemm::SimtConfig kConfig{.block_m = 8, .block_n = 64, .block_k = 32, .thread_m = 1, .thread_n = 4};
extern "C" __global__ void __launch_bounds__(kConfig.threads())
hotgemm_simt_m8_n64_k32_tm1_tn4_bf16_f32_tt_a1b1d1_c1(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::simt_gemm<kTraits, kConfig>(args);
}
