// Kernels of family fma keep what they sum in registers, and their bodies are short enough to compile quickly.

#include "compile_fixture.hpp"

#include "plan/fma_menu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

class FmaCompile : public CompileMatrix {};

/// Layouts, accesses and a C in turn; a dozen turns have all pairs of the first two.
GemmTraits f32_in_turn(std::size_t turn) {
  constexpr int kVecs[] = {4, 1, 2};
  return make_traits({DType::f32, DType::f32}, kLayouts[turn % std::size(kLayouts)], turn / 2 % 2 == 0,
                     kVecs[turn % std::size(kVecs)]);
}

TEST_F(FmaCompile, AnchorsOnEveryArch) {
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const std::string& arch : known_archs()) {
    std::size_t legal = 0;
    for (const FmaConfig& anchor : fma_anchors(f32_in_turn(turn))) {
      const GemmTraits traits = f32_in_turn(turn++);
      FmaConfig config = anchor;
      config.access = std::min(traits.vec_a, 4);
      if (!is_legal(config, traits, arch_limits(arch)) || (turn + ++legal) % 2 != 0) continue;
      cases.push_back(gemm_case(config, traits, arch, bundle_));
    }
  }
  ASSERT_GE(cases.size(), 2 * known_archs().size());
  compile(cases);
}

TEST_F(FmaCompile, TheMenuOnHopper) {
  std::vector<MatrixCase> cases;
  for (std::size_t i = 0; i < fma_menu(f32_in_turn(0)).size(); ++i) {
    const GemmTraits traits = f32_in_turn(i);
    cases.push_back(gemm_case(fma_menu(traits)[i], traits, "sm_90a", bundle_));
  }
  compile(cases);
  EXPECT_LE(median_ms(), 2 * kMedianMs);
}

/// Kernels that are there to be learnt from, of 16-bit elements on CUDA cores, as they are built on the ladder.
TEST_F(FmaCompile, HalvesOnTheLadder) {
  const FmaConfig configs[] = {
      {.block_m = 32,
       .block_n = 32,
       .thread_m = 1,
       .thread_n = 1,
       .stages = 0,
       .access = 1,
       .packed = false,
       .padded = false},
      {.block_m = 32,
       .block_n = 32,
       .block_k = 32,
       .thread_m = 1,
       .thread_n = 1,
       .access = 1,
       .packed = false,
       .padded = false},
      {.access = 4, .packed = false, .padded = false},
      {.access = 4, .packed = true, .padded = false},
      {.access = 4, .packed = false, .padded = true},
      {.access = 4, .packed = true, .padded = true},
      {.access = 8},
      {.stages = 2},
      {.block_k = 16, .stages = 2},
      {.block_k = 16, .stages = 2, .async_copy = true},
      {.block_k = 32, .stages = 2},
      {.block_k = 32, .stages = 2, .async_copy = true},
      {.block_m = 256, .block_k = 32, .thread_m = 16, .stages = 2},
      {.block_m = 256, .block_k = 32, .thread_m = 16, .stages = 2, .async_copy = true},
  };
  std::vector<MatrixCase> cases;
  for (const FmaConfig& config : configs) {
    for (const DType accumulator : {DType::f16, DType::f32}) {
      const GemmTraits traits = make_traits({DType::f16, accumulator}, kLayouts[0]);
      ASSERT_TRUE(is_legal(config, traits, arch_limits("sm_90a"))) << to_string(KernelConfig(config));
      cases.push_back(gemm_case(config, traits, "sm_90a", bundle_));
    }
  }
  compile(cases);
}

TEST_F(FmaCompile, WordsOnTheLadder) {
  const FmaConfig configs[] = {
      {.block_m = 32,
       .block_n = 32,
       .thread_m = 1,
       .thread_n = 1,
       .stages = 0,
       .access = 1,
       .packed = false,
       .padded = false},
      {.block_m = 32,
       .block_n = 32,
       .block_k = 32,
       .thread_m = 1,
       .thread_n = 1,
       .access = 1,
       .packed = false,
       .padded = false},
      {.block_m = 64,
       .block_n = 64,
       .block_k = 16,
       .thread_m = 4,
       .thread_n = 4,
       .access = 1,
       .packed = false,
       .padded = false},
      {.block_m = 96,
       .block_n = 32,
       .block_k = 64,
       .thread_m = 6,
       .thread_n = 4,
       .access = 4,
       .packed = false,
       .padded = false},
  };
  std::vector<MatrixCase> cases;
  for (const FmaConfig& config : configs) {
    const GemmTraits traits = make_traits({DType::f32, DType::f32}, kLayouts[0], false, 4);
    ASSERT_TRUE(is_legal(config, traits, arch_limits("sm_90a"))) << to_string(KernelConfig(config));
    cases.push_back(gemm_case(config, traits, "sm_90a", bundle_));
  }
  compile(cases);
}

}  // namespace
}  // namespace hotgemm
