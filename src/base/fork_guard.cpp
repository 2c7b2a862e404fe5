#include "base/fork_guard.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace hotgemm {
namespace {

std::atomic<bool> forked{false};

void on_fork_in_child() { forked.store(true, std::memory_order_relaxed); }

}  // namespace

void watch_for_fork() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, on_fork_in_child); });
}

bool is_forked_child() noexcept { return forked.load(std::memory_order_relaxed); }

}  // namespace hotgemm
