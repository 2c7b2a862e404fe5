#include "plan/trace_ranking.hpp"

#include "config/traits.hpp"
#include "plan/power_model.hpp"
#include "plan/wgmma_menu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

const std::string kProblem = "p";

TraceSample sample(const std::string& config, int race, int round, double us, const std::string& launch = "r8m") {
  return {kProblem, config, launch, race, round, us};
}

TraceRejection rejection(const std::string& config) { return {kProblem, config, "r8m", "check", "wrong: all of it"}; }

std::vector<std::string> order_of(const TraceRanking& ranking) {
  std::vector<std::string> names;
  for (const RankedCandidate& entry : ranking.entries) names.push_back(entry.name.config);
  return names;
}

using Names = std::vector<std::string>;

TEST(TraceRanking, OfNothingIsEmpty) {
  const TraceRanking ranking = rank_trace({}, kProblem);
  EXPECT_TRUE(ranking.entries.empty());
  EXPECT_TRUE(ranking.reference.config.empty());
  EXPECT_EQ(ranking.races, 0);
  EXPECT_EQ(ranking.place("a"), 0);
}

TEST(TraceRanking, ComparesByPairsAcrossRacesAtDifferentClocks) {
  // Everything takes twice as long in race 1. By the plain times, b would seem slower than c.
  const std::vector<TraceLine> lines = {sample("ref", 0, 0, 10), sample("c", 0, 0, 9), sample("ref", 1, 0, 20),
                                        sample("b", 1, 0, 16)};
  const TraceRanking ranking = rank_trace(lines, kProblem);
  EXPECT_EQ(ranking.reference, (CandidateName{"ref", "r8m"}));
  EXPECT_EQ(order_of(ranking), (Names{"b", "c", "ref"}));
  EXPECT_DOUBLE_EQ(ranking.entries[0].ratio, 0.8);
  EXPECT_DOUBLE_EQ(ranking.us(ranking.entries[0]), 12);  // the median of the reference is 15
  EXPECT_EQ(ranking.races, 2);
  EXPECT_EQ(ranking.place("b"), 1);
  EXPECT_EQ(ranking.place("ref"), 3);
}

TEST(TraceRanking, WhatNeverRanBesideTheReferenceIsNotRanked) {
  const std::vector<TraceLine> lines = {sample("ref", 0, 0, 10), sample("a", 0, 0, 11), sample("ref", 1, 0, 10),
                                        sample("lost", 2, 0, 1)};
  EXPECT_EQ(order_of(rank_trace(lines, kProblem)), (Names{"ref", "a"}));
}

TEST(TraceRanking, ARejectedReferenceIsReplaced) {
  const std::vector<TraceLine> lines = {sample("bad", 0, 0, 1), sample("a", 0, 0, 10), sample("b", 0, 0, 9),
                                        sample("bad", 1, 0, 1), sample("a", 1, 0, 10), sample("c", 1, 0, 8),
                                        sample("bad", 2, 0, 1), sample("d", 2, 0, 7),  rejection("bad")};
  const TraceRanking ranking = rank_trace(lines, kProblem);
  EXPECT_EQ(ranking.reference.config, "a");
  EXPECT_EQ(order_of(ranking), (Names{"c", "b", "a"}));  // d must be measured again
  EXPECT_TRUE(ranking.rejected.contains("bad"));
}

TEST(TraceRanking, OtherProblemsAndHeadersSayNothing) {
  std::vector<TraceLine> lines = {TraceHeader{}, sample("ref", 0, 0, 10)};
  TraceSample other = sample("other", 0, 0, 1);
  other.problem = "q";
  lines.emplace_back(other);
  EXPECT_EQ(order_of(rank_trace(lines, kProblem)), (Names{"ref"}));
}

TEST(TraceRanking, TwinsShareTimesAndFate) {
  const std::vector<TraceLine> lines = {sample("ref", 0, 0, 10), sample("a", 0, 0, 8),
                                        sample("b", 0, 0, 9),    TraceTwin{kProblem, "a2", "a"},
                                        rejection("bad"),        TraceTwin{kProblem, "bad2", "bad"}};
  const TraceRanking ranking = rank_trace(lines, kProblem);
  EXPECT_EQ(order_of(ranking), (Names{"a", "a2", "b", "ref"}));
  EXPECT_EQ(ranking.place("a2"), 1);
  EXPECT_EQ(ranking.place("b"), 3);
  EXPECT_TRUE(ranking.rejected.contains("bad2"));
  EXPECT_EQ(ranking.twins, std::set<std::string>{"a2"});
  EXPECT_EQ(ranking.timed.size(), 4u);
}

TEST(TraceRanking, AConfigsPlaceIsThatOfItsFastestRaster) {
  const std::vector<TraceLine> lines = {sample("ref", 0, 0, 10), sample("a", 0, 0, 9, "r8m"),
                                        sample("a", 0, 0, 7, "r4n"), sample("b", 0, 0, 8)};
  const TraceRanking ranking = rank_trace(lines, kProblem);
  EXPECT_EQ(ranking.place("a"), 1);
  EXPECT_EQ(ranking.place("b"), 2);
  EXPECT_EQ(ranking.timed.size(), 3u);
}

TEST(TraceRanking, FindsTheOrderUnderDriftAndNoise) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.002);
  std::vector<TraceLine> lines;
  constexpr int kConfigs = 60, kBatch = 6;
  for (int race = 0; race < kConfigs / kBatch; ++race) {
    const double drift = 1 + 0.1 * std::sin(race);  // five times the step between neighbours
    lines.emplace_back(sample("ref", race, 0, 100 * drift * (1 + noise(random))));
    for (int i = 0; i < kBatch; ++i) {
      const int speed = (race + i * kConfigs / kBatch) % kConfigs;
      lines.emplace_back(
          sample("c" + std::to_string(speed), race, 0, (100 + 2.0 * speed) * drift * (1 + noise(random))));
    }
  }
  const TraceRanking ranking = rank_trace(lines, kProblem);
  for (int speed = 0; speed < kConfigs; ++speed) {
    EXPECT_NEAR(ranking.place("c" + std::to_string(speed)), speed + 2, 2) << speed;
  }
}

TEST(TraceRanking, ContendersAloneAreTheFastestAndTheMostFrugal) {
  const Workload problem = parse_workload("8192 8192 8192 nt f16");
  std::vector<CandidateName> menu;
  for (const WgmmaConfig& config : wgmma_menu(traits_of(problem)))
    menu.push_back({to_string(KernelConfig(config)), "r8m"});
  ASSERT_GT(menu.size(), 200U);
  std::vector<TraceLine> lines;
  std::vector<PowerCandidate> costs;
  for (std::size_t i = 0; i < menu.size(); ++i) {
    lines.push_back(sample(menu[i].config, 0, 0, 1000 + static_cast<double>(i)));
    lines.push_back(sample(menu[i].config, 0, 0, 500, "r1n"));  // rounds do not tell which raster is the best alone
    costs.push_back(power_candidate(parse_config(menu[i].config).value(), problem, 1000 + static_cast<double>(i)));
  }
  const std::string twin = "wgmma_m64_n64_k64_c1_sn0_pp0_o0_s2_cm1_cn1_b1";  // by the name of its code
  lines.push_back(TraceTwin{kProblem, twin, menu.front().config});
  menu.push_back({twin, "r8m"});
  menu.push_back({"simt_of_which_no_time_is_known", "r8m"});
  const TraceRanking ranking = rank_trace(lines, kProblem);
  const std::vector<CandidateName> names = contenders_alone(ranking, menu, problem, 40);
  ASSERT_EQ(names.size(), 40U);
  EXPECT_TRUE(std::equal(menu.begin(), menu.begin() + 20, names.begin()));
  for (const std::size_t i : best_under_power_cap(costs, 20)) {
    EXPECT_EQ(std::ranges::count(names, menu[i]), 1) << menu[i].config;
  }
  std::set<std::string> configs;
  for (const CandidateName& name : names) {
    EXPECT_EQ(name.launch, "r8m");
    EXPECT_NE(name.config, twin);
    EXPECT_TRUE(configs.insert(name.config).second) << name.config;
  }
}

TEST(TraceRanking, RegretOfTheModelsFirst) {
  const std::vector<TraceLine> lines = {sample("ref", 0, 0, 10), sample("a", 0, 0, 9), sample("b", 0, 0, 8),
                                        sample("b", 0, 0, 5, "r1n"), rejection("bad")};
  const TraceRanking ranking = rank_trace(lines, kProblem);
  const std::vector<CandidateName> order = {{"bad", "r8m"}, {"ref", "r8m"}, {"a", "r8m"}, {"b", "r8m"}};
  EXPECT_TRUE(std::isnan(regret_of_first(ranking, order, 1)));
  EXPECT_DOUBLE_EQ(regret_of_first(ranking, order, 2), 0.25);  // only with the rasters in `order`
  EXPECT_DOUBLE_EQ(regret_of_first(ranking, order, 3), 0.125);
  EXPECT_DOUBLE_EQ(regret_of_first(ranking, order, 4), 0);
  EXPECT_DOUBLE_EQ(regret_of_first(ranking, order, 99), 0);
}

}  // namespace
}  // namespace hotgemm
