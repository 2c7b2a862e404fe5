#include "tune/set_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace hotgemm {
namespace {

Workload problem(std::int64_t m) { return Workload(Problem{.m = m, .n = 64, .k = 64}); }

BenchResult result(std::int64_t m, double ratio, double half_width = 0.005) {
  BenchResult r;
  r.problem = problem(m);
  r.ratio = ratio;
  r.ci = {ratio - half_width, ratio + half_width};
  return r;
}

TEST(SetSummaryTest, HasTheMeanAndTheLowestProblem) {
  const std::vector<Workload> problems{problem(1), problem(2), problem(3)};
  std::vector<BenchResult> results{result(1, 1.21), result(2, 1.0), result(3, 1.0), result(4, 0.1)};
  results[1].measure = Measure::sustained;
  const SetSummary s = summary_of("some", problems, results);
  EXPECT_EQ(s.name, "some");
  EXPECT_EQ(s.problems, 3u);
  EXPECT_NEAR(s.mean, std::cbrt(1.21), 1e-12) << "problem 4 is not of the set";
  EXPECT_EQ(s.lowest, problem(2));
  EXPECT_EQ(s.lowest_ratio, 1.0);
  EXPECT_EQ(s.lowest_ci, (Interval{0.995, 1.005}));
  EXPECT_EQ(s.measure, "rounds 2, sustained 1");
  EXPECT_EQ(s.below + s.failures + s.missing, 0u);
}

TEST(SetSummaryTest, AFailureOrAMissingProblemLeavesNoMean) {
  const std::vector<Workload> problems{problem(1), problem(2)};
  std::vector<BenchResult> results{result(1, 1.2)};
  EXPECT_EQ(summary_of("", problems, results).missing, 1u);
  EXPECT_TRUE(std::isnan(summary_of("", problems, results).mean));
  results.push_back(result(2, 1.1));
  EXPECT_FALSE(std::isnan(summary_of("", problems, results).mean));
  results.back().failure = "no memory";
  const SetSummary s = summary_of("", problems, results);
  EXPECT_EQ(s.failures, 1u);
  EXPECT_TRUE(std::isnan(s.mean));
  EXPECT_EQ(s.lowest, problem(1));
}

TEST(SetSummaryTest, TimesOverTheBareProductNeedNoRival) {
  const std::vector<Workload> problems{problem(1), problem(2), problem(3)};
  std::vector<BenchResult> results{result(1, 1.1), result(2, std::nan("")), result(3, 1.1)};
  results[0].over_bare = 1.0;
  results[1].over_bare = 1.04;
  SetSummary s = summary_of("", problems, results);
  EXPECT_NEAR(s.over_bare, std::sqrt(1.04), 1e-12) << "problem 3 has no epilogue";
  EXPECT_NEAR(s.mean, 1.1, 1e-12) << "problem 2 has no rival";
  EXPECT_EQ(s.highest_over_bare, problem(2));
  EXPECT_EQ(s.highest_ratio_over_bare, 1.04);
  EXPECT_EQ(s.measure, "rounds");
  results[2].failure = "no memory";
  s = summary_of("", problems, results);
  EXPECT_TRUE(std::isnan(s.over_bare));
  EXPECT_EQ(s.highest_over_bare, problem(2));
}

TEST(SetSummaryTest, OfTwoModesTheGraphCounts) {
  std::vector<BenchResult> results{result(1, 1.5), result(1, 0.9)};
  results[1].mode = TimingMode::graph;
  const std::vector<Workload> problems{problem(1)};
  for (int order = 0; order < 2; ++order) {
    EXPECT_EQ(summary_of("", problems, results).lowest_ratio, 0.9);
    EXPECT_EQ(summary_of("", problems, results).measure, "graph rounds");
    std::swap(results[0], results[1]);
  }
}

TEST(SetSummaryTest, MeansCountAProblemOnceForEachAlignmentAndBeta) {
  std::vector<BenchResult> results{result(1, 4), result(1, 2), result(1, 1)};
  results[0].problem.hints.beta_is_zero = false;
  results[1].problem.hints.align_a = 2;
  results[2].problem.hints.align_a = 2;
  results[2].mode = TimingMode::graph;
  using testing::Pair;
  EXPECT_THAT(means_by_mode(results),
              testing::ElementsAre(
                  Pair("eager, 2 problems", testing::DoubleNear(std::sqrt(8), 1e-12)), Pair("graph, 1 problem", 1.0),
                  Pair("graph where measured, else eager, 2 problems", testing::DoubleNear(2, 1e-12))));
  results.pop_back();
  EXPECT_EQ(means_by_mode(results).size(), 1u);
}

TEST(SetSummaryTest, AnIntervalCountsUnlessItIsWide) {
  EXPECT_FALSE(is_low(result(1, 0.968, 0.005))) << "it reaches 0.973";
  EXPECT_TRUE(is_low(result(1, 0.960, 0.005)));
  EXPECT_TRUE(is_low(result(1, 0.960, 0.02))) << "too wide: the median counts";
  EXPECT_FALSE(is_low(result(1, 0.980, 0.02)));
  EXPECT_TRUE(is_low(result(1, 0.96, INFINITY)));
  const std::vector<Workload> problems{problem(1), problem(2)};
  EXPECT_EQ(summary_of("", problems, std::vector{result(1, 0.9), result(2, 1.0)}).below, 1u);
}

}  // namespace
}  // namespace hotgemm
