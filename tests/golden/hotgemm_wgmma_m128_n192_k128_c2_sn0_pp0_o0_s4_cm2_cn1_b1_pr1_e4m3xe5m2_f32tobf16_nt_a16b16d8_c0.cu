#include "wgmma.cuh"
struct Instruction {
  static HOTGEMM_DEVICE void mma_async(float (&d)[96], hotgemm::u64 a, hotgemm::u64 b, bool accumulate) {
    HOTGEMM_PTX("{ .reg .pred p; setp.ne.b32 p, %98, 0; "
                "wgmma.mma_async.sync.aligned.m64n192k32.f32.e4m3.e5m2 "
                "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}, "
                "%96, %97, p, 1, 1; }"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
                : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
  }
};
constexpr hotgemm::GemmTraits kTraits{.element = hotgemm::DType::e4m3, .accumulator = hotgemm::DType::f32, .element_b = hotgemm::DType::e5m2, .element_d = hotgemm::DType::bf16, .op_a = hotgemm::Op::n, .op_b = hotgemm::Op::t, .reads_c = false, .vec_a = 16, .vec_b = 16, .vec_d = 8};
constexpr hotgemm::WgmmaConfig kConfig{.block_m = 128, .block_n = 192, .block_k = 128, .consumers = 2, .split_n = false, .ping_pong = false, .one_tile = false, .stages = 4, .cluster_m = 2, .cluster_n = 1, .blocks_per_sm = 1, .promote = true};
extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm) __cluster_dims__(2, 1, 1)
hotgemm_wgmma_m128_n192_k128_c2_sn0_pp0_o0_s4_cm2_cn1_b1_pr1_e4m3xe5m2_f32tobf16_nt_a16b16d8_c0(const __grid_constant__ hotgemm::WgmmaArgs args) {
  hotgemm::wgmma_gemm<kTraits, kConfig, Instruction>(args);
}
