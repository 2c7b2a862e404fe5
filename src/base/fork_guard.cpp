#include "base/fork_guard.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>

namespace hotgemm {
namespace {

std::atomic<bool> forked{false};

std::shared_timed_mutex& delaying() {
  static auto* mutex = new std::shared_timed_mutex;  // never freed: threads may fork while the program ends
  return *mutex;
}
thread_local bool is_delaying_others = false;

void before_fork() {
  constexpr std::chrono::seconds kMostWait{2};  // another handler of fork() may hold what a delaying thread needs
  is_delaying_others = delaying().try_lock_for(kMostWait);
}
void after_fork() {
  if (is_delaying_others) delaying().unlock();
  is_delaying_others = false;
}
void after_fork_in_child() {
  forked.store(true, std::memory_order_relaxed);
  after_fork();
}

}  // namespace

void watch_for_fork() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(before_fork, after_fork, after_fork_in_child); });
}

bool is_forked_child() noexcept { return forked.load(std::memory_order_relaxed); }

ForkDelay::ForkDelay() {
  watch_for_fork();
  lock_ = std::shared_lock(delaying());
}

}  // namespace hotgemm
