#include "base/fork_guard.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <thread>

namespace hotgemm {
namespace {

using std::chrono::milliseconds, std::chrono::steady_clock;

/// Forks a child that ends by exit(). Returns its status, or the signal of its alarm.
int status_of_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(ForkDelay, AForkWaitsForTheOtherThread) {
  std::latch held(1);
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    const ForkDelay delay;
    held.count_down();
    std::this_thread::sleep_for(milliseconds(200));
    is_over = true;
  });
  held.wait();
  EXPECT_EQ(status_of_child(), 0);
  EXPECT_TRUE(is_over);
  other.join();
}

TEST(ForkDelay, AForkDoesNotWaitForEver) {
  std::latch held(1), forked(1);
  std::thread other([&] {
    const ForkDelay delay;
    held.count_down();
    forked.wait();
  });
  held.wait();
  const auto start = steady_clock::now();
  EXPECT_EQ(status_of_child(), 0);
  EXPECT_GE(steady_clock::now() - start, milliseconds(1900));
  forked.count_down();
  other.join();
  EXPECT_EQ(status_of_child(), 0) << "the next fork does not wait";
}

/// exit() in a child waits for a lock that a thread of the parent held when it registered a destructor.
TEST(ForkDelay, AChildEndsWhereAThreadRegistersDestructors) {
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    for (int i = 0; i < 400 && !is_over; ++i) {
      const ForkDelay delay;
      for (int k = 0; k < 500; ++k) std::atexit([] {});
    }
  });
  for (int i = 0; i < 40; ++i) EXPECT_EQ(status_of_child(), 0) << i;
  is_over = true;
  other.join();
}

}  // namespace
}  // namespace hotgemm
