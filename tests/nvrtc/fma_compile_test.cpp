// Kernels of family fma keep their sums in registers, and their bodies are short enough to compile quickly.

#include "nvrtc/compile_fixture.hpp"

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

/// Rotates layouts, access widths and C. A dozen turns contain all pairs of layout and access width.
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
      cases.back().kind = to_string(KernelConfig(anchor));
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
  EXPECT_LE(median_ms(2 * kMedianMs), 2 * kMedianMs);
}

}  // namespace
}  // namespace hotgemm
