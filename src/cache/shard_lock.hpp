#pragma once

#include "base/file_lock.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

namespace hotgemm {

/// Holds a shard until it is destroyed: against the other threads of this process and, if possible, against the other
/// processes of this node. The lock only saves work. A process that does not get it goes on without it.
///
/// Between processes it is an open-file-description lock, which ends with its holder, even if the holder is killed. A
/// child of fork() does not have it.
class ShardLock {
 public:
  ShardLock() = default;  ///< holds nothing
  ShardLock(ShardLock&& other) noexcept;
  ShardLock& operator=(ShardLock&& other) noexcept;
  ShardLock(const ShardLock&) = delete;
  ShardLock& operator=(const ShardLock&) = delete;
  ~ShardLock();

  bool held_in_process() const { return shards_ != nullptr; }
  bool held_on_node() const { return static_cast<bool>(file_); }
  void release() noexcept;

 private:
  friend class ShardLocks;
  struct Shards;
  std::shared_ptr<Shards> shards_;
  std::size_t shard_ = 0;
  LockedDescriptor file_;
};

/// The 256 shards of one cache. Thread-safe. A lock may outlive this object. In a child of fork() all shards are free
/// of threads: those of the parent do not exist there.
class ShardLocks {
 public:
  static constexpr std::size_t kShards = 256;
  static constexpr std::chrono::milliseconds kDefaultWait{60'000};

  /// Uses the first of `directories` that can be made and belongs to this user alone. Without one, locks work only
  /// within the process.
  explicit ShardLocks(const std::vector<std::filesystem::path>& directories);
  ShardLocks(const ShardLocks&) = delete;
  ShardLocks& operator=(const ShardLocks&) = delete;
  ~ShardLocks();

  /// Waits at most `wait`, then returns a lock that may hold less than was asked for. A thread that already holds a
  /// shard and asks for it again waits for itself.
  ShardLock acquire(std::size_t shard, std::chrono::milliseconds wait) const;

  /// Empty when locks work only within the process.
  const std::filesystem::path& directory() const { return directory_; }

 private:
  using Shards = std::shared_ptr<ShardLock::Shards>;

  Shards of_process() const;
  LockedDescriptor lock_file(std::size_t shard, std::chrono::steady_clock::time_point deadline) const;

  mutable std::atomic<const Shards*> shards_;  // a child of fork() replaces those of its parent, and never frees them
  std::filesystem::path directory_;
};

}  // namespace hotgemm
