#include "plan/power_model.hpp"

#include "config/device_info.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"
#include "plan/candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace hotgemm {
namespace {

/// Rates in TFLOP/s that were measured on an H200, in rounds and alone.
struct Measured {
  const char* config;
  double rounds;
  double alone;
};
constexpr Measured k4096[] = {{"wgmma_m128_n112_k64_c2_sn0_pp1_o0_s7_cm1_cn1_b1", 663, 606},
                              {"wgmma_m128_n128_k64_c2_sn0_pp1_o0_s6_cm1_cn1_b1", 652, 615},
                              {"wgmma_m128_n176_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1", 629, 612},
                              {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", 633, 627},
                              {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm2_cn1_b1", 633, 630},
                              {"wgmma_m256_n128_k64_c2_sn0_pp0_o0_s4_cm1_cn2_b1", 630, 626},
                              {"wgmma_m256_n192_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1", 565, 596}};
constexpr Measured k8192[] = {{"wgmma_m128_n112_k64_c2_sn0_pp1_o0_s7_cm1_cn1_b1", 663, 602},
                              {"wgmma_m128_n128_k64_c2_sn0_pp1_o0_s6_cm1_cn1_b1", 649, 620},
                              {"wgmma_m128_n176_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1", 664, 640},
                              {"wgmma_m128_n200_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1", 669, 653},
                              {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", 643, 639},
                              {"wgmma_m256_n128_k64_c2_sn0_pp0_o0_s4_cm1_cn2_b1", 641, 645},
                              {"wgmma_m256_n192_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1", 623, 650}};

// 2048×7168×18432 and 4352×5376×3648: the fastest alone, and others that save bytes or clocks.
constexpr Measured kLongK[] = {{"wgmma_m128_n176_k64_c2_sn0_pp1_o0_s5_cm2_cn1_b1", 689.5, 675.3},
                               {"wgmma_m128_n128_k64_c2_sn0_pp1_o0_s6_cm1_cn1_b1", 677.2, 651.1},
                               {"wgmma_m128_n224_k64_c2_sn0_pp0_o0_s4_cm2_cn1_b1", 665.7, 676.7},
                               {"wgmma_m192_n208_k64_c2_sn1_pp0_o0_s4_cm1_cn2_b1", 639.0, 634.0},
                               {"wgmma_m256_n160_k64_c2_sn1_pp0_o0_s4_cm1_cn1_b1", 623.3, 651.0}};
constexpr Measured kShortK[] = {{"wgmma_m128_n128_k64_c2_sn0_pp1_o0_s6_cm1_cn1_b1", 661.9, 636.9},
                                {"wgmma_m128_n200_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1", 658.8, 646.4},
                                {"wgmma_m200_n128_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1_t1", 653.0, 647.9},
                                {"wgmma_m256_n176_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1", 635.5, 641.4},
                                {"wgmma_m192_n192_k64_c3_sn0_pp0_o0_s4_cm1_cn1_b1", 627.3, 628.8},
                                {"wgmma_m256_n192_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1", 583.3, 626.1}};

Workload cube(std::int64_t size) { return Workload(Problem{.m = size, .n = size, .k = size, .op_b = Op::t}); }

std::vector<PowerCandidate> candidates_of(std::span<const Measured> rows, const Workload& problem) {
  std::vector<PowerCandidate> all;
  for (const Measured& row : rows) all.push_back(power_candidate(*parse_config(row.config), problem, 1e5 / row.rounds));
  return all;
}

TEST(PowerModelTest, MeetsTheRatesOfKernelsThatRanAlone) {
  const auto expect_close = [](std::span<const Measured> rows, std::int64_t size) {
    for (const Measured& row : rows) {
      const double picojoules = picojoules_per_flop(*parse_config(row.config), cube(size));
      EXPECT_NEAR(1 / capped_time(669 / row.rounds, picojoules), row.alone, 0.045 * row.alone)
          << size << " " << row.config;
    }
  };
  expect_close(k4096, 4096);
  expect_close(k8192, 8192);
}

TEST(PowerModelTest, ThePickLosesLittleUnderTheCap) {
  const auto share_of_best = [](std::span<const Measured> rows, const Workload& problem) {
    double best = 0;
    for (const Measured& row : rows) best = std::max(best, row.alone);
    return rows[best_under_power_cap(candidates_of(rows, problem), 1).front()].alone / best;
  };
  const Workload long_k({.m = 2048, .n = 7168, .k = 18432, .op_b = Op::t});
  const Workload short_k({.m = 4352, .n = 5376, .k = 3648, .op_b = Op::t});
  EXPECT_GT(share_of_best(k4096, cube(4096)), 0.995);
  EXPECT_GT(share_of_best(k8192, cube(8192)), 0.995);
  EXPECT_GT(share_of_best(kLongK, long_k), 0.99);  // 0.937 if bytes cost 35 pJ
  EXPECT_GT(share_of_best(kShortK, short_k), 0.985);
}

TEST(PowerModelTest, BelowTheCapBytesCostMoreThanClocks) {
  EXPECT_LT(free_joules(1, 1.0), free_joules(1, 1.18));
  EXPECT_LT(free_joules(1, 1.07), free_joules(1.1, 1.07));
  // A tenth more clocks for a seventh of the bytes less: slower under the cap, and fewer joules below it.
  EXPECT_GT(capped_time(1.1, 1.08), capped_time(1, 1.125));
  EXPECT_LT(free_joules(1.1, 1.08), free_joules(1, 1.125));
  const std::vector<PowerCandidate> few{{100, 1.125, 1}, {101, 1.125, 2}, {110, 1.08, 3}};
  EXPECT_THAT(pick_for_power_final(few, 2), testing::ElementsAre(0u, 1u));
  EXPECT_THAT(pick_for_power_final(few, 2, free_joules), testing::ElementsAre(0u, 2u));
}

TEST(PowerModelTest, FewerJoulesOrFewerClocksAreFaster) {
  EXPECT_LT(capped_time(1, 1.0), capped_time(1, 1.18));
  EXPECT_LT(capped_time(1, 1.07), capped_time(1.1, 1.07));
  const KernelConfig single = *parse_config(k4096[3].config), pair = *parse_config(k4096[4].config);
  const KernelConfig small = *parse_config(k4096[1].config), narrow = *parse_config(k4096[0].config);
  EXPECT_LT(picojoules_per_flop(small, cube(8192)), picojoules_per_flop(narrow, cube(8192))) << "they move more bytes";
  EXPECT_GT(picojoules_per_flop(pair, cube(4096)), picojoules_per_flop(single, cube(4096)))
      << "a cluster costs more than it saves";
  EXPECT_GT(picojoules_per_flop(single, cube(4100)), 1.005 * picojoules_per_flop(single, cube(4096)))
      << "the last tiles are nearly empty";
}

TEST(PowerModelTest, WeighsTimesOfOneClockAsTheyAreUnderTheCap) {
  for (const double clocks : {1.0, 1.05, kMostClocks}) {
    const double weighed = clocks * capped_factor(clocks, 1.07) / capped_factor(1, 1.18);
    EXPECT_NEAR(weighed, capped_time(clocks, 1.07) / capped_time(1, 1.18), 1e-9) << clocks;
  }
  EXPECT_TRUE(std::isinf(capped_factor(kMostClocks + 0.01, 0.8))) << "however few bytes it moves";
}

TEST(PowerModelTest, IsThereForTensorCoresOfHopper) {
  const Problem f16{.m = 4096, .n = 4096, .k = 4096};
  Problem f32 = f16;
  f32.types = kF32;
  for (const Types& types : {kTf32, kS8, kE4m3}) {
    Problem other = f16;
    other.types = types;
    EXPECT_TRUE(is_modelled(Workload(other), 220, nominal_device("sm_90a")));
    const KernelConfig config = *parse_config("wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1");
    EXPECT_EQ(picojoules_per_flop(config, Workload(other)), picojoules_per_flop(config, Workload(f16)));
  }
  EXPECT_TRUE(is_modelled(Workload(f16), 220, nominal_device("sm_90a")));
  EXPECT_FALSE(is_modelled(Workload(f16), 220, nominal_device("sm_80")));
  EXPECT_FALSE(is_modelled(Workload(f32), 220, nominal_device("sm_90a")));
}

TEST(PowerModelTest, DoesNotHoldWhereKernelsWaitForMemory) {
  const DeviceInfo h200 = nominal_device("sm_90a");
  Problem problem{.m = 128, .n = 14336, .k = 8192};
  EXPECT_NEAR(memory_us(Workload(problem), h200), 50, 2);
  EXPECT_TRUE(may_reach_power_cap(Workload(problem), 67, h200));
  EXPECT_FALSE(is_modelled(Workload(problem), 67, h200));
  problem.m = 512;
  EXPECT_TRUE(is_modelled(Workload(problem), 180, h200));
  problem.m = 1024;
  problem.groups = 8;
  problem.group_kind = GroupKind::rows;
  EXPECT_FALSE(is_modelled(Workload(problem), 450, h200)) << "each group has a B of its own";
}

TEST(PowerModelTest, TheFinalHasTheWinnersOfRoundsAndThoseThatSaveEnergy) {
  // At 8192³ the best alone is the last in rounds.
  EXPECT_THAT(pick_for_power_final(candidates_of(k8192, cube(8192)), 4), testing::Contains(std::size_t{6}));
  EXPECT_THAT(pick_for_power_final(candidates_of(k8192, cube(8192)), 4), testing::Contains(std::size_t{3}));
  // At 4096³ it is the pair, the fourth in rounds.
  const std::vector<std::size_t> at_4096 = pick_for_power_final(candidates_of(k4096, cube(4096)), 4);
  EXPECT_THAT(at_4096, testing::IsSupersetOf({std::size_t{0}, std::size_t{1}, std::size_t{4}}));
}

TEST(PowerModelTest, TheFinalHasNoDuplicatesAndFewOfATile) {
  std::vector<PowerCandidate> all(20, PowerCandidate{.us = 100, .picojoules = 1.02, .tile = 1});
  for (std::size_t i = 0; i < all.size(); ++i) all[i].us += static_cast<double>(i);
  EXPECT_EQ(best_under_power_cap(all, 12).size(), 2u);
  const std::vector<std::size_t> final = pick_for_power_final(all, 12);
  EXPECT_EQ(std::set<std::size_t>(final.begin(), final.end()).size(), 12u);
  EXPECT_EQ(pick_for_power_final(all, 50).size(), 20u);
  EXPECT_THAT(pick_for_power_final({}, 3), testing::IsEmpty());
  all[19].us = 140;
  all[19].picojoules = 0.8;
  all[19].tile = 2;
  EXPECT_THAT(best_under_power_cap(all, 12), testing::Not(testing::Contains(std::size_t{19}))) << "it is far too slow";
}

TEST(PowerModelTest, OnlyBusyKernelsReachTheCap) {
  const DeviceInfo h200 = nominal_device("sm_90a");
  EXPECT_TRUE(may_reach_power_cap(cube(4096), 220, h200));
  EXPECT_FALSE(may_reach_power_cap(cube(4096), 1000, h200)) << "the tensor cores wait";
  EXPECT_FALSE(may_reach_power_cap(cube(1024), 4, h200)) << "too short";
  Workload skinny = cube(8192);
  skinny.m = 16;
  EXPECT_FALSE(may_reach_power_cap(skinny, 30, h200));
}

TEST(PowerModelTest, TheModelNamesKernelsThatSaveEnergyForLargeProblems) {
  const DeviceInfo h200 = nominal_device("sm_90a");
  const auto names = [&](const Workload& problem) {
    std::vector<std::string> names;
    const std::vector<KernelConfig> all = candidates(traits_of(problem), arch_limits(h200.arch));
    for (const KernelConfig& config : frugal(all, problem, h200, 6)) names.push_back(to_string(config));
    return names;
  };
  EXPECT_THAT(names(cube(8192)), testing::Contains(testing::HasSubstr("m256_n192_")));
  EXPECT_THAT(names(cube(4096)),
              testing::IsSupersetOf({testing::HasSubstr("m128_n256_"), testing::HasSubstr("m256_n128_")}));
  EXPECT_THAT(names(cube(256)), testing::IsEmpty());
}

TEST(PowerModel, TilesMultiplyRowsOfTheNextGroup) {
  const Workload experts = parse_workload("4096 14336 4096 nt bf16 groups=8");
  const auto over_batch = [&](const char* config) {
    const KernelConfig kernel = *parse_config(config);
    return picojoules_per_flop(kernel, experts) / picojoules_per_flop(kernel, with_uniform_groups(experts));
  };
  EXPECT_NEAR(over_batch("wgmma_m256_n160_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1"), (1 + 18.0 / 16) / 2, 0.01);
  EXPECT_NEAR(over_batch("wgmma_m64_n256_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1"), (1 + 66.0 / 64) / 2, 0.02);
}

}  // namespace
}  // namespace hotgemm
