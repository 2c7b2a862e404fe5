#include "base/moment.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hotgemm {
namespace {

TEST(Moment, OverflowsNoClock) {
  const Moment now = std::chrono::steady_clock::now();
  EXPECT_EQ(moment_after(now, 1.5), now + std::chrono::milliseconds(1500));
  EXPECT_EQ(moment_after(now, -1), now - std::chrono::seconds(1));
  for (const double seconds : {1e9, 1e10, 1e30, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(moment_after(now, seconds), now + std::chrono::seconds(1000000000)) << seconds;
  }
}

}  // namespace
}  // namespace hotgemm
