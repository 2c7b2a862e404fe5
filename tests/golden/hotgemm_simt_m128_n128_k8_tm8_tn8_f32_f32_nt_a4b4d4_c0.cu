#include "simt.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f32, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::t, .reads_c = false, .vec_a = 4, .vec_b = 4, .vec_d = 4};
constexpr hotgemm::SimtConfig kConfig{.block_m = 128, .block_n = 128, .block_k = 8, .thread_m = 8, .thread_n = 8};
extern "C" __global__ void __launch_bounds__(kConfig.threads())
hotgemm_simt_m128_n128_k8_tm8_tn8_f32_f32_nt_a4b4d4_c0(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::simt_gemm<kTraits, kConfig>(args);
}
