#include "base/blocks.hpp"

#include "base/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace hotgemm {
namespace {

using Answer = BlockRepeats::Answer;

/// The ends of batches of `launches` launches, whose time per launch at time t (in seconds) is us(t).
std::vector<double> ends(int launches, double seconds, const std::function<double(double)>& us) {
  std::vector<double> ends_us;
  for (double t = 0; t < seconds * 1e6;) {
    t += launches * us(t * 1e-6);
    ends_us.push_back(t);
  }
  return ends_us;
}

TEST(BlocksTest, TheOrderIsAbBaAb) {
  std::vector<std::size_t> order;
  for (int pass = 0; pass < 3; ++pass) {
    for (const std::size_t side : block_order(2, pass)) order.push_back(side);
  }
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_THAT(block_order(3, 1), testing::ElementsAre(2, 1, 0));
  EXPECT_THAT(block_order(0, 1), testing::IsEmpty());
}

/// Ratios per pass of two equal sides on a chip that becomes slower by 1 % from block to block.
std::vector<double> ratios_on_a_drifting_chip(const std::function<std::vector<std::size_t>(int)>& order, int passes) {
  std::vector<double> us[2];
  double block_us = 100;
  for (int pass = 0; pass < passes; ++pass) {
    for (const std::size_t side : order(pass)) us[side].push_back(block_us *= 1.01);
  }
  return paired_ratios(us[0], us[1]);
}

TEST(BlocksTest, ADriftOfTheChipFavoursNoSide) {
  const auto mean = [](const std::vector<double>& ratios) {
    return std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(ratios.size());
  };
  EXPECT_NEAR(mean(ratios_on_a_drifting_chip([](int pass) { return block_order(2, pass); }, 8)), 1, 2e-4);
  EXPECT_LT(mean(ratios_on_a_drifting_chip(
                [](int) {
                  return std::vector<std::size_t>{0, 1};
                },
                8)),
            0.992)
      << "the wrong order, AB AB AB, should show in this test";
}

TEST(BlocksTest, OnlyTheEndOfABlockCounts) {
  // Slow for 0.3 s, as after a contender that needs less power; then steady.
  const std::vector<double> ends_us = ends(10, 1.2, [](double t) { return t < 0.3 ? 800.0 : 400.0; });
  const auto part = counted_part(ends_us, 10, {.settle_s = 0.31, .counted_s = 0.5});
  ASSERT_TRUE(part);
  EXPECT_DOUBLE_EQ(part->us, 400);
  EXPECT_FALSE(is_drifting(*part));
  const auto early = counted_part(ends_us, 10, {.settle_s = 0.2, .counted_s = 0.5});
  ASSERT_TRUE(early);
  EXPECT_GT(early->us, 420);
  EXPECT_TRUE(is_drifting(*early));
}

TEST(BlocksTest, ABlockIsCompleteWhenEnoughOfItHasRun) {
  const BlockLengths lengths{.settle_s = 0.25, .counted_s = 0.5};
  std::vector<double> ends_us = ends(1, 2, [](double) { return 50'000.0; });  // at 0.05, 0.1, 0.15 … s
  const auto is_complete = [&](std::size_t count) {
    return counted_part(std::span(ends_us).first(count), 1, lengths).has_value();
  };
  EXPECT_FALSE(is_complete(0));
  EXPECT_FALSE(is_complete(14)) << "from 0.25 to 0.70 s is less than half a second";
  EXPECT_TRUE(is_complete(15));
  EXPECT_DOUBLE_EQ(counted_part(ends_us, 1, lengths)->us, 50'000);
}

TEST(BlocksTest, LongLaunchesStillHaveTwoHalves) {
  const std::vector<double> ends_us = ends(1, 4, [](double) { return 700'000.0; });
  const auto part = counted_part(ends_us, 1, {.settle_s = 0.25, .counted_s = 0.5});
  ASSERT_TRUE(part);
  EXPECT_DOUBLE_EQ(part->us, 700'000);
  EXPECT_DOUBLE_EQ(part->first_half_us, part->second_half_us);
}

/// The time per launch at time t (in seconds) on a GPU at its power cap: launches take 12 % longer for 0.25 s of every
/// 0.875 s, beginning at `phase`. The mean over time is 100 * (1 + 0.12 * 0.25 / 0.875) = 103.4, less a little, because
/// fewer launches fit into a dip.
std::function<double(double)> swinging(double phase) {
  return [phase](double t) { return std::fmod(t + phase, 0.875) < 0.25 ? 112.0 : 100.0; };
}

TEST(BlocksTest, ABlockCountsAPeriodOfThePowerLoop) {
  const double mean_us = 0.875 / (0.25 / 112 + 0.625 / 100);
  double largest_error = 0;
  for (double phase = 0; phase < 0.875; phase += 0.025) {
    const auto part = counted_part(ends(80, 3, swinging(phase)), 80, BlockLengths{});
    ASSERT_TRUE(part);
    largest_error = std::max(largest_error, std::abs(part->us / mean_us - 1));
    EXPECT_FALSE(is_drifting(*part)) << "a dip lies in one half: phase " << phase;
  }
  EXPECT_LT(largest_error, 0.015);
}

TEST(BlocksTest, HalvesThatDifferByMoreThanTenPercentDrift) {
  EXPECT_FALSE(is_drifting({100, 104, 96}));
  EXPECT_TRUE(is_drifting({100, 106, 94}));
  EXPECT_TRUE(is_drifting({100, 94, 106}));
}

TEST(BlocksTest, UnsteadyBlocksAreRepeatedForALimitedNumberOfTimes) {
  const CountedPart steady{100, 100, 100}, drifting{100, 107, 93};
  BlockRepeats repeats(2, 3);
  EXPECT_EQ(repeats.judge(steady, false), Answer::keep);
  EXPECT_EQ(repeats.judge(drifting, false), Answer::repeat);
  EXPECT_EQ(repeats.judge(steady, true), Answer::repeat) << "throttled by heat";
  EXPECT_EQ(repeats.judge(drifting, false), Answer::keep_unsteady) << "twice is enough for one block";
  EXPECT_EQ(repeats.judge(drifting, false), Answer::repeat);
  EXPECT_EQ(repeats.judge(steady, false), Answer::keep);
  EXPECT_EQ(repeats.judge(drifting, false), Answer::keep_unsteady) << "three repeats are enough for all";
}

double seconds_of(const BlockFinal& plan, std::size_t per_leader) {
  return static_cast<double>(plan.contenders + plan.leaders * per_leader) * block_seconds(choice_lengths());
}

TEST(BlocksTest, AFinalCountsAWholePeriodOfEachContender) {
  EXPECT_EQ(choice_lengths().counted_s, BlockLengths{}.counted_s);
  EXPECT_DOUBLE_EQ(choice_lengths(0.1).settle_s, 0.3) << "settling follows the time constant";
}

TEST(BlocksTest, AFinalWithLittleTimeHasFewerContenders) {
  EXPECT_EQ(block_final(40, 2, 100), (BlockFinal{.contenders = 12, .leaders = 2}));
  EXPECT_EQ(block_final(40, 2, 9.2), (BlockFinal{.contenders = 6, .leaders = 1}));
  EXPECT_EQ(block_final(40, 2, 4), (BlockFinal{.contenders = 3, .leaders = 1}));
  EXPECT_EQ(block_final(40, 2, -1), (BlockFinal{.contenders = 3, .leaders = 1}));
  for (const double seconds : {12.0, 10.0, 8.0, 6.0}) {
    for (const std::size_t per_leader : {std::size_t{1}, std::size_t{2}}) {
      EXPECT_NEAR(seconds_of(block_final(40, per_leader, seconds), per_leader), seconds, 0.6) << seconds;
    }
  }
}

TEST(BlocksTest, AFinalHasNoMoreContendersThanThereAre) {
  EXPECT_EQ(block_final(5, 2, 100), (BlockFinal{.contenders = 5, .leaders = 2}));
  EXPECT_EQ(block_final(1, 2, 100), (BlockFinal{.contenders = 1, .leaders = 1}));
}

}  // namespace
}  // namespace hotgemm
