#include "base/file_lock.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

/// The descriptors that a child of fork() closes. It is never destroyed, because objects with static storage own some.
struct OpenLocks {
  std::mutex mutex;
  std::vector<int> fds;
  std::atomic<unsigned> generation{0};
};

OpenLocks& open_locks();

void before_fork() { open_locks().mutex.lock(); }
void after_fork_in_parent() { open_locks().mutex.unlock(); }
void after_fork_in_child() {
  OpenLocks& locks = open_locks();
  for (const int fd : locks.fds) ::close(fd);
  locks.fds.clear();
  ++locks.generation;
  locks.mutex.unlock();
}

OpenLocks& open_locks() {
  static OpenLocks* const locks = [] {
    auto* made = new OpenLocks;
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return made;
  }();
  return *locks;
}

void unlock(int fd) {
  struct ::flock range {};
  range.l_type = F_UNLCK;
  range.l_whence = SEEK_SET;
  ::fcntl(fd, F_OFD_SETLK, &range);
  ::flock(fd, LOCK_UN);
}

/// Pauses that grow from 1 ms to 50 ms. The jitter keeps the ranks of a node from polling at the same times.
class Backoff {
 public:
  void pause(std::chrono::steady_clock::time_point deadline) {
    std::uniform_real_distribution<double> jitter(0.5, 1.0);
    const auto nap = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double, std::milli>(ceiling_ms_ * jitter(random_)));
    const auto left = deadline - std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::min(nap, left));
    ceiling_ms_ = std::min(50.0, ceiling_ms_ * 1.5);
  }

 private:
  std::minstd_rand random_{std::random_device{}()};
  double ceiling_ms_ = 1;
};

}  // namespace

LockedDescriptor::NoFork::NoFork() { open_locks().mutex.lock(); }
LockedDescriptor::NoFork::~NoFork() { open_locks().mutex.unlock(); }

void LockedDescriptor::own(FileDescriptor fd) {
  if (!fd) return;
  open_locks().fds.push_back(fd.get());
  generation_ = open_locks().generation;
  fd_ = fd.release();
}

LockedDescriptor::LockedDescriptor(LockedDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), generation_(other.generation_) {}

LockedDescriptor& LockedDescriptor::operator=(LockedDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(generation_, other.generation_);
  return *this;
}

int LockedDescriptor::get() const noexcept {
  return fd_ >= 0 && generation_ == open_locks().generation.load(std::memory_order_relaxed) ? fd_ : -1;
}

void LockedDescriptor::release() noexcept {
  const int fd = get();
  fd_ = -1;
  if (fd < 0) return;  // in a child, the number may be that of another file
  const std::lock_guard no_fork(open_locks().mutex);
  std::erase(open_locks().fds, fd);
  unlock(fd);
  ::close(fd);
}

LockAttempt try_flock(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return LockAttempt::locked;
  return errno == EWOULDBLOCK || errno == EINTR ? LockAttempt::busy : LockAttempt::impossible;
}

LockAttempt try_range_lock(int fd) {
  struct ::flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &range) == 0) return LockAttempt::locked;
  return errno == EAGAIN || errno == EACCES || errno == EINTR ? LockAttempt::busy : LockAttempt::impossible;
}

std::chrono::steady_clock::time_point deadline_after(std::chrono::milliseconds wait) {
  constexpr std::chrono::hours kLongestWait{24};
  return std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(wait, kLongestWait);
}

LockAttempt lock_until(int fd, LockAttempt (*attempt)(int), std::chrono::steady_clock::time_point deadline) {
  Backoff backoff;
  LockAttempt result = attempt(fd);
  while (result == LockAttempt::busy && std::chrono::steady_clock::now() < deadline) {
    backoff.pause(deadline);
    result = attempt(fd);
  }
  return result;
}

}  // namespace hotgemm
