#include "base/cores.hpp"

#include <gtest/gtest.h>

#include <sched.h>

#include <thread>

namespace hotgemm {
namespace {

TEST(Cores, OfAQuota) {
  EXPECT_EQ(cores_of_quota("400000 100000"), 4);
  EXPECT_EQ(cores_of_quota("150000 100000"), 2);
  EXPECT_EQ(cores_of_quota("1000 100000"), 1);
  EXPECT_EQ(cores_of_quota("100000 50000\n"), 2);
  for (const char* none : {"max 100000", "", "100000", "100000 ", "100000 0", "-1 100000", "words"}) {
    EXPECT_EQ(cores_of_quota(none), 0) << none;
  }
}

TEST(Cores, AreThoseThatTheThreadMayRunOn) {
  EXPECT_GE(available_cores(), 1);
  int pinned = 0;
  std::thread([&] {  // in a thread, because the affinity is per thread
    cpu_set_t all, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    pinned = available_cores();
  })
      .join();
  EXPECT_EQ(pinned, 1);
}

}  // namespace
}  // namespace hotgemm
