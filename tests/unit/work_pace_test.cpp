#include "base/work_pace.hpp"

#include <gtest/gtest.h>

namespace hotgemm {
namespace {

using std::chrono::seconds;

const WorkPace::Clock::time_point kStart{};

TEST(WorkPace, TellsTheTimeLeftFromTheTimeTaken) {
  WorkPace pace;
  pace.add(1, kStart);
  EXPECT_EQ(pace.left(101), std::nullopt) << "one count is no pace";
  pace.add(3, kStart + std::chrono::milliseconds(500));
  EXPECT_EQ(pace.left(101), std::nullopt) << "too short a time";
  pace.add(11, kStart + seconds(20));
  EXPECT_EQ(pace.left(101), seconds(180));
  EXPECT_EQ(pace.left(11), seconds(0));
}

TEST(WorkPace, ForgetsWhatTookNoTime) {
  WorkPace pace;
  for (std::size_t i = 1; i <= 1000; ++i) pace.add(i, kStart);  // cached
  for (std::size_t i = 1; i <= 64; ++i) pace.add(1000 + i, kStart + seconds(i));
  EXPECT_EQ(pace.left(1164), seconds(100));
}

TEST(WorkPace, BeginsAnewWithOtherWork) {
  WorkPace pace;
  pace.add(1, kStart);
  pace.add(50, kStart + seconds(10));
  pace.add(1, kStart + seconds(11));
  EXPECT_EQ(pace.left(100), std::nullopt);
}

TEST(WorkPace, IsReadable) {
  EXPECT_EQ(readable_time(seconds(45)), "45 s");
  EXPECT_EQ(readable_time(seconds(725)), "12 min");
  EXPECT_EQ(readable_time(seconds(11100)), "3 h 05 min");
}

}  // namespace
}  // namespace hotgemm
