#include "base/live_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;

struct Owner {
  std::atomic<bool> is_stopping{false}, is_stopped{false};
  void stop() {
    is_stopping = true;
    std::this_thread::sleep_for(100ms);
    is_stopped = true;
    LiveThreads<Owner>::instance().remove(this);
  }
};

/// Ends the program with 0 if `remove` waits for the `stop` that the end of the program calls, with 1 if not.
[[noreturn]] void remove_while_the_program_ends() {
  std::atexit([] { std::this_thread::sleep_for(10s); });  // runs last
  auto* owner = new Owner;
  LiveThreads<Owner>::instance().add(owner);
  std::thread([owner] {
    while (!owner->is_stopping) std::this_thread::yield();
    LiveThreads<Owner>::instance().remove(owner);
    std::_Exit(owner->is_stopped ? 0 : 1);
  }).detach();
  std::exit(2);
}

/// Ends the program with 0 if no object may start a thread then.
[[noreturn]] void add_while_the_program_ends() {
  std::atexit([] { std::_Exit(LiveThreads<Owner>::instance().add(new Owner) ? 1 : 0); });
  LiveThreads<Owner>::instance().add(new Owner);
  std::exit(2);
}

TEST(LiveThreadsDeathTest, RemoveWaitsForTheEndOfTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(remove_while_the_program_ends(), testing::ExitedWithCode(0), "");
}

TEST(LiveThreadsDeathTest, NothingStartsWhileTheProgramEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(add_while_the_program_ends(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hotgemm
