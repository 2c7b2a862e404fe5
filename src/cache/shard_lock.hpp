#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

namespace hotgemm {

/// Holds a shard among the threads of this process and, where possible, among the processes of this node, until it is
/// destroyed. It saves work and guards nothing: whoever does not get it goes on all the same.
///
/// The processes' part is an open-file-description lock, which ends with its holder, killed or not. A child of fork()
/// that does not exec shares it.
class ShardLock {
 public:
  ShardLock() = default;  ///< holds nothing
  ShardLock(ShardLock&& other) noexcept;
  ShardLock& operator=(ShardLock&& other) noexcept;
  ShardLock(const ShardLock&) = delete;
  ShardLock& operator=(const ShardLock&) = delete;
  ~ShardLock();

  bool held_in_process() const { return shards_ != nullptr; }
  bool held_on_node() const { return fd_ >= 0; }
  void release() noexcept;

 private:
  friend class ShardLocks;
  struct Shards;
  std::shared_ptr<Shards> shards_;
  std::size_t shard_ = 0;
  int fd_ = -1;
};

/// The 256 shards of one cache. Thread-safe; locks may outlive it.
class ShardLocks {
 public:
  static constexpr std::size_t kShards = 256;
  static constexpr std::chrono::milliseconds kDefaultWait{60'000};

  /// Uses the first of `directories` that can be made and is ours alone; with none, locks hold within the process only.
  explicit ShardLocks(const std::vector<std::filesystem::path>& directories);

  /// Waits at most `wait`, then returns a lock that lacks what it did not get. A thread that holds a shard and asks for
  /// it again waits for itself.
  ShardLock acquire(std::size_t shard, std::chrono::milliseconds wait) const;

  /// Empty when locks hold within the process only.
  const std::filesystem::path& directory() const { return directory_; }

 private:
  int lock_file(std::size_t shard, std::chrono::steady_clock::time_point deadline) const;

  std::shared_ptr<ShardLock::Shards> shards_;
  std::filesystem::path directory_;
};

}  // namespace hotgemm
