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

/// Calls use(config, traits) for every config that `configs_of` gives in any layout. Those of layout nt alone come
/// last.
template <class ConfigsOf, class Use>
void for_each_f32(const ConfigsOf& configs_of, std::size_t turn, Use&& use) {
  const auto in_nt = [](GemmTraits traits) {
    traits.op_a = Op::n, traits.op_b = Op::t;
    return traits;
  };
  for (std::size_t i = 0; i < configs_of(in_nt(f32_in_turn(0))).size(); ++i) {
    GemmTraits traits = f32_in_turn(turn + i);
    if (i >= configs_of(traits).size()) traits = in_nt(traits);
    use(configs_of(traits).at(i), traits);
  }
}

TEST_F(FmaCompile, AnchorsOnEveryArch) {
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const std::string& arch : known_archs()) {
    std::size_t legal = 0;
    for_each_f32(fma_anchors, turn, [&](const FmaConfig& config, const GemmTraits& traits) {
      ++turn;
      if (!is_legal(config, traits, arch_limits(arch)) || ++legal % 2 != 0) return;
      FmaConfig kind = config;
      kind.access = 4;
      cases.push_back(gemm_case(config, traits, arch, bundle_));
      cases.back().kind = to_string(KernelConfig(kind));
    });
  }
  ASSERT_GE(cases.size(), 2 * known_archs().size());
  compile(cases);
}

/// Rotates the access widths of s8, the types of D and C.
GemmTraits s8_in_turn(std::size_t turn) {
  constexpr int kVecs[] = {16, 4, 8};
  constexpr DType kResults[] = {DType::s32, DType::f16};
  GemmTraits traits = make_traits({DType::s8, DType::s32, DType::s8, kResults[turn / 2 % std::size(kResults)]},
                                  {Op::n, Op::t}, turn % 2 == 0, kVecs[turn % std::size(kVecs)]);
  traits.vec_d = turn % 5 == 0 ? 1 : 4;
  return traits;
}

TEST_F(FmaCompile, AnchorsAndMenuOfS8) {
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  const auto add = [&](const std::vector<FmaConfig>& configs, const GemmTraits& traits, const std::string& arch,
                       std::size_t index) {
    if (!is_legal(configs.at(index), traits, arch_limits(arch))) return;
    cases.push_back(gemm_case(configs[index], traits, arch, bundle_));
  };
  for (const std::string& arch : known_archs()) {
    for (std::size_t i = 0; i < fma_anchors(s8_in_turn(0)).size(); i += 2, ++turn) {
      add(fma_anchors(s8_in_turn(turn)), s8_in_turn(turn), arch, i);
    }
  }
  ASSERT_GE(cases.size(), 2 * known_archs().size());
  for (std::size_t i = 0; i < fma_menu(s8_in_turn(0)).size(); ++i) {
    // The architecture without tensor cores for s8, for which the menu is made, and the one with the most memory.
    add(fma_menu(s8_in_turn(i)), s8_in_turn(i), i % 2 == 0 ? "sm_75" : "sm_90a", i);
  }
  compile(cases);
}

TEST_F(FmaCompile, MenuOfTf32OnTuring) {
  std::vector<MatrixCase> cases;
  for (std::size_t i = 0; i < fma_menu(f32_in_turn(0)).size(); ++i) {
    GemmTraits traits = f32_in_turn(i);
    traits.element = traits.element_b = DType::tf32;
    const FmaConfig config = fma_menu(traits).at(i);
    if (is_legal(config, traits, arch_limits("sm_75"))) cases.push_back(gemm_case(config, traits, "sm_75", bundle_));
  }
  ASSERT_GE(cases.size(), 8U);
  compile(cases);
}

TEST_F(FmaCompile, TheMenuOnHopper) {
  std::vector<MatrixCase> cases;
  for_each_f32(fma_menu, 0, [&](const FmaConfig& config, const GemmTraits& traits) {
    cases.push_back(gemm_case(config, traits, "sm_90a", bundle_));
  });
  compile(cases);
  EXPECT_LE(median_ms(2 * kMedianMs), 2 * kMedianMs);
}

}  // namespace
}  // namespace hotgemm
