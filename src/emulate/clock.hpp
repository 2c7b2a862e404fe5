#pragma once

#include <cstddef>
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
//
// What hardware does by itself has an id and epochs like a thread's (Cluster::add_agent): the copies that are counted
// at one mbarrier, whose epochs are its phases, and the products of a warpgroup and the bulk stores of a thread, whose
// epochs are their groups. Who has waited for one epoch has waited for those before it.

using Clock = std::vector<std::uint32_t>;  ///< by id in the cluster; ids behind the end are at epoch 0
using ClockPtr = std::shared_ptr<const Clock>;

inline std::uint32_t epoch_of(const Clock& clock, std::size_t id) { return id < clock.size() ? clock[id] : 0; }

/// What lies before all that a thread does now.
struct View {
  ClockPtr seen;
  ClockPtr fenced;  ///< of what threads have written to shared memory, that which the async proxy sees too

  friend bool operator==(const View&, const View&) = default;
};

/// What a thread gives away when it arrives at a barrier: all that it has seen, and all that it has done.
struct Arrival {
  View view;
  std::uint32_t thread;  ///< id in the cluster
  std::uint32_t epoch;
};

/// The view of who waits for all of `arrivals`, at least one.
View join(std::span<const Arrival> arrivals);
View join(const View& a, const View& b);
/// `clock`, and `epoch` of `id`.
ClockPtr advanced(const Clock& clock, std::size_t id, std::uint32_t epoch);
/// What both have seen.
Clock meet(const Clock& a, const Clock& b);

}  // namespace hotgemm::emulate
