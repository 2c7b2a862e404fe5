#include "simt.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f32, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::t, .op_b = hotgemm::Op::n, .reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1};
constexpr hotgemm::SimtConfig kConfig{.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4};
extern "C" __global__ void __launch_bounds__(kConfig.threads())
hotgemm_simt_m64_n64_k16_tm4_tn4_f32_f32_tn_a1b1d1_c1(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::simt_gemm<kTraits, kConfig>(args);
}
