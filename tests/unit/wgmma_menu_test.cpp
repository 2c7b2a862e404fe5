#include "plan/wgmma_menu.hpp"

#include "config/families.hpp"
#include "config/traits.hpp"

#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

template <class Visit>  // void(const GemmTraits&)
void for_each_traits(Visit&& visit) {
  for (const Layout& layout : kLayouts) {
    for (const TypePair& types : kTensorTypes) {
      for (const bool reads_c : {false, true}) visit(make_traits(types, layout, reads_c));
    }
  }
}

bool contains(const std::vector<WgmmaConfig>& menu, const auto& wanted) { return std::ranges::any_of(menu, wanted); }

TEST(WgmmaMenu, IsLegalDistinctAndOfSomeThousand) {
  for_each_traits([](const GemmTraits& traits) {
    std::set<std::string> names;
    for (const WgmmaConfig& config : wgmma_menu(traits)) {
      const std::string name = to_string(KernelConfig(config));
      ASSERT_TRUE(is_legal(config, traits, arch_limits("sm_90a"))) << name;
      ASSERT_TRUE(names.insert(name).second) << name << " twice";
    }
    EXPECT_GE(names.size(), 700U);
    EXPECT_LE(names.size(), 4000U);
  });
}

/// All widths of A and B of which at least one is ragged.
void for_each_ragged_traits(const std::function<void(const GemmTraits&)>& use) {
  for_each_traits([&](GemmTraits traits) {
    for (const int vec_a : {1, 2, 4, 8}) {
      for (const int vec_b : {1, 2, 4, 8}) {
        traits.vec_a = vec_a;
        traits.vec_b = vec_b;
        if (std::min(vec_a, vec_b) < 8) use(traits);
      }
    }
  });
}

TEST(WgmmaMenu, HasThreadsThatLoadForRaggedRows) {
  for_each_ragged_traits([](const GemmTraits& traits) {
    std::set<std::string> names;
    const std::vector<WgmmaConfig> menu = wgmma_menu(traits);
    for (const WgmmaConfig& config : menu) {
      const std::string name = to_string(KernelConfig(config));
      ASSERT_TRUE(is_legal(config, traits, arch_limits("sm_90a")) && config.loaders > 0) << name;
      ASSERT_TRUE(names.insert(name).second) << name << " twice";
    }
    EXPECT_GE(names.size(), 12U);
    EXPECT_LE(names.size(), 300U);
    for (const int loaders : {1, 2}) {
      EXPECT_TRUE(contains(menu, [&](const WgmmaConfig& c) { return c.loaders == loaders && c.transposed; }));
      EXPECT_TRUE(contains(menu, [&](const WgmmaConfig& c) { return c.loaders == loaders && !c.transposed; }));
    }
    int anchors = 0;
    for (const WgmmaConfig& anchor : wgmma_anchors()) {
      if (!is_legal(anchor, traits, arch_limits("sm_90a"))) continue;
      ++anchors;
      ASSERT_NE(std::ranges::find(menu, anchor), menu.end()) << to_string(KernelConfig(anchor));
    }
    EXPECT_GE(anchors, 3) << to_string(traits);
  });
}

TEST(WgmmaMenu, IsEmptyForOtherTypes) {
  EXPECT_TRUE(wgmma_menu(make_traits({DType::f32, DType::f32}, kLayouts[0], false, 4)).empty());
}

/// All mixtures of types of A, B and D, in the layouts that their instructions read, with precise and fast sums.
template <class Visit>  // void(const GemmTraits&)
void for_each_mixed_traits(Visit&& visit) {
  for (const KernelTypes& types : kWgmmaTypes) {
    if (!types.is_mixed()) continue;
    for (const Layout& layout : kLayouts) {
      for (const bool fast_sums : {false, true}) {
        GemmTraits traits = aligned_traits(types, layout);
        traits.fast_sums = fast_sums;
        if (fast_sums && !is_fp8(types.element)) continue;
        if (has_wgmma_types(traits)) visit(traits);
      }
    }
  }
}

TEST(WgmmaMenu, HasKernelsForEveryMixtureOfTypes) {
  std::set<std::string> mixtures;
  for_each_mixed_traits([&](const GemmTraits& traits) {
    SCOPED_TRACE(to_string(traits));
    mixtures.insert(to_string(traits));
    std::set<std::string> names;
    const std::vector<WgmmaConfig> menu = wgmma_menu(traits);
    for (const WgmmaConfig& config : menu) {
      const std::string name = to_string(KernelConfig(config));
      ASSERT_TRUE(is_legal(config, traits, arch_limits("sm_90a"))) << name;
      ASSERT_TRUE(names.insert(name).second) << name << " twice";
      ASSERT_EQ(config.promote, is_fp8(traits.element) && !traits.fast_sums) << name;
    }
    EXPECT_GE(names.size(), 500U);
    EXPECT_LE(names.size(), 4000U);
    std::set<std::string> anchors;
    for (const WgmmaConfig& anchor : wgmma_anchors(traits)) {
      if (!is_legal(anchor, traits, arch_limits("sm_90a"))) continue;
      ASSERT_TRUE(anchors.insert(to_string(KernelConfig(anchor))).second)
          << to_string(KernelConfig(anchor)) << " twice";
      ASSERT_NE(std::ranges::find(menu, anchor), menu.end()) << to_string(KernelConfig(anchor));
    }
    const bool loads = size_bytes(traits.element) != 2 && !(traits.a_is_k_major() && traits.b_is_k_major());
    EXPECT_GE(anchors.size(), loads ? 30U : 40U);
  });
  // f32 D in four layouts; s8, FP8 with both sums and tf32 in three, of which lanes load rows in two
  EXPECT_EQ(mixtures.size(), 2U * 4 + (5 + 19 * 2 + 1) * 3);
}

TEST(WgmmaMenu, ColumnsOfEightBitsAreKMajorAndPreciseSumsOfFp8Promoted) {
  GemmTraits fp8{.element = DType::e4m3, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 16, .vec_b = 16};
  WgmmaConfig config{.block_m = 128, .block_n = 128, .block_k = 128};
  EXPECT_FALSE(is_legal(config, fp8, arch_limits("sm_90a")));
  config.promote = true;
  EXPECT_TRUE(is_legal(config, fp8, arch_limits("sm_90a")));
  fp8.fast_sums = true;
  EXPECT_TRUE(is_legal(config, fp8, arch_limits("sm_90a")));  // more exact than it must be
  config.promote = false;
  EXPECT_TRUE(is_legal(config, fp8, arch_limits("sm_90a")));
  fp8.op_b = Op::n;
  EXPECT_FALSE(is_legal(config, fp8, arch_limits("sm_90a")));
  config.promote = true;
  EXPECT_FALSE(is_legal(config, GemmTraits{.op_b = Op::t}, arch_limits("sm_90a")));  // nothing to promote
}

TEST(WgmmaMenu, PartsOfPreciseSumsAreAddedLateWhereRegistersFit) {
  GemmTraits fp8{.element = DType::e4m3, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 16, .vec_b = 16};
  const auto config = [](int m, int n, int consumers) {
    return WgmmaConfig{.block_m = m, .block_n = n, .block_k = 128, .consumers = consumers, .promote = true};
  };
  const auto with = [](WgmmaConfig c, const auto& change) {
    change(c);
    return c;
  };
  EXPECT_TRUE(config(64, 32, 1).adds_late(fp8));
  EXPECT_TRUE(config(128, 128, 2).adds_late(fp8));
  EXPECT_FALSE(config(128, 136, 2).adds_late(fp8)) << "three times 68 registers";
  EXPECT_FALSE(config(128, 32, 1).adds_late(fp8)) << "two instructions";
  EXPECT_FALSE(config(192, 32, 3).adds_late(fp8));
  const auto one_tile = [](WgmmaConfig& c) { c.one_tile = true; };
  EXPECT_TRUE(with(config(128, 96, 2), one_tile).adds_late(fp8));
  EXPECT_FALSE(with(config(128, 128, 2), one_tile).adds_late(fp8)) << "it also copies";

  const auto divided = [](WgmmaConfig& c) { c.split_k = true; };
  EXPECT_TRUE(with(config(64, 80, 1), divided).adds_late(fp8));
  EXPECT_FALSE(with(config(128, 128, 2), divided).adds_late(fp8)) << "the loads of sums would spill";

  const auto is_legal = [&](const WgmmaConfig& c) { return hotgemm::is_legal(c, fp8, arch_limits("sm_90a")); };
  const auto long_k = [](WgmmaConfig& c) { c.block_k = 256, c.stages = 3; };
  EXPECT_TRUE(is_legal(with(config(128, 128, 2), divided)));
  EXPECT_TRUE(is_legal(with(config(64, 32, 1), long_k)));
  EXPECT_TRUE(is_legal(with(config(128, 32, 1), long_k)));
  fp8.epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128};
  EXPECT_TRUE(config(64, 32, 1).adds_late(fp8));
  EXPECT_FALSE(config(128, 32, 2).adds_late(fp8));
  EXPECT_TRUE(is_legal(config(64, 32, 1)));
  EXPECT_TRUE(is_legal(with(config(64, 32, 1), long_k)));
  fp8.epilogue = {};
  fp8.op_a = Op::t;
  EXPECT_FALSE(config(64, 32, 1).adds_late(fp8)) << "lanes load the rows";
  EXPECT_TRUE(is_legal(config(64, 32, 1)));
  EXPECT_FALSE(is_legal(with(config(64, 32, 1), long_k)));
}

TEST(WgmmaMenu, ScalesOfBlocksLeaveTheTilesThatTouchTwoBlocksOfColumns) {
  const GemmTraits bare{.element = DType::e4m3, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 16, .vec_b = 16};
  GemmTraits scaled = bare;
  scaled.epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128};
  // Picks of records of large products.
  for (const WgmmaConfig& config :
       {WgmmaConfig{.block_m = 256, .block_n = 128, .block_k = 128, .promote = true},
        WgmmaConfig{.block_m = 128, .block_n = 192, .block_k = 128, .promote = true},
        WgmmaConfig{.block_m = 128, .block_n = 112, .block_k = 128, .promote = true},
        WgmmaConfig{.block_m = 192, .block_n = 128, .block_k = 128, .consumers = 3, .promote = true}}) {
    EXPECT_TRUE(is_legal(config, bare, arch_limits("sm_90a"))) << to_string(KernelConfig(config));
    EXPECT_TRUE(is_legal(config, scaled, arch_limits("sm_90a"))) << to_string(KernelConfig(config));
  }
  const WgmmaConfig wide{.block_m = 128, .block_n = 176, .block_k = 128, .promote = true};
  EXPECT_TRUE(is_legal(wide, bare, arch_limits("sm_90a")));
  EXPECT_FALSE(is_legal(wide, scaled, arch_limits("sm_90a"))) << "a part of it may touch three blocks";
  EXPECT_GE(wgmma_menu(scaled).size(), wgmma_menu(bare).size() / 4);
  GemmTraits gated = scaled;
  gated.epilogue.gate = Gate::halves;
  EXPECT_TRUE(is_legal(WgmmaConfig{.block_m = 256, .block_n = 128, .block_k = 128, .promote = true}, gated,
                       arch_limits("sm_90a")))
      << "the sums of a k-tile leave their registers to the gate";
  for (const GemmTraits& traits : {scaled, gated}) {
    for (const WgmmaConfig& config : wgmma_menu(traits)) {
      if (config.transposed) continue;
      const int halves = config.halves(traits), width = config.consumer_n() / halves;
      for (int begin = 0; begin < 128 * config.block_n; begin += config.block_n) {
        for (int consumer = 0; consumer < config.consumers; ++consumer) {
          const int first = (begin + config.first_col(consumer)) / halves, last = first + width - 1;
          ASSERT_LT(last / 128 - first / 128, config.scale_columns(traits)) << to_string(KernelConfig(config));
          ASSERT_LT(last / 128 - begin / halves / 128, config.touched_scales(traits, config.block_n / halves))
              << to_string(KernelConfig(config)) << " keeps the scales of too few blocks in shared memory";
          ASSERT_EQ(first % config.scale_grain(traits), 0) << to_string(KernelConfig(config));
        }
      }
    }
  }
}

TEST(WgmmaMenu, HoldsEveryAnchor) {
  for_each_traits([](const GemmTraits& traits) {
    const std::vector<WgmmaConfig> menu = wgmma_menu(traits);
    for (const WgmmaConfig& anchor : wgmma_anchors()) {
      if (anchor.loaders > 0) continue;  // the copy engine loads aligned rows
      // ptxas would serialize the products of these.
      if ((anchor.split_k || anchor.one_tile) && traits.accumulator != DType::f32) continue;
      // The swizzled rows of an A that is stored transposed are longer than the rows of these, or of half of these.
      if (traits.op_a == Op::t && anchor.transposed && anchor.block_m < 48) continue;
      ASSERT_TRUE(is_legal(anchor, traits, arch_limits("sm_90a"))) << to_string(KernelConfig(anchor));
      ASSERT_NE(std::ranges::find(menu, anchor), menu.end()) << to_string(KernelConfig(anchor));
    }
  });
}

/// One-tile blocks are illegal for these: their tiles would be missing among small anchors.
TEST(WgmmaMenu, AnchorsOfGroupsAndOfScalesOfBlocksHaveProducers) {
  GemmTraits scaled{.element = DType::e4m3, .element_d = DType::bf16, .op_b = Op::t, .vec_a = 16, .vec_b = 16};
  scaled.epilogue = {.scale_a = Scaling::block_1x128, .scale_b = Scaling::block_128x128};
  GemmTraits groups{.op_a = Op::n, .op_b = Op::t};
  groups.batched = groups.grouped = true;
  for (const GemmTraits& traits : {scaled, groups}) {
    const std::vector<WgmmaConfig> anchors = wgmma_anchors(traits), menu = wgmma_menu(traits);
    std::set<std::pair<int, int>> tiles;
    for (const WgmmaConfig& anchor : anchors) {
      EXPECT_EQ(std::ranges::count(anchors, anchor), 1) << to_string(KernelConfig(anchor));
      if (!is_legal(anchor, traits, arch_limits("sm_90a"))) continue;
      EXPECT_NE(std::ranges::find(menu, anchor), menu.end()) << to_string(KernelConfig(anchor));
      tiles.emplace(anchor.block_m, anchor.block_n);
    }
    for (const auto& tile : {std::pair(64, 32), {64, 64}, {64, 128}, {128, 64}, {128, 128}})
      EXPECT_TRUE(tiles.contains(tile)) << tile.first << " x " << tile.second;
  }
}

/// The one respect in which `variant` differs from `config` apart from stages; "" if there are none or several. Small
/// tiles are wider in a cluster of four.
std::string difference(const WgmmaConfig& config, WgmmaConfig variant) {
  std::string found;
  const auto restore = [&](const char* name, auto... members) {
    WgmmaConfig without = variant;
    ((without.*members = config.*members), ...);
    without.stages = config.stages;
    if (without == config) found = name;
  };
  const auto width = config.transposed ? &WgmmaConfig::block_m : &WgmmaConfig::block_n;
  restore("width", width);
  restore("k-tile", &WgmmaConfig::block_k);
  restore("cluster", &WgmmaConfig::cluster_m, &WgmmaConfig::cluster_n);
  restore("staying", &WgmmaConfig::one_tile);
  if (found.empty() && variant.cluster() == 4 && variant.*width == 64)
    restore("cluster of wider tiles", &WgmmaConfig::cluster_m, &WgmmaConfig::cluster_n, width);
  return found;
}

void expect_variants(const GemmTraits& traits, std::map<std::string, int>& count) {
  const std::vector<WgmmaConfig> menu = wgmma_menu(traits);
  for (const WgmmaConfig& anchor : wgmma_anchors(traits)) {
    if (!is_legal(anchor, traits, arch_limits("sm_90a"))) continue;
    for (const WgmmaConfig& variant : wgmma_variants(anchor, traits)) {
      const std::string name = to_string(KernelConfig(anchor)) + " " + to_string(KernelConfig(variant));
      ASSERT_NE(difference(anchor, variant), "") << name;
      ASSERT_NE(std::ranges::find(menu, variant), menu.end()) << name;
      ++count[difference(anchor, variant)];
    }
  }
}

TEST(WgmmaMenu, HoldsEveryVariantOfAnAnchorAndEachDiffersInOneRespect) {
  std::map<std::string, int> count;
  for_each_traits([&](const GemmTraits& traits) { expect_variants(traits, count); });
  constexpr const char* kRespects[] = {"width", "k-tile", "cluster", "staying", "cluster of wider tiles"};
  for (const char* respect : kRespects) EXPECT_GT(count[respect], 100) << respect;
  count.clear();
  int turn = 0;
  for_each_mixed_traits([&](const GemmTraits& traits) {
    if (turn++ % 4 == 0) expect_variants(traits, count);
  });
  for (const char* respect : kRespects) EXPECT_GT(count[respect], 100) << respect;
}

TEST(WgmmaMenu, VariantsOfATileAreTheNextWidthsThatTheLayoutHas) {
  const WgmmaConfig config{.block_m = 128, .block_n = 192, .ping_pong = true, .stages = 5};
  const auto widths = [&](Op op_b) {
    std::set<int> found;
    for (const WgmmaConfig& variant : wgmma_variants(config, {.op_b = op_b})) found.insert(variant.block_n);
    found.erase(config.block_n);
    return found;
  };
  EXPECT_EQ(widths(Op::t), (std::set<int>{184, 200})) << "rows of B along k";
  EXPECT_EQ(widths(Op::n), (std::set<int>{176, 208})) << "rows of B along n";
  WgmmaConfig shared = config;
  shared.ping_pong = false;
  shared.block_n = 64;
  shared.blocks_per_sm = 2;
  EXPECT_TRUE(wgmma_variants(shared, {.op_b = Op::t}).empty()) << "such kernels may spill";
}

TEST(WgmmaMenu, HasTheDeepestPipelineOfEveryTile) {
  for_each_traits([](const GemmTraits& traits) {
    const std::vector<WgmmaConfig> menu = wgmma_menu(traits);
    for (const WgmmaConfig& config : menu) {
      WgmmaConfig deepest = config;
      while (true) {
        WgmmaConfig deeper = deepest;
        ++deeper.stages;
        if (!is_legal(deeper, traits, arch_limits("sm_90a"))) break;
        deepest = deeper;
      }
      ASSERT_NE(std::ranges::find(menu, deepest), menu.end()) << to_string(KernelConfig(deepest));
      ASSERT_GE(config.stages * 2, deepest.stages) << to_string(KernelConfig(config));
    }
  });
}

TEST(WgmmaMenu, HoldsWhatOthersWinWith) {
  struct Known {
    int block_m, block_n;
    bool ping_pong;
    int cluster_m, cluster_n;
  };
  // CUTLASS's winners on large problems, and tiles that occur in the names of cuBLAS's kernels.
  constexpr Known kWinners[] = {
      {128, 128, true, 2, 1},  {128, 160, true, 2, 1},  {128, 224, false, 1, 1}, {256, 160, false, 2, 1},
      {256, 128, false, 1, 2}, {128, 256, false, 2, 1}, {192, 192, false, 2, 1}, {192, 208, false, 1, 1},
      {320, 128, false, 1, 2}, {128, 64, false, 1, 2},  {64, 64, false, 1, 1},   {128, 16, false, 1, 1},
      {64, 16, false, 1, 1},   {64, 8, false, 1, 1},
  };
  const std::vector<WgmmaConfig> menu = wgmma_menu(make_traits({DType::bf16, DType::f32}, {Op::n, Op::t}));
  for (const Known& known : kWinners) {
    EXPECT_TRUE(contains(menu,
                         [&](const WgmmaConfig& c) {
                           return c.block_m == known.block_m && c.block_n == known.block_n &&
                                  c.ping_pong == known.ping_pong && c.cluster_m == known.cluster_m &&
                                  c.cluster_n == known.cluster_n;
                         }))
        << known.block_m << "x" << known.block_n;
  }
}

TEST(WgmmaMenu, HasEveryScheduleInEveryLayout) {
  for_each_traits([](const GemmTraits& traits) {
    const std::vector<WgmmaConfig> menu = wgmma_menu(traits);
    EXPECT_TRUE(contains(menu, [](const WgmmaConfig& c) { return c.ping_pong; }));
    EXPECT_TRUE(contains(menu, [](const WgmmaConfig& c) { return c.split_n && !c.one_tile; }));
    EXPECT_TRUE(contains(menu, [](const WgmmaConfig& c) { return c.consumers == 3 && !c.one_tile; }));
    EXPECT_TRUE(contains(menu, [](const WgmmaConfig& c) { return c.block_k == 128; }));
    EXPECT_TRUE(contains(menu, [](const WgmmaConfig& c) { return c.transposed && c.ping_pong; }));
    EXPECT_TRUE(contains(menu, [](const WgmmaConfig& c) { return c.transposed && !c.one_tile && c.block_m == 16; }));
    const bool has_one_tile = traits.accumulator == DType::f32;  // ptxas would serialize the products of others
    EXPECT_EQ(has_one_tile, contains(menu, [](const WgmmaConfig& c) { return c.one_tile && c.blocks_per_sm == 4; }));
    EXPECT_EQ(has_one_tile,
              contains(menu, [](const WgmmaConfig& c) { return c.transposed && c.one_tile && c.block_m == 16; }));
  });
}

}  // namespace
}  // namespace hotgemm
