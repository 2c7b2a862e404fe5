#pragma once

#include "base/file_descriptor.hpp"

#include <chrono>

// Locks on files that end with their holder, whatever the holder does: it may be killed, and it may fork.

namespace hotgemm {

/// Owns a descriptor whose file is locked, or is about to be. It unlocks the file before it closes it, because a
/// descriptor that was inherited holds the lock too. Children of fork() do not have the descriptor: it is closed in
/// them, get() is -1 there, and to destroy their copy has no effect.
class LockedDescriptor {
 public:
  LockedDescriptor() = default;
  /// Owns the descriptor that `open` returns; -1 means that there is none. No child is forked while `open` runs, so
  /// that none keeps the descriptor. `open` must not fork and must not open another LockedDescriptor; errno is as it
  /// leaves it.
  template <class Open>
  static LockedDescriptor open(Open&& open);
  LockedDescriptor(LockedDescriptor&& other) noexcept;
  LockedDescriptor& operator=(LockedDescriptor&& other) noexcept;
  LockedDescriptor(const LockedDescriptor&) = delete;
  LockedDescriptor& operator=(const LockedDescriptor&) = delete;
  ~LockedDescriptor() { release(); }

  /// -1 if there is none, or if this process is a child of the one that opened it.
  int get() const noexcept;
  explicit operator bool() const noexcept { return get() >= 0; }
  /// Unlocks and closes the file.
  void release() noexcept;

 private:
  /// Keeps other threads from forking.
  class NoFork {
   public:
    NoFork();
    ~NoFork();
    NoFork(const NoFork&) = delete;
    NoFork& operator=(const NoFork&) = delete;
  };
  void own(FileDescriptor fd);  // under a NoFork

  int fd_ = -1;
  unsigned generation_ = 0;  // the number of forks between the first process and the one that owns the descriptor
};

template <class Open>
LockedDescriptor LockedDescriptor::open(Open&& open) {
  LockedDescriptor result;
  const NoFork no_fork;
  result.own(FileDescriptor(open()));
  return result;
}

enum class LockAttempt {
  locked,
  busy,        ///< another open file description holds the lock
  impossible,  ///< the file system does not lock
};

/// An exclusive lock by flock. On NFS it is one of a range of bytes, which needs a descriptor that is open for writing.
LockAttempt try_flock(int fd);
/// An exclusive lock of the open file description on all bytes.
LockAttempt try_range_lock(int fd);

/// The end of a wait that begins now. It lasts a day at most, so that "for ever" does not overflow the clock.
std::chrono::steady_clock::time_point deadline_after(std::chrono::milliseconds wait);

/// Repeats `attempt` until it is no longer busy, or until the deadline. It is made at least once.
LockAttempt lock_until(int fd, LockAttempt (*attempt)(int), std::chrono::steady_clock::time_point deadline);

}  // namespace hotgemm
