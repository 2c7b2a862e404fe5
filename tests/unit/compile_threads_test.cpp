#include "gpu/compile_threads.hpp"

#include "base/thread_priority.hpp"
#include "gpu/kernel_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace hotgemm {
namespace {

int niceness_of_this_thread() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); }

TEST(CompileThreads, RunBesideTheCallerAtLowPriority) {
  CompileThreads& pool = CompileThreads::of_process();
  const auto caller = std::this_thread::get_id();
  const int own = niceness_of_this_thread();
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> begun;
  std::vector<int> niceness;
  pool.run(2, [&] {
    std::unique_lock lock(mutex);
    begun.insert(std::this_thread::get_id());
    if (std::this_thread::get_id() != caller) niceness.push_back(niceness_of_this_thread());
    changed.notify_all();
    changed.wait(lock, [&] { return begun.size() == 3; });  // the caller and both helpers are here at the same time
  });
  EXPECT_TRUE(begun.contains(caller));
  EXPECT_THAT(niceness, testing::Each(testing::Ge(kBackgroundNiceness)));
  EXPECT_EQ(niceness.size(), 2u);
  EXPECT_EQ(niceness_of_this_thread(), own);
}

TEST(CompileThreads, AreNoMoreForManyCallsThanForOne) {
  CompileThreads& pool = CompileThreads::of_process();
  const auto helpers = static_cast<std::size_t>(std::max(default_compile_jobs(), 2));
  std::mutex mutex;
  std::size_t now = 0, most = 0;
  const auto call = [&] {
    const auto caller = std::this_thread::get_id();
    pool.run(helpers, [&] {
      if (std::this_thread::get_id() == caller) return;
      {
        const std::lock_guard lock(mutex);
        most = std::max(most, ++now);
      }
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
      const std::lock_guard lock(mutex);
      --now;
    });
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn) call();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LE(most, helpers);
}

TEST(CompileThreads, ThatNeverBeganAreNotWaitedFor) {
  CompileThreads& pool = CompileThreads::of_process();
  std::atomic<int> calls{0};
  for (int i = 0; i < 100; ++i) pool.run(0, [&] { ++calls; });
  EXPECT_EQ(calls, 100);
}

TEST(CompileThreads, OfAChildAreItsOwn) {
  CompileThreads* const of_parent = &CompileThreads::of_process();
  EXPECT_EQ(&CompileThreads::of_process(), of_parent);
  EXPECT_EXIT(_exit(&CompileThreads::of_process() == of_parent ? 1 : 0), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hotgemm
