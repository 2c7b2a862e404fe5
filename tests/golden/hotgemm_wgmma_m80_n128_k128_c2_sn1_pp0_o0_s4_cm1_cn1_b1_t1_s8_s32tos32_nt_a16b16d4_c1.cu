#include "wgmma.cuh"
struct Instruction {
  static HOTGEMM_DEVICE void mma_async(hotgemm::u32 (&d)[40], hotgemm::u64 a, hotgemm::u64 b, bool accumulate) {
    HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %42, 0; "
                "wgmma.mma_async.sync.aligned.m64n80k32.s32.s8.s8 "
                "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}, "
                "%40, %41, p; }"
                : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39])
                : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
  }
};
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::s8, .accumulator = hotgemm::DType::s32, .element_b = hotgemm::DType::s8, .element_d = hotgemm::DType::s32, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::t, .reads_c = true, .vec_a = 16, .vec_b = 16, .vec_d = 4};
constexpr hotgemm::WgmmaConfig kConfig{.block_m = 80, .block_n = 128, .block_k = 128, .consumers = 2, .split_n = true, .ping_pong = false, .one_tile = false, .stages = 4, .cluster_m = 1, .cluster_n = 1, .blocks_per_sm = 1, .transposed = true};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)
hotgemm_wgmma_m80_n128_k128_c2_sn1_pp0_o0_s4_cm1_cn1_b1_t1_s8_s32tos32_nt_a16b16d4_c1(const __grid_constant__ hotgemm::WgmmaArgs args) {
  hotgemm::wgmma_gemm<kTraits, kConfig, Instruction>(args);
}
