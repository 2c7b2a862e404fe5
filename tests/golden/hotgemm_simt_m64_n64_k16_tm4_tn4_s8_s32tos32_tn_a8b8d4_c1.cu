#include "simt.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::s8, .accumulator = hotgemm::DType::s32, .element_b = hotgemm::DType::s8, .element_d = hotgemm::DType::s32, .op_a = hotgemm::Op::t, .op_b = hotgemm::Op::n, .reads_c = true, .vec_a = 8, .vec_b = 8, .vec_d = 4};
constexpr hotgemm::SimtConfig kConfig{.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4};
extern "C" __global__ void __launch_bounds__(kConfig.threads())
hotgemm_simt_m64_n64_k16_tm4_tn4_s8_s32tos32_tn_a8b8d4_c1(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::simt_gemm<kTraits, kConfig>(args);
}
