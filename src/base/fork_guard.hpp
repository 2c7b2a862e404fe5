#pragma once

#include <shared_mutex>

namespace hotgemm {

/// Marks the children of later fork() calls, because CUDA does not work in them. Repeated calls have no effect.
void watch_for_fork();
/// True in a process that was forked after watch_for_fork() had been called.
bool is_forked_child() noexcept;

/// While one exists, fork() in another thread waits, but for two seconds at most. To be held while a library is opened
/// or used first: its objects register their destructors under a lock of exit(), and a child forked meanwhile would
/// wait for that lock for ever when it ends.
class ForkDelay {
 public:
  ForkDelay();

 private:
  std::shared_lock<std::shared_timed_mutex> lock_;
};

}  // namespace hotgemm
