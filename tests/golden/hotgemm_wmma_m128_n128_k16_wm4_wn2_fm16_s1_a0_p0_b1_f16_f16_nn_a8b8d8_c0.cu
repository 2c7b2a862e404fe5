#include "wmma.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f16, .accumulator = hotgemm::DType::f16, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::n, .reads_c = false, .vec_a = 8, .vec_b = 8, .vec_d = 8};
constexpr hotgemm::WmmaConfig kConfig{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 4, .warps_n = 2, .fragment_m = 16, .stages = 1, .async_copy = false, .padded = false, .blocks_per_sm = 1};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_wmma_m128_n128_k16_wm4_wn2_fm16_s1_a0_p0_b1_f16_f16_nn_a8b8d8_c0(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::wmma_gemm<kTraits, kConfig>(args);
}
