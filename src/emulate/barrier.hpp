#pragma once

#include "emulate/thread.hpp"

#include <vector>

namespace hotgemm::emulate {

/// One of a block's sixteen barriers.
class Barrier {
 public:
  /// `thread` arrives, to wait unless `instruction` is bar.arrive. When that makes `threads`, everyone has seen what
  /// everyone did before arriving, and those who wait go on. Returns whether `thread` itself has to be suspended.
  bool arrive(Thread& thread, Instruction instruction, int id, int threads);

  bool is_pending() const { return !arrivals_.empty(); }
  int arrived() const { return static_cast<int>(arrivals_.size()); }
  int expected() const { return expected_; }
  const std::vector<Thread*>& waiting() const { return waiting_; }

 private:
  std::vector<Arrival> arrivals_;
  std::vector<Thread*> waiting_;
  int expected_ = 0;
};

}  // namespace hotgemm::emulate
