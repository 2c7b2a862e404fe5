#include "plan/candidates.hpp"

#include "config/traits.hpp"
#include "sweep_sample.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

bool is_supported(const TypePair& types, const ArchLimits& arch) {
  return types.accumulator == DType::f32 || arch.has_cp_async;
}

/// Calls visit(traits, arch) for all types and layouts on every architecture, at each alignment, or for a sample of
/// them.
template <class Visit>
void for_each_problem_kind(Visit&& visit) {
  std::size_t index = 0;
  for (const std::string& arch : known_archs()) {
    for (const TypePair& types : kAllTypes) {
      for (const Layout& layout : kLayouts) {
        for (int vec = 16 / size_bytes(types.element); vec >= 1; vec /= 2) {
          for (const bool reads_c : {false, true}) {
            if (!is_drawn(index++, 2 * kFewer)) continue;
            const GemmTraits traits = make_traits(types, layout, reads_c, vec);
            SCOPED_TRACE(arch + " " + to_string(traits));
            visit(types, traits, arch_limits(arch));
          }
        }
      }
    }
  }
}

TEST(Candidates, TensorCoresHaveHundreds) {
  for (const char* arch : kTensorArchs) {
    for (const TypePair& types : kTensorTypes) {
      for (const Layout& layout : kLayouts) {
        const GemmTraits traits = make_traits(types, layout);
        const auto configs = candidates(traits, arch_limits(arch));
        const auto mma = std::ranges::count_if(configs, [](const KernelConfig& c) { return c.index() == 1; });
        EXPECT_GE(mma, 200) << arch << " " << to_string(traits);
      }
    }
  }
}

TEST(Candidates, HaveClustersOfFourWhereRowsBeginInsideSectors) {
  const auto fours = [](const char* problem, bool split_k) {
    const std::vector<KernelConfig> configs = candidates(parse_workload(problem), arch_limits("sm_90a"));
    return std::ranges::count_if(configs, [&](const KernelConfig& config) {
      const auto* wgmma = std::get_if<WgmmaConfig>(&config);
      return wgmma != nullptr && wgmma->cluster() == 4 && wgmma->split_k == split_k;
    });
  };
  for (const char* inside : {"800 1680 1688 nt f16", "800 936 1664 nn f16", "808 512 512 tn bf16"})
    EXPECT_GT(fours(inside, false), 300) << inside;
  EXPECT_EQ(fours("800 1680 1664 nt f16", false), 0) << "the copy engine copies these rows fast";
  EXPECT_EQ(fours("801 1681 1665 nt f16", false), 0) << "rows of copies are whole lines";
  EXPECT_GT(fours("480 288 90560 nt bf16", true), 30) << "blocks that divide k read operands often";
}

TEST(Candidates, AreLegalAndDistinct) {
  for_each_problem_kind([](const TypePair& types, const GemmTraits& traits, const ArchLimits& arch) {
    std::set<std::string> names;
    for (const KernelConfig& config : candidates(traits, arch)) {
      ASSERT_TRUE(is_legal(config, traits, arch)) << to_string(config);
      ASSERT_TRUE(names.insert(to_string(config)).second) << to_string(config);
    }
    ASSERT_EQ(names.empty(), !is_supported(types, arch));
  });
}

TEST(Candidates, AnchorsAreLegalDistinctAndThereWheneverAnythingIs) {
  for_each_problem_kind([](const TypePair& types, const GemmTraits& traits, const ArchLimits& arch) {
    std::set<std::string> names;
    for (const KernelConfig& config : anchors(traits, arch)) {
      ASSERT_TRUE(is_legal(config, traits, arch)) << to_string(config);
      ASSERT_TRUE(names.insert(to_string(config)).second) << to_string(config);
    }
    ASSERT_EQ(names.empty(), !is_supported(types, arch));
  });
}

TEST(Candidates, HoldEveryAnchor) {
  for_each_problem_kind([](const TypePair&, const GemmTraits& traits, const ArchLimits& arch) {
    const auto all = candidates(traits, arch);
    for (const KernelConfig& anchor : anchors(traits, arch)) {
      ASSERT_NE(std::ranges::find(all, anchor), all.end()) << to_string(anchor);
    }
  });
}

TEST(Candidates, EveryTensorArchHasAnAnchorForEachScale) {
  for (const char* arch : kTensorArchs) {
    for (const TypePair& types : kTensorTypes) {
      const auto configs = anchors(make_traits(types, {Op::n, Op::n}), arch_limits(arch));
      const auto has = [&](auto&& wanted) {
        return std::ranges::any_of(configs, [&](const KernelConfig& c) { return c.index() == 1 && wanted(c); });
      };
      EXPECT_TRUE(has([](const KernelConfig& c) { return block_m(c) <= 16; })) << arch;
      EXPECT_TRUE(has([](const KernelConfig& c) { return block_m(c) * block_n(c) == 64 * 64; })) << arch;
      EXPECT_TRUE(has([](const KernelConfig& c) { return block_m(c) * block_n(c) >= 128 * 128; })) << arch;
    }
  }
}

TEST(Candidates, TheReferenceRunsEverywhere) {
  for (const std::string& arch : known_archs()) {
    for (const TypePair& types : kAllTypes) {
      if (types.accumulator != DType::f32) continue;
      EXPECT_TRUE(is_legal(reference_config(), make_traits(types, {}, true, 1), arch_limits(arch))) << arch;
    }
  }
  EXPECT_EQ(family_of(reference_config()).name, "simt");
}

TEST(Rasters, OfAKernelThatDividesKDifferInItsParts) {
  const WgmmaConfig config{
      .block_m = 64, .block_n = 64, .consumers = 1, .one_tile = true, .stages = 6, .split_k = true};
  const Workload problem({.m = 64, .n = 64, .k = 131072, .op_b = Op::t});
  std::set<int> splits;
  bool is_programmatic = false;
  for (const LaunchConfig& launch : rasters(config, problem, 132, 20)) {
    splits.insert(launch.splits);
    is_programmatic = is_programmatic || launch.programmatic;
  }
  EXPECT_GE(splits.size(), 3U);
  EXPECT_GT(*splits.begin(), 1);
  EXPECT_TRUE(is_programmatic);
}

}  // namespace
}  // namespace hotgemm
