#include "base/clock_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace hotgemm {
namespace {

constexpr std::uint64_t kNone = 0, kPowerCap = 0x4, kHeat = 0x20, kPowerBrake = 0x80;

std::vector<ClockSample> samples(std::initializer_list<std::uint64_t> reasons) {
  std::vector<ClockSample> result;
  double mhz = 1400;
  for (const std::uint64_t r : reasons) result.push_back({mhz += 10, 690, r});
  return result;
}

TEST(ClockStateTest, HasMediansAndShares) {
  const ClockState state = state_of(samples({kPowerCap, kPowerCap | kHeat, kNone, kPowerCap}));
  EXPECT_DOUBLE_EQ(state.mhz, 1425);
  EXPECT_DOUBLE_EQ(state.watts, 690);
  EXPECT_EQ(state.samples, 4);
  EXPECT_DOUBLE_EQ(state.power_cap_share, 0.75);
  EXPECT_DOUBLE_EQ(state.other_share, 0.25);
  EXPECT_EQ(state.reasons, kPowerCap | kHeat);
}

TEST(ClockStateTest, WithoutSamplesNothingIsKnown) {
  for (const std::vector<ClockSample>& none : {std::vector<ClockSample>{}, std::vector<ClockSample>(3)}) {
    const ClockState state = state_of(none);
    EXPECT_TRUE(std::isnan(state.mhz));
    EXPECT_TRUE(std::isnan(state.watts));
    EXPECT_EQ(verdict_of(state), PowerVerdict::unknown);
  }
}

TEST(ClockStateTest, PowerBindsInHalfOfTheSamples) {
  EXPECT_EQ(verdict_of(state_of(samples({kPowerCap, kNone}))), PowerVerdict::binds);
  EXPECT_EQ(verdict_of(state_of(samples({kPowerCap, kNone, kNone}))), PowerVerdict::free);
  EXPECT_EQ(verdict_of(state_of(samples({kHeat, kPowerBrake}))), PowerVerdict::free)
      << "heat and the power supply are other reasons";
}

TEST(ClockStateTest, NamesTheLimits) {
  EXPECT_EQ(throttle_text(kNone), "none");
  EXPECT_EQ(throttle_text(0x1 | 0x2), "none") << "an idle GPU, clocks set by the user";
  EXPECT_EQ(throttle_text(kPowerCap), "power cap");
  EXPECT_EQ(throttle_text(kPowerCap | kHeat | kPowerBrake), "power cap + heat + power brake");
  EXPECT_FALSE(is_throttled_otherwise(kPowerCap | 0x1));
  EXPECT_TRUE(is_throttled_otherwise(kPowerCap | kPowerBrake));
}

}  // namespace
}  // namespace hotgemm
