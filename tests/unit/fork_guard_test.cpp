#include "base/fork_guard.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <thread>

// Registers a function for the end of `library`, which __cxa_finalize(library) is.
extern "C" int __cxa_atexit(void (*function)(void*), void* argument, void* library);  // NOLINT
extern "C" void __cxa_finalize(void* library);                                        // NOLINT

namespace hotgemm {
namespace {

using std::chrono::milliseconds, std::chrono::steady_clock;

/// Forks a child that calls `work` and then exit(), and returns its status, or the signal of its alarm.
template <class Work>
int status_of_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    work();
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
int status_of_child() {
  return status_of_child([] {});
}

/// The time that `work` takes.
template <class Work>
milliseconds time_of(const Work& work) {
  const auto start = steady_clock::now();
  work();
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
}

class ForkDelayTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizers of GCC do not survive fork(): a child waits for locks of their allocators";
#endif
  }
};

TEST_F(ForkDelayTest, AForkWaitsForTheOtherThread) {
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

/// A thread that holds a ForkDelay until its end.
class DelayingThread {
 public:
  DelayingThread() { held_.wait(); }
  void end() {
    ends_.count_down();
    thread_.join();
  }

 private:
  std::latch held_{1}, ends_{1};
  std::thread thread_{[this] {
    const ForkDelay delay;
    held_.count_down();
    ends_.wait();
  }};
};

TEST_F(ForkDelayTest, AForkDoesNotWaitForEver) {
  DelayingThread other;
  int status = -1;
  EXPECT_GE(time_of([&] { status = status_of_child(); }), milliseconds(1900));
  EXPECT_EQ(status, 0);
  other.end();
  EXPECT_LT(time_of([&] { status = status_of_child(); }), milliseconds(1500)) << "the next fork waits too";
  EXPECT_EQ(status, 0);
}

TEST_F(ForkDelayTest, AThreadDoesNotWaitForItself) {
  const ForkDelay delay, nested;
  EXPECT_LT(time_of([] { EXPECT_EQ(status_of_child(), 0); }), milliseconds(1500));
}

/// The delays of the parent's other threads do not exist in a child.
TEST_F(ForkDelayTest, AChildForksAndDelaysForks) {
  DelayingThread other;
  const auto work = [] {
    const milliseconds time = time_of([] {
      if (status_of_child() != 0) ::_exit(2);
      const ForkDelay delay;
      if (status_of_child() != 0) ::_exit(3);
    });
    if (time > milliseconds(1500)) ::_exit(4);
  };
  EXPECT_EQ(status_of_child(work), 0);
  other.end();
  EXPECT_EQ(status_of_child(work), 0);
}

/// NVRTC marks children too, and they may use CUDA.
TEST_F(ForkDelayTest, AChildHasLostCudaIfAnAncestorUsedIt) {
  const auto must = [](bool condition) {
    if (!condition) ::_exit(5);
  };
  const auto work = [&] {
    must(is_forked_child() && !has_lost_cuda());
    watch_cuda_for_fork();
    must(!has_lost_cuda());
    const auto has_lost = [&] { must(has_lost_cuda()); };
    must(status_of_child([&] {
           has_lost();
           must(status_of_child(has_lost) == 0);
         }) == 0);
  };
  watch_for_fork();
  EXPECT_EQ(status_of_child(work), 0);
}

/// exit() in a child waits for a lock that a thread of the parent held when it registered a destructor.
TEST_F(ForkDelayTest, AChildEndsWhereAThreadRegistersDestructors) {
  std::atomic<bool> is_over{false};
  int library = 0;  // its address is a handle of its own
  std::thread other([&] {
    while (!is_over) {
      {
        const ForkDelay delay;
        for (int i = 0; i < 200; ++i) __cxa_atexit([](void*) {}, nullptr, &library);
        __cxa_finalize(&library);
      }
      std::this_thread::yield();
    }
  });
  int ended = 0;
  while (ended < 40 && status_of_child() == 0) ++ended;
  EXPECT_EQ(ended, 40);
  is_over = true;
  other.join();
}

}  // namespace
}  // namespace hotgemm
