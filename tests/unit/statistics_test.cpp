#include "base/statistics.hpp"

#include "sweep_sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace hotgemm {
namespace {

std::vector<double> one_to(int count) {
  std::vector<double> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
}

TEST(Statistics, MedianPassesOverSamplesNotTaken) {
  EXPECT_EQ(median(std::vector<double>{kNan, 5, kNan, 1, 3}), 3);
  EXPECT_TRUE(std::isnan(median(std::vector<double>{})));
  EXPECT_TRUE(std::isnan(median(std::vector<double>{kNan, kNan})));
}

TEST(Statistics, QuantileInterpolatesAndClamps) {
  const std::vector<double> samples{10, 20, 30, 40, 50};
  EXPECT_EQ(quantile(samples, 0), 10);
  EXPECT_EQ(quantile(samples, 1), 50);
  EXPECT_EQ(quantile(samples, 2), 50);
  EXPECT_EQ(quantile(samples, -1), 10);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.3), 22);
}

TEST(Statistics, InterquartileRange) {
  EXPECT_EQ(interquartile_range(std::vector<double>{5, 1, 4, 2, 3}), 2);
  EXPECT_EQ(interquartile_range(std::vector<double>{5}), 0);
  EXPECT_TRUE(std::isnan(interquartile_range(std::vector<double>{})));
}

TEST(Statistics, GeometricMean) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{2, 8}), 4);
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{0.5, 2, 1}), 1);
}

TEST(Statistics, GeometricMeanRefusesWhatCouldNotRun) {
  EXPECT_TRUE(std::isnan(geometric_mean(std::vector<double>{})));
  EXPECT_TRUE(std::isnan(geometric_mean(std::vector<double>{1, kNan})));
  EXPECT_TRUE(std::isnan(geometric_mean(std::vector<double>{1, 0})));
  EXPECT_TRUE(std::isnan(geometric_mean(std::vector<double>{1, -2})));
}

TEST(Statistics, PairedRatiosKeepTheRoundsThatBothRan) {
  const std::vector<double> baseline{10, kNan, 30, 40};
  const std::vector<double> ours{5, 6, kNan, 20, 1};
  EXPECT_EQ(paired_ratios(baseline, ours), (std::vector<double>{2, 2}));
}

// The ranks are those in published tables of the sign test at 95 %.
TEST(Statistics, MedianIntervalRanks) {
  EXPECT_EQ(median_interval(one_to(6)), (Interval{1, 6}));
  EXPECT_EQ(median_interval(one_to(7)), (Interval{1, 7}));
  EXPECT_EQ(median_interval(one_to(9)), (Interval{2, 8}));
  EXPECT_EQ(median_interval(one_to(11)), (Interval{2, 10}));
  EXPECT_EQ(median_interval(one_to(12)), (Interval{3, 10}));
  EXPECT_EQ(median_interval(one_to(25)), (Interval{8, 18}));
  EXPECT_EQ(median_interval(one_to(100)), (Interval{40, 61}));
  EXPECT_EQ(median_interval(one_to(1075)), (Interval{505, 571})) << "2^-1075 is zero as a double";
  EXPECT_EQ(median_interval(one_to(10000)), (Interval{4902, 5099}));
}

TEST(Statistics, MedianIntervalNeedsSixSamples) {
  for (int count = 0; count < 6; ++count) {
    const Interval interval = median_interval(one_to(count));
    EXPECT_TRUE(std::isinf(interval.low) && interval.low < 0) << count;
    EXPECT_TRUE(std::isinf(interval.high) && interval.high > 0) << count;
  }
  std::vector<double> samples = one_to(6);
  samples[2] = kNan;
  EXPECT_TRUE(std::isinf(median_interval(samples).high));
}

TEST(Statistics, MedianIntervalCoversAsPromised) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> skewed(0, 1);  // its median is 1
  for (const int count : {7, 11, 25}) {
    const int all = trials(20000, 4);
    int covered = 0;
    for (int trial = 0; trial < all; ++trial) {
      std::vector<double> samples(static_cast<std::size_t>(count));
      for (double& sample : samples) sample = skewed(random);
      covered += median_interval(samples).contains(1);
    }
    EXPECT_GE(covered, 0.945 * all) << count;
    EXPECT_LE(covered, 0.995 * all) << count;  // the interval is not wider than necessary
  }
}

TEST(Statistics, TieIsAnIntervalThatContainsOne) {
  EXPECT_TRUE(is_tie({0.98, 1.01}));
  EXPECT_TRUE(is_tie({1, 1.05}));
  EXPECT_FALSE(is_tie({1.001, 1.05}));
  EXPECT_FALSE(is_tie({0.9, 0.999}));
  EXPECT_FALSE(is_tie(median_interval(std::vector{1.0, 1.0, 1.0}))) << "three samples show nothing";
}

TEST(RankCorrelation, FollowsTheOrderAndNotTheValues) {
  const std::vector<double> a{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{10, 20, 30, 1e9}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, std::vector<double>{2, 1, 4, 3}), 0.6);  // 1 - 6 * 4 / (4 * 15)
}

TEST(RankCorrelation, SharesTheRanksOfEqualValuesAndLeavesOutPairsWithNan) {
  // The ranks of the second side are 0.5, 0.5 and 2; of the first 0, 1 and 2.
  EXPECT_NEAR(rank_correlation(std::vector<double>{1, 2, 3}, std::vector<double>{5, 5, 6}), 0.866, 1e-3);
  EXPECT_DOUBLE_EQ(rank_correlation(std::vector<double>{1, 9, 2}, std::vector<double>{3, kNan, 4}), 1);
  EXPECT_TRUE(std::isnan(rank_correlation(std::vector<double>{1}, std::vector<double>{1})));
  EXPECT_TRUE(std::isnan(rank_correlation(std::vector<double>{1, 2}, std::vector<double>{7, 7})));
}

TEST(Interval, OfTooFewSamplesIsNoText) {
  const std::vector<double> five{0.9, 1, 1.1, 1.2, 1.3}, six{0.9, 1, 1.1, 1.2, 1.3, 1.4};
  EXPECT_EQ(to_string(median_interval(five)), "-");
  EXPECT_EQ(to_string(median_interval(six)), "0.900 to 1.400");
  EXPECT_EQ(to_string(Interval{kNan, kNan}), "-");
}

}  // namespace
}  // namespace hotgemm
