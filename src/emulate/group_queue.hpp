#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace hotgemm::emulate {

/// The copies of a thread that are in flight, in order of issue, and their groups. Used for cp.async and for bulk
/// stores.
template <class Copy>
class GroupQueue {
 public:
  bool empty() const { return copies_.empty(); }
  std::size_t size() const { return copies_.size(); }
  Copy& operator[](std::size_t i) { return copies_[i]; }
  Copy& back() { return copies_.back(); }

  void push(Copy copy) {
    copies_.push_back(std::move(copy));
    ++open_;
  }
  /// commit_group: makes a group of the copies issued since the last commit. There may be none.
  void commit() {
    groups_.push_back(open_);
    open_ = 0;
    ++committed_;
  }
  /// The number of groups committed so far.
  std::size_t committed() const { return committed_; }
  /// The copies of the group that is being built.
  std::span<const Copy> open() const { return {copies_.data() + copies_.size() - open_, open_}; }

  /// The number of copies, from the front, that a wait for all but the last `pending` groups covers.
  std::size_t covered_by_wait(std::size_t pending) const {
    std::size_t copies = 0;
    for (std::size_t i = 0; i + pending < groups_.size(); ++i) copies += groups_[i];
    return copies;
  }
  /// Removes the groups that covered_by_wait counted.
  void remove_waited(std::size_t pending) {
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(covered_by_wait(pending)));
    while (groups_.size() > pending) groups_.pop_front();
  }

 private:
  std::vector<Copy> copies_;
  std::deque<std::size_t> groups_;  // number of copies in each group
  std::size_t open_ = 0;
  std::size_t committed_ = 0;
};

}  // namespace hotgemm::emulate
