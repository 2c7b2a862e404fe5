#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hotgemm::emulate {

// What is ordered before what.
//
// A thread counts its epochs: each time it synchronises, one ends. Its clock holds, for every thread of its cluster,
// the last epoch of that thread that lies before everything that it does now. Two accesses of different threads are
// ordered if the later one's clock has reached the epoch of the earlier; nothing else orders them, whatever the order
// in which they happened to run. All threads that leave a barrier share one clock.

using Clock = std::vector<std::uint32_t>;  ///< by id in the cluster
using ClockPtr = std::shared_ptr<const Clock>;

/// What a thread gives away when it arrives at a barrier: all that it has seen, and all that it has done.
struct Arrival {
  ClockPtr clock;
  std::uint32_t thread;  ///< id in the cluster
  std::uint32_t epoch;
};

/// The clock of who waits for all of `arrivals`, at least one.
ClockPtr join(std::span<const Arrival> arrivals);

}  // namespace hotgemm::emulate
