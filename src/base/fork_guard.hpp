#pragma once

namespace hotgemm {

/// Marks the children of later fork() calls, because they have no threads of this process. Repeated calls have no
/// effect.
void watch_for_fork();
/// True in a process that was forked after watch_for_fork() had been called. It may use CUDA, if the parent had not.
bool is_forked_child() noexcept;

/// Says that this process uses CUDA, which does not work in the children of later fork() calls.
void watch_cuda_for_fork();
/// True in a process that was forked after watch_cuda_for_fork() had been called.
bool has_lost_cuda() noexcept;

/// Delays fork() in other threads while it exists, but by two seconds at most. A thread holds one while it opens a
/// library, and while NVRTC compiles for the first time: both register destructors under a lock of exit(), and a child
/// that is forked meanwhile would wait for that lock for ever when it ends. A thread does not wait for itself.
class ForkDelay {
 public:
  /// Waits for a fork that is under way, likewise for two seconds at most.
  ForkDelay() noexcept;
  ~ForkDelay();
  ForkDelay(const ForkDelay&) = delete;
  ForkDelay& operator=(const ForkDelay&) = delete;
};

}  // namespace hotgemm
