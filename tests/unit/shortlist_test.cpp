#include "plan/shortlist.hpp"

#include "config/traits.hpp"
#include "plan/model.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hotgemm {
namespace {

constexpr int kPlaces = 40;

Workload sized(std::int64_t m, std::int64_t n, std::int64_t k, Op op_b = Op::t) {
  return Workload({.m = m, .n = n, .k = k, .op_b = op_b});
}

const std::vector<Workload>& problems() {
  static const std::vector<Workload> some = {
      sized(4096, 4096, 4096), sized(8192, 8192, 8192, Op::n), sized(1024, 1024, 1024), sized(16, 28672, 8192),
      sized(1, 4096, 4096),    sized(128, 128, 65536, Op::n),  sized(8192, 64, 8192)};
  return some;
}

std::vector<KernelConfig> menu(const Workload& problem, const char* arch) {
  return candidates(traits_of(problem), arch_limits(arch));
}

TEST(Shortlist, IsAsLongAsAskedSortedAndFromTheMenu) {
  for (const char* arch : {"sm_80", "sm_90a"}) {
    for (const Workload& problem : problems()) {
      const std::vector<KernelConfig> configs = menu(problem, arch);
      for (const int count : {0, 1, 5, kPlaces}) {
        const auto list = shortlist(configs, problem, nominal_device(arch), count);
        ASSERT_EQ(list.size(), static_cast<std::size_t>(count));
        ASSERT_EQ(rank(list, problem, nominal_device(arch)), list);
        for (const KernelConfig& config : list) ASSERT_NE(std::ranges::find(configs, config), configs.end());
      }
      EXPECT_EQ(shortlist(configs, problem, nominal_device(arch), 1),
                shortlist(configs, problem, nominal_device(arch), 1));
    }
  }
}

TEST(Shortlist, BeginsWithTheFastestPredicted) {
  for (const Workload& problem : problems()) {
    const DeviceInfo device = nominal_device("sm_90a");
    EXPECT_EQ(shortlist(menu(problem, "sm_90a"), problem, device, kPlaces).front(),
              rank(menu(problem, "sm_90a"), problem, device).front());
  }
}

/// With few rows, transposed tiles of any height are predicted to take the same time as plain ones.
TEST(Shortlist, HasPlainTilesBesideTransposedOnes) {
  for (const Workload& problem : {sized(1, 4096, 4096), sized(16, 28672, 8192), sized(96, 4096, 7168)}) {
    const auto list = shortlist(menu(problem, "sm_90a"), problem, nominal_device("sm_90a"), kPlaces);
    const auto transposed = std::ranges::count_if(list, [](const KernelConfig& config) {
      const auto* const wgmma = std::get_if<WgmmaConfig>(&config);
      return wgmma != nullptr && wgmma->transposed;
    });
    EXPECT_GE(transposed, 4) << to_string(problem);
    EXPECT_LE(transposed, kPlaces / 3) << to_string(problem);
  }
}

TEST(Shortlist, FillsUpWhereThereAreFewTiles) {
  std::vector<KernelConfig> configs = menu(problems()[0], "sm_90a");
  std::erase_if(configs, [](const KernelConfig& c) { return block_m(c) != 128 || block_n(c) != 128; });
  ASSERT_GT(configs.size(), 30U);
  EXPECT_EQ(shortlist(configs, problems()[0], nominal_device("sm_90a"), 30).size(), 30U);
  EXPECT_EQ(shortlist(configs, problems()[0], nominal_device("sm_90a"), 1 << 20).size(), configs.size());
}

TEST(Shortlist, HasManyTilesAndMoreThanOneFamily) {
  for (const Workload& problem : problems()) {
    std::map<std::pair<int, int>, int> tiles;
    std::map<std::string_view, int> families;
    for (const KernelConfig& config : shortlist(menu(problem, "sm_90a"), problem, nominal_device("sm_90a"), kPlaces)) {
      ++tiles[{block_m(config), block_n(config)}];
      ++families[family_of(config).name];
    }
    EXPECT_GE(tiles.size(), 9U) << to_string(problem);
    EXPECT_GE(families["wgmma"], kPlaces / 2) << to_string(problem);
    EXPECT_GE(families["mma"], kPlaces / 8) << to_string(problem);
  }
}

/// The tiles that were measured as the fastest of CUTLASS's kernels, and those that cuBLAS chooses, are on the
/// shortlist.
TEST(Shortlist, HoldsKnownWinners) {
  struct Winner {
    Workload problem;
    int block_m, block_n;
    bool ping_pong;
  };
  const Winner winners[] = {
      {sized(4096, 4096, 4096), 128, 128, true},    {sized(6144, 6144, 6144), 128, 256, false},
      {sized(8192, 8192, 8192), 128, 224, false},   {sized(16384, 16384, 8192), 256, 160, false},
      {sized(16384, 16384, 8192), 256, 128, false}, {sized(1024, 1024, 1024, Op::n), 128, 64, false},
  };
  for (const Winner& winner : winners) {
    const auto list = shortlist(menu(winner.problem, "sm_90a"), winner.problem, nominal_device("sm_90a"), kPlaces);
    EXPECT_TRUE(std::ranges::any_of(list,
                                    [&](const KernelConfig& config) {
                                      const auto* c = std::get_if<WgmmaConfig>(&config);
                                      return c != nullptr && c->block_m == winner.block_m &&
                                             c->block_n == winner.block_n && c->ping_pong == winner.ping_pong;
                                    }))
        << to_string(winner.problem) << " " << winner.block_m << "x" << winner.block_n;
  }
}

}  // namespace
}  // namespace hotgemm
