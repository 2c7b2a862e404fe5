#include "tuning_control.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

namespace hotgemm {
namespace {

TEST(TuningControl, MayBeginUntilItIsPaused) {
  TuningControl control;
  EXPECT_TRUE(control.may_begin());
  EXPECT_EQ(control.begin(2).seconds(), 2);
  control.pause();
  control.pause();
  EXPECT_TRUE(control.is_paused());
  EXPECT_FALSE(control.may_begin());
  EXPECT_FALSE(control.begin(2));
  control.resume();
  EXPECT_TRUE(control.may_begin()) << "pauses do not add up";
  EXPECT_TRUE(control.begin(2));
}

TEST(TuningControl, SharesOutTheTotal) {
  TuningControl control(10);
  {
    const TuningControl::Share first = control.begin(7);
    const TuningControl::Share second = control.begin(7);
    EXPECT_EQ(first.seconds(), 7);
    EXPECT_EQ(second.seconds(), 3);
    EXPECT_FALSE(control.may_begin()) << "all is set apart";
    EXPECT_FALSE(control.begin(1));
  }
  EXPECT_TRUE(control.may_begin()) << "they used almost nothing";
  EXPECT_GT(control.used_s(), 0);
  EXPECT_NEAR(control.left_s(), 10, 5);
  control.add_used(100);
  EXPECT_EQ(control.left_s(), 0);
  EXPECT_FALSE(control.may_begin());
  control.resume();
  EXPECT_FALSE(control.may_begin()) << "resuming gives no time";
}

TEST(TuningControl, BearsBudgetsThatAreNoTime) {
  TuningControl control(10);
  for (const double budget_s :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const TuningControl::Share share = control.begin(budget_s);
    EXPECT_GE(share.seconds(), 0);
    EXPECT_LE(share.seconds(), 10);
  }
  EXPECT_NEAR(control.left_s(), 10, 5);
  TuningControl endless;
  EXPECT_TRUE(endless.begin(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(endless.may_begin());
}

TEST(TuningControl, RefusesATotalThatIsNoTime) {
  EXPECT_FALSE(TuningControl(0).may_begin());
  EXPECT_THROW(TuningControl(-1), Error);
  EXPECT_THROW(TuningControl(std::numeric_limits<double>::quiet_NaN()), Error);
}

TEST(TuningControl, CancelsTheTuningsThatGoOn) {
  TuningControl control;
  const TuningControl::Share before = control.begin(1);
  EXPECT_FALSE(before.is_cancelled());
  control.cancel();
  EXPECT_TRUE(before.is_cancelled());
  EXPECT_TRUE(control.may_begin());
  EXPECT_FALSE(control.begin(1).is_cancelled());
}

TEST(TuningControl, CountsTheTimeOfAllThreads) {
  TuningControl control(1000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) control.add_used(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(control.used_s(), 400);
  EXPECT_EQ(control.left_s(), 600);
}

}  // namespace
}  // namespace hotgemm
