#include "simt.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::e4m3, .accumulator = hotgemm::DType::f32, .element_b = hotgemm::DType::e5m2, .element_d = hotgemm::DType::f32, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::t, .reads_c = false, .vec_a = 8, .vec_b = 8, .vec_d = 4};
constexpr hotgemm::SimtConfig kConfig{.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4};
extern "C" __global__ void __launch_bounds__(kConfig.threads())
hotgemm_simt_m64_n64_k16_tm4_tn4_e4m3xe5m2_f32tof32_nt_a8b8d4_c0(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::simt_gemm<kTraits, kConfig>(args);
}
