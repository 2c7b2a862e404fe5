#include "mma.cuh"
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f16, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::t, .reads_c = false, .vec_a = 4, .vec_b = 2, .vec_d = 1};
constexpr hotgemm::MmaConfig kConfig{.block_m = 16, .block_n = 64, .block_k = 64, .warps_m = 1, .warps_n = 4, .stages = 4, .swizzle = true, .fragment_buffers = 2, .store = 0, .blocks_per_sm = 1};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_mma_m16_n64_k64_wm1_wn4_s4_x1_f2_e0_b1_f16_f32_nt_a4b2d1_c0(const __grid_constant__ hotgemm::GemmArgs args) {
  hotgemm::mma_gemm<kTraits, kConfig>(args);
}
