#include "mma.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f16, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::t, .op_b = hotgemm::Op::t, .reads_c = true, .vec_a = 8, .vec_b = 8, .vec_d = 8};
constexpr hotgemm::MmaConfig kConfig{.block_m = 64, .block_n = 64, .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 4, .swizzle = true, .fragment_buffers = 2, .store = 1, .blocks_per_sm = 2};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_mma_m64_n64_k64_wm2_wn2_s4_x1_f2_e1_b2_f16_f32_tt_a8b8d8_c1(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::mma_gemm<kTraits, kConfig>(args);
}
