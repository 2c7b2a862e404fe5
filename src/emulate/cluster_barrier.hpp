#pragma once

#include "emulate/thread.hpp"

#include <cstddef>
#include <vector>

namespace hotgemm::emulate {

/// The barrier of all threads of a cluster that have not ended.
class ClusterBarrier {
 public:
  explicit ClusterBarrier(std::size_t threads) : living_(threads), missing_(threads) {}

  /// By barrier.cluster.arrive, or by the relaxed one, from which nobody learns what the thread has seen.
  void arrive(Thread& thread, Instruction instruction);
  /// Suspends the thread until all have come.
  void wait(Thread& thread);
  /// `thread` has ended; nobody waits for it any longer.
  void leave(Thread& thread);

  const std::vector<Thread*>& waiting() const { return waiting_; }
  std::size_t missing() const { return missing_; }

 private:
  void end_phase_if_complete(Thread& thread);

  std::size_t living_;
  std::size_t missing_;  // of them, those that have not come
  int phases_ = 0;
  View released_;
  std::vector<Arrival> arrivals_;
  std::vector<Thread*> waiting_;
};

}  // namespace hotgemm::emulate
