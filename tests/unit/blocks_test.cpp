#include "base/blocks.hpp"

#include "base/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(BlocksTest, HalvesThatDifferByMoreThanOnePercentDrift) {
  EXPECT_FALSE(is_drifting({100, 100.4, 99.6}));
  EXPECT_TRUE(is_drifting({100, 100.6, 99.4}));
  EXPECT_TRUE(is_drifting({100, 99.4, 100.6}));
}

TEST(BlocksTest, UnsteadyBlocksAreRepeatedForALimitedNumberOfTimes) {
  const CountedPart steady{100, 100, 100}, drifting{100, 103, 97};
  BlockRepeats repeats(2, 3);
  EXPECT_EQ(repeats.judge(steady, false), Answer::keep);
  EXPECT_EQ(repeats.judge(drifting, false), Answer::repeat);
  EXPECT_EQ(repeats.judge(steady, true), Answer::repeat) << "throttled by heat";
  EXPECT_EQ(repeats.judge(drifting, false), Answer::keep_unsteady) << "twice is enough for one block";
  EXPECT_EQ(repeats.judge(drifting, false), Answer::repeat);
  EXPECT_EQ(repeats.judge(steady, false), Answer::keep);
  EXPECT_EQ(repeats.judge(drifting, false), Answer::keep_unsteady) << "three repeats are enough for all";
}

double seconds_of(const std::vector<BlockStage>& stages) {
  double s = 0;
  for (const BlockStage& stage : stages) {
    s += static_cast<double>(stage.contenders) * stage.passes * (stage.lengths.settle_s + stage.lengths.counted_s);
  }
  return s;
}

TEST(BlocksTest, AHalvingGivesLongerBlocksToFewer) {
  const std::vector<BlockStage> stages = block_stages(40, 100);
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].contenders, 12u);
  EXPECT_EQ(stages[1].contenders, 6u);
  EXPECT_EQ(stages[2].contenders, 3u);
  EXPECT_DOUBLE_EQ(stages[0].lengths.counted_s, 0.2);
  EXPECT_DOUBLE_EQ(stages[1].lengths.counted_s, 0.4);
  EXPECT_DOUBLE_EQ(stages[2].passes * stages[2].lengths.counted_s, 0.8);
  EXPECT_DOUBLE_EQ(block_stages(40, 100, 0.1)[0].lengths.counted_s, 0.4) << "lengths follow the time constant";
}

TEST(BlocksTest, AHalvingKeepsToItsTime) {
  for (const double seconds : {9.0, 6.0, 4.0, 2.0, 1.0}) {
    EXPECT_LE(seconds_of(block_stages(40, seconds)), seconds * 1.3) << seconds;
  }
  EXPECT_EQ(block_stages(40, 0.1).size(), 1u);
}

TEST(BlocksTest, FewContendersNeedFewStages) {
  EXPECT_EQ(block_stages(3, 100).size(), 1u);
  EXPECT_EQ(block_stages(2, 100).front().contenders, 2u);
  EXPECT_EQ(block_stages(5, 100).size(), 2u);
  EXPECT_EQ(block_stages(5, 100).front().contenders, 5u);
}

}  // namespace
}  // namespace hotgemm
