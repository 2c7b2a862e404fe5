// The cost of family wmma's kernels: no config of the menu spills, and each rung of the ladder compiles in a second and
// a half.

#include "nvrtc/compile_fixture.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

std::vector<WmmaConfig> menu(const GemmTraits& traits, const std::string& arch) {
  std::vector<WmmaConfig> found;
  for (const KernelConfig& config : candidates(traits, arch_limits(arch))) {
    if (const auto* wmma = std::get_if<WmmaConfig>(&config)) found.push_back(*wmma);
  }
  return found;
}

TEST_F(CompileMatrix, WmmaMenuSpillsNowhere) {
  // Each config for each type on two architectures. Layouts, access widths and C rotate.
  std::vector<MatrixCase> cases;
  std::set<std::string> configs;
  std::size_t turn = 0;
  for (const char* arch : {"sm_80", "sm_90a"}) {
    for (const TypePair& types : kTensorTypes) {
      for (const WmmaConfig& config : menu(make_traits(types, {}), arch)) {
        const int vec = turn % 5 == 4 ? 1 << turn / 5 % 3 : 8;
        const GemmTraits traits = make_traits(types, kLayouts[turn % std::size(kLayouts)], turn % 3 == 0, vec);
        ++turn;
        ASSERT_TRUE(is_legal(config, traits, arch_limits(arch)));
        cases.push_back(gemm_case(config, traits, arch, bundle_));
        configs.insert(to_string(KernelConfig(config)));
      }
    }
  }
  EXPECT_EQ(configs.size(), 12U);
  compile(cases);
}

TEST_F(CompileMatrix, WmmaRungs) {
  const WmmaConfig base{.block_m = 128, .block_n = 128, .block_k = 16, .warps_m = 4, .warps_n = 2};
  std::vector<WmmaConfig> rungs = {
      {.block_m = 16, .block_n = 16, .warps_m = 1, .warps_n = 1, .stages = 0, .async_copy = false, .padded = false},
      {.block_m = 16, .block_n = 16, .warps_m = 1, .warps_n = 1, .async_copy = false, .padded = false},
      {.block_m = 64, .block_n = 32, .async_copy = false, .padded = false},
      {.async_copy = false, .padded = false},
      {.padded = false},
      base,
      {.warps_m = 2, .warps_n = 4, .fragment_m = 32, .stages = 2},
      {.warps_m = 2, .warps_n = 4, .fragment_m = 8, .stages = 2},
      {.block_k = 32, .stages = 2},
  };
  for (int stages = 2; stages <= 5; ++stages) {
    rungs.push_back(base);
    rungs.back().stages = stages;
    rungs.push_back({.block_m = 256, .stages = stages});
    if (stages < 5) rungs.push_back({.block_m = 256, .block_n = 256, .warps_n = 4, .stages = stages});
  }
  std::vector<MatrixCase> cases;
  for (const char* arch : {"sm_80", "sm_90a"}) {
    for (const WmmaConfig& rung : rungs) {
      cases.push_back(gemm_case(rung, make_traits({DType::f16, DType::f16}, {}), arch, bundle_));
    }
  }
  compile(cases);
}

}  // namespace
}  // namespace hotgemm
