// Tests of family fma's menu, and of the model's picks from it.

#include "plan/fma_menu.hpp"
#include "config/traits.hpp"
#include "plan/model.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <variant>

namespace hotgemm {
namespace {

constexpr TypePair kF32Pair{DType::f32, DType::f32};
constexpr TypePair kS8Words{DType::s8, DType::s32, DType::s8, DType::s32};

TEST(FmaMenu, IsOfSomeDozensForF32) {
  for (const int vec : {4, 2, 1}) {
    const GemmTraits traits = make_traits(kF32Pair, kLayouts[0], false, vec);
    const auto menu = fma_menu(traits);
    EXPECT_GE(menu.size(), 20U);
    EXPECT_LE(menu.size(), 52U);
    for (FmaConfig config : menu) {
      EXPECT_TRUE(has_whole_accesses(config, traits)) << to_string(KernelConfig(config));
      if (config.access == vec) continue;
      config.access *= 2;
      EXPECT_FALSE(has_whole_accesses(config, traits)) << to_string(KernelConfig(config));
    }
  }
  for (const TypePair& types : kTensorTypes) {
    EXPECT_TRUE(fma_menu(make_traits(types, kLayouts[0])).empty());
    EXPECT_TRUE(fma_anchors(make_traits(types, kLayouts[0])).empty());
  }
}

TEST(FmaMenu, HasQuadsForF32InLayoutNt) {
  for (const Layout& layout : kLayouts) {
    const bool is_nt = layout.op_a == Op::n && layout.op_b == Op::t;
    for (const int vec : {4, 2, 1}) {
      EXPECT_EQ(std::ranges::count(fma_menu(make_traits(kF32Pair, layout, false, vec)), true, &FmaConfig::quads) > 0,
                is_nt);
    }
  }
  EXPECT_EQ(std::ranges::count(fma_menu(make_traits(kS8Words, {Op::n, Op::t}, false, 16)), true, &FmaConfig::quads), 0);
}

/// A copy would cost more than quads gain.
TEST(FmaMenu, HasNoQuadsForCopiedOperands) {
  for (const char* text : {"4096 4096 512 nn f32", "16 4096 4096 tn f32", "4096 1 4096 nn f32"}) {
    for (const KernelConfig& config : candidates(parse_workload(text), arch_limits("sm_90a"))) {
      const auto* const fma = std::get_if<FmaConfig>(&config);
      EXPECT_FALSE(fma != nullptr && fma->quads) << text << ": " << to_string(config);
    }
  }
}

TEST(FmaMenu, IsLegalOnHopperAndHasAnchorsOnTuring) {
  for (const Layout& layout : kLayouts) {
    for (const int vec : {4, 2, 1}) {
      const GemmTraits traits = make_traits(kF32Pair, layout, true, vec);
      for (const FmaConfig& config : fma_menu(traits)) {
        EXPECT_TRUE(is_legal(config, traits, arch_limits("sm_90a"))) << to_string(KernelConfig(config));
      }
      const auto anchors = fma_anchors(traits);
      EXPECT_GE(
          std::ranges::count_if(anchors, [&](const FmaConfig& c) { return is_legal(c, traits, arch_limits("sm_75")); }),
          3);
    }
  }
}

TEST(FmaMenu, HasTheTilesOfF32ForS8AndTf32) {
  const auto f32 = fma_menu(make_traits(kF32Pair, kLayouts[0], false, 4));
  const auto without_slices = std::ranges::count(f32, 1, &FmaConfig::slices);
  for (const int vec : {16, 8, 4, 1}) {
    const GemmTraits s8 = make_traits(kS8Words, {Op::n, Op::t}, true, vec);
    const auto menu = fma_menu(s8);
    EXPECT_GE(std::ssize(menu) + 4, without_slices);
    EXPECT_EQ(std::ranges::count(menu, 1, &FmaConfig::slices), std::ssize(menu));
    for (const FmaConfig& config : menu) {
      EXPECT_EQ(is_legal(config, s8, arch_limits("sm_90a")), vec >= 4) << to_string(KernelConfig(config));
      EXPECT_EQ(config.smem_bytes(s8), config.stages * config.stage_bytes(s8));
    }
    EXPECT_GE(std::ranges::count_if(fma_anchors(s8),
                                    [&](const FmaConfig& c) { return is_legal(c, s8, arch_limits("sm_75")); }),
              vec >= 4 ? 3 : 0);
  }
  const GemmTraits tf32 = make_traits({DType::tf32, DType::f32, DType::tf32, DType::f32}, kLayouts[2], false, 4);
  EXPECT_EQ(fma_menu(tf32).size(), f32.size());
  for (const FmaConfig& config : fma_menu(tf32)) {
    EXPECT_EQ(is_legal(config, tf32, arch_limits("sm_90a")), !config.async_copy) << to_string(KernelConfig(config));
  }
}

/// No family uses Turing's tensor cores for these types. A launch copies s8 of other layouts and alignments first.
TEST(FmaModel, PrefersTheFamilyOnTuringForS8AndTf32) {
  for (const char* text : {"4096 4096 4096 nt s8", "4096 4096 4096 nn s8", "2048 2048 2048 tn s8 align=1,1,4",
                           "512 512 512 nt s8*s8>f16", "4096 4096 4096 nn tf32", "512 512 512 tn tf32"}) {
    const Workload problem = parse_workload(text);
    const auto ranked = rank(candidates(problem, arch_limits("sm_75")), problem, nominal_device("sm_75"));
    ASSERT_FALSE(ranked.empty());
    EXPECT_EQ(family_of(ranked.front()).name, "fma") << text << ": " << to_string(ranked.front());
  }
}

TEST(FmaModel, LeavesS8AndTf32ToTensorCores) {
  for (const char* arch : kTensorArchs) {
    for (const char* text : {"4096 4096 4096 nt s8", "64 4096 4096 nt s8", "512 512 512 nt tf32"}) {
      const Workload problem = parse_workload(text);
      const auto ranked = rank(candidates(problem, arch_limits(arch)), problem, nominal_device(arch));
      EXPECT_NE(family_of(ranked.front()).name, "fma") << arch << " " << text << ": " << to_string(ranked.front());
    }
  }
}

TEST(FmaModel, PrefersTheFamilyToSimtForF32) {
  for (const std::string& arch : known_archs()) {
    for (const char* text : {"4096 4096 4096 nn f32", "512 512 512 tn f32", "16 4096 1024 nt f32",
                             "1000 1000 1000 nn f32 align=4", "500 300 200 tt f32 align=4"}) {
      const Workload problem = parse_workload(text);
      const auto ranked = rank(candidates(traits_of(problem), arch_limits(arch)), problem, nominal_device(arch));
      EXPECT_EQ(family_of(ranked.front()).name, "fma") << arch << " " << text << ": " << to_string(ranked.front());
    }
  }
}

TEST(FmaModel, PrefersLargeTilesForLargeProblems) {
  const Workload problem = parse_workload("4096 4096 4096 nn f32");
  const auto ranked = rank(candidates(traits_of(problem), arch_limits("sm_90a")), problem, nominal_device("sm_90a"));
  EXPECT_GE(block_m(ranked.front()) * block_n(ranked.front()), 128 * 128);
  const double tflops = 2 * 4096.0 * 4096 * 4096 / predict_us(ranked.front(), problem, nominal_device("sm_90a")) / 1e6;
  EXPECT_GT(tflops, 45);
  EXPECT_LT(tflops, 62);
}

}  // namespace
}  // namespace hotgemm
