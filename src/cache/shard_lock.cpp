#include "cache/shard_lock.hpp"

#include "base/log.hpp"
#include "base/sha256.hpp"
#include "cache/cache_directory.hpp"

#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace hotgemm {
namespace {

constexpr DirectoryRules kOursAlone{.writable = true, .trust_shared = false};

std::string lock_name(std::size_t shard) {
  const std::array<std::uint8_t, 1> byte{static_cast<std::uint8_t>(shard)};
  return to_hex(byte) + ".lock";
}

}  // namespace

struct ShardLock::Shards {
  std::mutex mutex;
  std::condition_variable released;
  std::array<bool, ShardLocks::kShards> taken{};
  const pid_t owner = ::getpid();

  bool is_ours() const { return owner == ::getpid(); }
};

ShardLock::ShardLock(ShardLock&& other) noexcept
    : shards_(std::move(other.shards_)), shard_(other.shard_), file_(std::move(other.file_)) {
  other.shards_.reset();
}

ShardLock& ShardLock::operator=(ShardLock&& other) noexcept {
  if (this != &other) {
    release();
    shards_ = std::move(other.shards_);
    other.shards_.reset();
    shard_ = other.shard_;
    file_ = std::move(other.file_);
  }
  return *this;
}

ShardLock::~ShardLock() { release(); }

void ShardLock::release() noexcept {
  // Release the file lock first: the next thread of this process then finds the file free.
  file_.release();
  if (const auto shards = std::exchange(shards_, nullptr); shards && shards->is_ours()) {
    const std::lock_guard guard(shards->mutex);
    shards->taken[shard_] = false;
    shards->released.notify_all();
  }
}

ShardLocks::ShardLocks(const std::vector<std::filesystem::path>& directories)
    : shards_(new Shards(std::make_shared<ShardLock::Shards>())) {
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

ShardLocks::~ShardLocks() {
  const Shards* const known = shards_;
  if ((*known)->is_ours()) delete known;
}

ShardLocks::Shards ShardLocks::of_process() const {
  const Shards* known = shards_;
  while (!(*known)->is_ours()) {
    auto made = std::make_unique<const Shards>(std::make_shared<ShardLock::Shards>());
    if (shards_.compare_exchange_strong(known, made.get())) return *made.release();
  }
  return *known;
}

ShardLock ShardLocks::acquire(std::size_t shard, std::chrono::milliseconds wait) const {
  shard %= kShards;
  const auto deadline = deadline_after(wait);
  ShardLock lock;
  const Shards shards = of_process();
  {
    std::unique_lock guard(shards->mutex);
    if (!shards->released.wait_until(guard, deadline, [&] { return !shards->taken[shard]; })) return lock;
    shards->taken[shard] = true;
  }
  lock.shards_ = shards;
  lock.shard_ = shard;
  if (!directory_.empty()) lock.file_ = lock_file(shard, deadline);
  return lock;
}

LockedDescriptor ShardLocks::lock_file(std::size_t shard, std::chrono::steady_clock::time_point deadline) const {
  try {
    // Open the directory each time, so that one that was removed is made again.
    const auto directory = CacheDirectory::open(directory_, kOursAlone, true);
    LockedDescriptor file = LockedDescriptor::open([&] { return directory->open_lock_file(lock_name(shard)); });
    const LockAttempt attempt = lock_until(file.get(), try_range_lock, deadline);
    if (attempt == LockAttempt::locked) return file;
    log(LogLevel::info, "cache lock " + (directory_ / lock_name(shard)).string() +
                            (attempt == LockAttempt::busy ? ": still held by another process; going on without it"
                                                          : ": the file system does not lock; going on without it"));
  } catch (const std::runtime_error& error) {
    log(LogLevel::debug,
        "cache lock " + (directory_ / lock_name(shard)).string() + ": " + error.what() + "; going on without it");
  }
  return {};
}

}  // namespace hotgemm
