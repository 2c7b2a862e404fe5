#include "simt.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f16, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::n, .reads_c = false, .vec_a = 8, .vec_b = 8, .vec_d = 8, .epilogue = {.bias = hotgemm::Bias::per_column, .aux = true, .activation = hotgemm::Activation::relu, .bits = true, .bias_gradient = hotgemm::Bias::per_column}};
constexpr hotgemm::SimtConfig kConfig{.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4};
extern "C" __global__ void __launch_bounds__(kConfig.threads())
hotgemm_simt_m64_n64_k16_tm4_tn4_f16_f32_nn_a8b8d8_c0_ebnauxrelubitsdbn(const __grid_constant__ hotgemm::WithExtras<hotgemm::GemmArgs> args) {
  hotgemm::simt_gemm<kTraits, kConfig>(args);
}
