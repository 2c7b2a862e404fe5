#include "base/fork_guard.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace hotgemm {
namespace {

std::atomic<bool> forked{false};
std::atomic<bool> uses_cuda{false};  // this process, or one that it descends from
std::atomic<bool> lost_cuda{false};

// No lock: a child could not give back what its parent's thread had taken.
std::atomic<int> delaying{0};  // threads that hold a ForkDelay
std::atomic<int> forking{0};   // threads that fork
thread_local int delays_of_thread = 0;

/// Asks `condition` until it is true, and returns whether it became so. The time is limited, because a handler of
/// fork() elsewhere may hold what the other thread needs.
template <class Condition>
bool await(const Condition& condition) noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kMostWait{2};
  const Clock::time_point end = Clock::now() + kMostWait;
  while (!condition()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Counts this thread among those that delay forks, if no fork is under way. One that begins now waits.
bool enter() noexcept {
  ++delaying;
  if (forking == 0) return true;
  --delaying;
  return false;
}

void before_fork() {
  ++forking;
  if (delays_of_thread == 0) await([] { return delaying == 0; });
}
void after_fork() { --forking; }
void after_fork_in_child() {
  forked.store(true, std::memory_order_relaxed);
  lost_cuda.store(uses_cuda, std::memory_order_relaxed);
  forking = 0;  // this thread is the only one
  delaying = delays_of_thread > 0 ? 1 : 0;
}

}  // namespace

void watch_for_fork() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(before_fork, after_fork, after_fork_in_child); });
}

bool is_forked_child() noexcept { return forked.load(std::memory_order_relaxed); }

void watch_cuda_for_fork() {
  watch_for_fork();
  uses_cuda = true;
}

bool has_lost_cuda() noexcept { return lost_cuda.load(std::memory_order_relaxed); }

ForkDelay::ForkDelay() noexcept {
  watch_for_fork();
  if (delays_of_thread++ > 0) return;
  if (!await(enter)) ++delaying;
}

ForkDelay::~ForkDelay() {
  if (--delays_of_thread == 0) --delaying;
}

}  // namespace hotgemm
