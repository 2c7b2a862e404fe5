#include "wgmma.cuh"
struct Instruction {
  static HOTGEMM_DEVICE void mma_async(hotgemm::u32 (&d)[32], hotgemm::u64 a, hotgemm::u64 b, bool accumulate) {
    HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %34, 0; "
                "wgmma.mma_async.sync.aligned.m64n128k16.f16.f16.f16 "
                "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                "%32, %33, p, 1, 1, 0, 1; }"
                : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31])
                : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
  }
};
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f16, .accumulator = hotgemm::DType::f16, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::n, .reads_c = false, .vec_a = 8, .vec_b = 8, .vec_d = 8};
constexpr hotgemm::WgmmaConfig kConfig{.block_m = 128, .block_n = 128, .block_k = 64, .consumers = 2, .split_n = false, .ping_pong = false, .one_tile = false, .stages = 4, .cluster_m = 2, .cluster_n = 1, .blocks_per_sm = 1};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm) __cluster_dims__(2, 1, 1)
hotgemm_wgmma_m128_n128_k64_c2_sn0_pp0_o0_s4_cm2_cn1_b1_f16_f16_nn_a8b8d8_c0(const __grid_constant__ hotgemm::WgmmaArgs args) {
  hotgemm::wgmma_gemm<kTraits, kConfig, Instruction>(args);
}
