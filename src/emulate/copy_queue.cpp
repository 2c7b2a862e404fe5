#include "emulate/copy_queue.hpp"

namespace hotgemm::emulate {

std::size_t CopyQueue::covered_by_wait(std::size_t pending) const {
  std::size_t copies = 0;
  for (std::size_t i = 0; i + pending < groups_.size(); ++i) copies += groups_[i];
  return copies;
}

void CopyQueue::remove_waited(std::size_t pending) {
  copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(covered_by_wait(pending)));
  while (groups_.size() > pending) groups_.pop_front();
}

}  // namespace hotgemm::emulate
