#pragma once

#include "emulate/thread.hpp"

#include <cstddef>
#include <vector>

namespace hotgemm::emulate {

/// The barrier of all threads of a cluster that have not ended.
class ClusterBarrier {
 public:
  explicit ClusterBarrier(std::size_t threads) : living_(threads), missing_(threads) {}

  /// barrier.cluster.arrive, or the relaxed form, which tells other threads only of the mbarriers that this thread has
  /// fenced.
  void arrive(Thread& thread, Instruction instruction);
  /// Suspends the thread until all threads have arrived.
  void wait(Thread& thread);
  /// Called when `thread` has ended: the barrier no longer waits for it.
  void leave(Thread& thread);

  const std::vector<Thread*>& waiting() const { return waiting_; }
  std::size_t missing() const { return missing_; }

 private:
  void end_phase_if_complete(Thread& thread);

  std::size_t living_;
  std::size_t missing_;  // living threads that have not arrived
  int phases_ = 0;
  View released_;
  std::vector<Arrival> arrivals_;
  std::vector<Thread*> waiting_;
};

}  // namespace hotgemm::emulate
