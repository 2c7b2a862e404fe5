#include "cache/shard_lock.hpp"

#include "base/log.hpp"
#include "base/sha256.hpp"
#include "cache/cache_directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace hotgemm {
namespace {

constexpr DirectoryRules kOursAlone{.writable = true, .trust_shared = false};
constexpr std::chrono::hours kLongestWait{24};

std::string lock_name(std::size_t shard) {
  const std::array<std::uint8_t, 1> byte{static_cast<std::uint8_t>(shard)};
  return to_hex(byte) + ".lock";
}

enum class Attempt { locked, busy, impossible };

Attempt try_lock(int fd) {
  struct ::flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &range) == 0) return Attempt::locked;
  return errno == EAGAIN || errno == EACCES || errno == EINTR ? Attempt::busy : Attempt::impossible;
}

// Pauses that grow from 1 ms to 50 ms. The jitter keeps the ranks of a node from polling at the same times.
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

struct ShardLock::Shards {
  std::mutex mutex;
  std::condition_variable released;
  std::array<bool, ShardLocks::kShards> taken{};
};

ShardLock::ShardLock(ShardLock&& other) noexcept
    : shards_(std::move(other.shards_)), shard_(other.shard_), fd_(std::exchange(other.fd_, -1)) {
  other.shards_.reset();
}

ShardLock& ShardLock::operator=(ShardLock&& other) noexcept {
  if (this != &other) {
    release();
    shards_ = std::move(other.shards_);
    other.shards_.reset();
    shard_ = other.shard_;
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

ShardLock::~ShardLock() { release(); }

void ShardLock::release() noexcept {
  // Release the file lock first: the next thread of this process then finds the file free.
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (const auto shards = std::exchange(shards_, nullptr)) {
    const std::lock_guard guard(shards->mutex);
    shards->taken[shard_] = false;
    shards->released.notify_all();
  }
}

ShardLocks::ShardLocks(const std::vector<std::filesystem::path>& directories)
    : shards_(std::make_shared<ShardLock::Shards>()) {
  for (const auto& candidate : directories) {
    try {
      if (const auto opened = CacheDirectory::open(candidate, kOursAlone, true)) {
        directory_ = opened->path();
        return;
      }
    } catch (const std::runtime_error& error) {
      log(LogLevel::debug, std::string("cache locks: ") + error.what());
    }
  }
}

ShardLock ShardLocks::acquire(std::size_t shard, std::chrono::milliseconds wait) const {
  shard %= kShards;
  // Limit the wait, so that "for ever" does not overflow the clock.
  const auto deadline = std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(wait, kLongestWait);
  ShardLock lock;
  {
    std::unique_lock guard(shards_->mutex);
    if (!shards_->released.wait_until(guard, deadline, [&] { return !shards_->taken[shard]; })) return lock;
    shards_->taken[shard] = true;
  }
  lock.shards_ = shards_;
  lock.shard_ = shard;
  if (!directory_.empty()) lock.fd_ = lock_file(shard, deadline);
  return lock;
}

int ShardLocks::lock_file(std::size_t shard, std::chrono::steady_clock::time_point deadline) const {
  try {
    // Open the directory each time, so that one that was removed is made again.
    const auto directory = CacheDirectory::open(directory_, kOursAlone, true);
    const int fd = directory->open_lock_file(lock_name(shard));
    Backoff backoff;
    Attempt attempt = try_lock(fd);
    while (attempt == Attempt::busy && std::chrono::steady_clock::now() < deadline) {
      backoff.pause(deadline);
      attempt = try_lock(fd);
    }
    if (attempt == Attempt::locked) return fd;
    ::close(fd);
    log(LogLevel::info, "cache lock " + (directory_ / lock_name(shard)).string() +
                            (attempt == Attempt::busy ? ": still held by another process; going on without it"
                                                      : ": the file system does not lock; going on without it"));
  } catch (const std::runtime_error& error) {
    log(LogLevel::debug,
        "cache lock " + (directory_ / lock_name(shard)).string() + ": " + error.what() + "; going on without it");
  }
  return -1;
}

}  // namespace hotgemm
