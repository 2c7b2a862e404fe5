#include "wgmma.cuh"
struct Instruction {
  static HOTGEMM_DEVICE void mma_async(float (&d)[40], hotgemm::u64 a, hotgemm::u64 b, bool accumulate) {
    HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %42, 0; "
                "wgmma.mma_async.sync.aligned.m64n80k32.f32.e4m3.e4m3 "
                "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39}, "
                "%40, %41, p, 1, 1; }"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
                : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
  }
};

constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::e4m3, .accumulator = hotgemm::DType::f32, .element_b = hotgemm::DType::e4m3, .element_d = hotgemm::DType::bf16, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::t, .reads_c = false, .vec_a = 16, .vec_b = 16, .vec_d = 8, .epilogue = {.scale_a = hotgemm::Scaling::block_1x128, .scale_b = hotgemm::Scaling::block_128x128}};
constexpr hotgemm::WgmmaConfig kConfig{.block_m = 256, .block_n = 160, .block_k = 128, .consumers = 2, .split_n = true, .ping_pong = false, .one_tile = false, .stages = 3, .cluster_m = 1, .cluster_n = 1, .blocks_per_sm = 1, .promote = true};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm) 
kern(const __grid_constant__ hotgemm::WithExtras<hotgemm::WgmmaArgs> args) {
  hotgemm::wgmma_gemm<kTraits, kConfig, Instruction>(args);
}
