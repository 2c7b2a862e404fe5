#include "mma.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f16, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::n, .reads_c = false, .vec_a = 8, .vec_b = 8, .vec_d = 8};
constexpr hotgemm::MmaConfig kConfig{.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 3, .swizzle = true, .fragment_buffers = 2, .store = 1, .blocks_per_sm = 1};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1_f16_f32_nn_a8b8d8_c0(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::mma_gemm<kTraits, kConfig>(args);
}
