#pragma once

#include "emulate/instruction.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace hotgemm::emulate {

/// One cp.async.
struct AsyncCopy {
  std::uint32_t shared;
  std::uint64_t global;
  int bytes;        ///< 4, 8 or 16
  int valid_bytes;  ///< read from global memory; the others are written as zero
  Instruction instruction;
  bool has_landed = false;
};

/// A thread's copies in flight, in the order of issue, and its groups of them.
class CopyQueue {
 public:
  bool empty() const { return copies_.empty(); }
  std::size_t size() const { return copies_.size(); }
  AsyncCopy& operator[](std::size_t i) { return copies_[i]; }
  AsyncCopy& back() { return copies_.back(); }

  void push(const AsyncCopy& copy) {
    copies_.push_back(copy);
    ++open_;
  }
  /// cp.async.commit_group: what has been issued since the last one, perhaps nothing, is a group.
  void commit() {
    groups_.push_back(open_);
    open_ = 0;
    ++committed_;
  }
  /// How many groups there have ever been.
  std::size_t committed() const { return committed_; }
  /// The copies of the group that is being built.
  std::span<const AsyncCopy> open() const { return {copies_.data() + copies_.size() - open_, open_}; }

  /// How many copies, from the front, a wait for all but the last `pending` groups has to wait for.
  std::size_t covered_by_wait(std::size_t pending) const;
  /// Takes the groups that covered_by_wait counted away.
  void remove_waited(std::size_t pending);

 private:
  std::vector<AsyncCopy> copies_;
  std::deque<std::size_t> groups_;  // copies in each
  std::size_t open_ = 0;
  std::size_t committed_ = 0;
};

}  // namespace hotgemm::emulate
