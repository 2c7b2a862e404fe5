#pragma once

#include "emulate/thread.hpp"

#include <vector>

namespace hotgemm::emulate {

/// One of a block's sixteen barriers.
class Barrier {
 public:
  /// Called when `thread` arrives. It must wait unless `instruction` is bar.arrive. The barrier is complete when
  /// `threads` threads have arrived. Then each of them has seen all that the others did before they arrived, and the
  /// waiting threads continue. Returns true if `thread` must be suspended.
  bool arrive(Thread& thread, Instruction instruction, int id, int threads);

  int arrived() const { return static_cast<int>(arrivals_.size()); }
  int expected() const { return expected_; }
  const std::vector<Thread*>& waiting() const { return waiting_; }

 private:
  std::vector<Arrival> arrivals_;
  std::vector<Thread*> waiting_;
  int expected_ = 0;
};

}  // namespace hotgemm::emulate
