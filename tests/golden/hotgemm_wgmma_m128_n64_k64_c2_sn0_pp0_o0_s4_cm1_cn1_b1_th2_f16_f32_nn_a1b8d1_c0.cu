#include "wgmma.cuh"
struct Instruction {
  static HOTGEMM_DEVICE void mma_async(float (&d)[32], hotgemm::u64 a, hotgemm::u64 b, bool accumulate) {
    HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %34, 0; "
                "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                "%32, %33, p, 1, 1, 0, 1; }"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
  }
};
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::f16, .accumulator = hotgemm::DType::f32, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::n, .reads_c = false, .vec_a = 1, .vec_b = 8, .vec_d = 1};
constexpr hotgemm::WgmmaConfig kConfig{.block_m = 128, .block_n = 64, .block_k = 64, .consumers = 2, .split_n = false, .ping_pong = false, .one_tile = false, .stages = 4, .cluster_m = 1, .cluster_n = 1, .blocks_per_sm = 1, .loaders = 2};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_wgmma_m128_n64_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1_th2_f16_f32_nn_a1b8d1_c0(const __grid_constant__ hotgemm::WgmmaArgs args) {
  hotgemm::wgmma_gemm<kTraits, kConfig, Instruction>(args);
}
