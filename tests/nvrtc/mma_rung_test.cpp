// Kernels of family mma with the fields of the ladder's rungs, which differ from those of tuned kernels.

#include "nvrtc/compile_fixture.hpp"

#include <iterator>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

struct RungCase {
  MmaConfig config;
  bool is_nt = false;  ///< B is stored transposed
};

// From the first rung to the last: one warp and one product at a time; a block of warps; stages; register buffers and
// results exchanged between lanes; ldmatrix for two products; one register buffer; addresses that are not kept; B
// stored transposed; swizzled rows.
// clang-format off
constexpr RungCase kRungs[] = {
    {{.block_m = 16,  .block_n = 8,   .block_k = 16, .warps_m = 1, .warps_n = 1, .stages = 1, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .async_copy = false, .padded = false, .b_matrices = 2, .serpentine = false}},
    {{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 2, .warps_n = 4, .stages = 1, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .async_copy = false, .padded = false, .b_matrices = 2, .serpentine = false}},
    {{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 2, .warps_n = 4, .stages = 2, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .padded = false, .b_matrices = 2, .serpentine = false}},
    {{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 2, .warps_n = 4, .stages = 5, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .b_matrices = 2, .serpentine = false}},
    {{.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 2, .swizzle = false, .fragment_buffers = 2, .store = kShuffledStore, .b_matrices = 2}},
    {{.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 4, .swizzle = false, .fragment_buffers = 2, .store = kShuffledStore}},
    {{.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 3, .swizzle = false, .fragment_buffers = 1, .store = kShuffledStore, .b_matrices = 2}},
    {{.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 2, .swizzle = false, .fragment_buffers = 2, .store = kShuffledStore, .b_matrices = 2, .recomputes = true}},
    {{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 2, .warps_n = 4, .stages = 3, .swizzle = false, .fragment_buffers = 1, .store = kDirectStore, .b_matrices = 2, .serpentine = false}, true},
    {{.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 3, .swizzle = true,  .fragment_buffers = 2, .store = kShuffledStore, .b_matrices = 2}},
    {{.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 3, .swizzle = true,  .fragment_buffers = 2, .store = kShuffledStore}, true},
};
// A warp's tile of 64×128. With f16 sums few registers are left, with f32 sums none.
constexpr MmaConfig kLargestWarpTile{.block_m = 128, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 2, .fragment_buffers = 2};
// clang-format on

GemmTraits traits_for(DType accumulator, bool is_nt) {
  return {.accumulator = accumulator, .op_b = is_nt ? Op::t : Op::n};
}

TEST_F(CompileMatrix, RungsOfFamilyMmaDoNotSpill) {
  std::vector<MatrixCase> cases;
  for (const char* arch : {"sm_80", "sm_90a"}) {
    for (const DType accumulator : {DType::f16, DType::f32}) {
      for (const RungCase& rung : kRungs) {
        const GemmTraits traits = traits_for(accumulator, rung.is_nt);
        ASSERT_TRUE(is_legal(rung.config, traits, arch_limits(arch))) << to_string(KernelConfig(rung.config));
        cases.push_back(gemm_case(rung.config, traits, arch, bundle_));
      }
    }
  }
  compile(cases);
}

TEST_F(CompileMatrix, TheLargestWarpTileTakesSumsOfF16) {
  const ArchLimits& arch = arch_limits("sm_90a");
  EXPECT_FALSE(is_legal(kLargestWarpTile, traits_for(DType::f32, true), arch));
  const GemmTraits traits = traits_for(DType::f16, true);
  ASSERT_TRUE(is_legal(kLargestWarpTile, traits, arch));
  const BuildResult result = builder_->build(render(kLargestWarpTile, traits, "sm_90a", bundle_));
  ASSERT_TRUE(result.cubin) << result.failure;
  EXPECT_LE(result.cubin->spill_bytes, 64) << "a few words may spill around the main loop, but not in it";
}

}  // namespace
}  // namespace hotgemm
