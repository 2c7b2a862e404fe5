#include "plan/halving.hpp"

#include "base/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <span>

namespace hotgemm {
namespace {

using Samples = std::vector<std::vector<double>>;

std::vector<std::size_t> order_of(const Samples& us) {
  std::vector<std::size_t> order;
  for (const RankedContender& p : rank_contenders(us)) order.push_back(p.contender);
  return order;
}

TEST(HalvingTest, PlacesByRatiosWithinARound) {
  // The chip becomes slower from round to round. Medians would call contender 1 faster, because it ran in fewer rounds.
  const Samples us = {{100, 150, 200}, {102, kNan, kNan}, {90, 135, 180}};
  EXPECT_THAT(order_of(us), testing::ElementsAre(2, 0, 1));
  EXPECT_DOUBLE_EQ(rank_contenders(us)[0].ratio, 0.9);
  EXPECT_DOUBLE_EQ(rank_contenders(us)[2].ratio, 1.02);
}

TEST(HalvingTest, WithoutItsSamplesTheIncumbentIsTheFastest) {
  EXPECT_THAT(order_of({{kNan, kNan}, {20, 22}, {10, 11}}), testing::ElementsAre(2, 1));
  EXPECT_THAT(order_of({{kNan}, {}}), testing::IsEmpty());
  EXPECT_THAT(order_of({}), testing::IsEmpty());
}

TEST(HalvingTest, ContendersThatShareNoRoundAreComparedByMedians) {
  EXPECT_THAT(order_of({{10, kNan}, {kNan, 9}, {kNan, 11}}), testing::ElementsAre(1, 0, 2));
}

TEST(HalvingTest, EqualsKeepTheirOrder) { EXPECT_THAT(order_of({{5}, {5}, {5}}), testing::ElementsAre(0, 1, 2)); }

TEST(HalvingTest, HalfGoesOnButNotTheSlow) {
  std::vector<RankedContender> placed;
  for (std::size_t i = 0; i < 10; ++i) placed.push_back({i, 1.0 + 0.1 * static_cast<double>(i)});
  EXPECT_EQ(survivors(placed, 3, 2.0), 5u);
  EXPECT_EQ(survivors(placed, 8, 2.0), 8u);
  EXPECT_EQ(survivors(placed, 20, 2.0), 10u);
  EXPECT_EQ(survivors(placed, 3, 1.25), 3u);
  EXPECT_EQ(survivors(std::span(placed).first(9), 3, 2.0), 5u) << "the greater half of an odd number";
  EXPECT_EQ(survivors({}, 3, 2.0), 0u);
  EXPECT_EQ(survivors(std::vector<RankedContender>{{0, 1}}, 3, 2.0), 1u);
}

TEST(HalvingTest, TiesAreWithinHalfAPercent) {
  EXPECT_EQ(tied(std::vector<RankedContender>{{0, 0.9}, {1, 0.9044}, {2, 0.9046}}), 2u);
  EXPECT_EQ(tied({}), 0u);
}

Samples noisy(const std::vector<double>& times, int rounds, double noise) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> drift(1.0, 0.05), own(1.0, noise);
  Samples us(times.size());
  for (int round = 0; round < rounds; ++round) {
    const double clock = drift(random);
    for (std::size_t i = 0; i < times.size(); ++i) us[i].push_back(times[i] * clock * own(random));
  }
  return us;
}

TEST(HalvingTest, IsDecidedWhenTheIntervalsSaySo) {
  const auto decided = [](const Samples& us) { return is_decided(us, rank_contenders(us)); };
  EXPECT_TRUE(decided(noisy({100, 110}, 9, 0.002)));     // clearly slower
  EXPECT_TRUE(decided(noisy({100, 100.1}, 9, 0.0005)));  // clearly a tie
  EXPECT_FALSE(decided(noisy({100, 101}, 9, 0.02)));     // too noisy to decide
  EXPECT_FALSE(decided(noisy({100, 110}, 3, 0.002)));    // three samples give no interval
  EXPECT_TRUE(decided(noisy({100}, 1, 0.1)));
  EXPECT_FALSE(decided({{100, 100, 100, 100, 100, 100, 100, 100, 100}, {98, 98, 98, 98, 100, 100, 100, 100, 100}}))
      << "the second may be faster than a tie";
}

TEST(HalvingTest, TheBestSurvivesDriftAndNoise) {
  // Twenty contenders, one percent apart, on a chip that drifts by five percent, are halved down to three.
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) times.push_back(100.0 + (i * 7) % 20);
  int found = 0;
  for (unsigned trial = 0; trial < 100; ++trial) {
    std::mt19937_64 random(trial);
    std::normal_distribution<double> drift(1.0, 0.05), own(1.0, 0.005);
    std::vector<std::size_t> alive(times.size());
    for (std::size_t i = 0; i < alive.size(); ++i) alive[i] = i;
    for (int rounds = 1; alive.size() > 3; rounds *= 2) {
      Samples us(alive.size());
      for (int round = 0; round < rounds; ++round) {
        const double clock = drift(random);
        for (std::size_t i = 0; i < alive.size(); ++i) us[i].push_back(times[alive[i]] * clock * own(random));
      }
      const std::vector<RankedContender> placed = rank_contenders(us);
      std::vector<std::size_t> next;
      for (const RankedContender& p : std::span(placed).first(survivors(placed, 3, 2.0)))
        next.push_back(alive[p.contender]);
      alive = next;
    }
    found += alive.front() == 0 || alive[1] == 0 || alive[2] == 0;
  }
  EXPECT_EQ(found, 100);
}

TEST(DisturbedRounds, AreThoseInWhichTheIncumbentIsSlow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(disturbed_rounds(std::vector{100.0, 300.0, 99.0, nan, 124.0, 126.0, 98.0, 101.0, 97.0}),
            (std::vector{false, true, false, false, false, true, false, false, false}));
  EXPECT_EQ(disturbed_rounds(std::vector{100.0, 300.0}), (std::vector{false, true}));
  EXPECT_EQ(disturbed_rounds(std::vector{nan, nan}), (std::vector{false, false}));
  EXPECT_TRUE(disturbed_rounds({}).empty());
}

TEST(DisturbedRounds, AnUnsteadyIncumbentSpreads) {
  EXPECT_TRUE(is_unsteady(std::vector{85.0, 115.0, 85.0, 115.0}));
  EXPECT_FALSE(is_unsteady(std::vector{95.0, 105.0, 95.0, 105.0}));
  EXPECT_FALSE(is_unsteady(std::vector{50.0, 150.0, 100.0})) << "too few samples";
  EXPECT_TRUE((RoundTally{.done = 6, .disturbed = 3}.is_disturbed()));
  EXPECT_FALSE((RoundTally{.done = 6, .disturbed = 2}.is_disturbed()));
  EXPECT_FALSE(RoundTally{}.is_disturbed());
}

}  // namespace
}  // namespace hotgemm
