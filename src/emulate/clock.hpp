#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace hotgemm::emulate {

// The order of events.
//
// Each thread counts epochs; a synchronisation ends an epoch. The clock of a thread holds, for each thread of its
// cluster, the last epoch of that thread that precedes everything it does now. Two accesses of different threads are
// ordered if the clock of the later one has reached the epoch of the earlier one. Nothing else orders them, whatever
// order they happened to run in. All threads that leave a barrier share one clock.
//
// Hardware that acts by itself has an id and epochs like a thread (Cluster::add_agent). These agents are: the copies
// that one mbarrier counts, whose epochs are its phases; the products of a warpgroup, and the bulk stores of a thread,
// whose epochs are their groups. A wait for one epoch also covers all earlier epochs.

using Clock = std::vector<std::uint32_t>;  ///< by id in the cluster; ids behind the end are at epoch 0
using ClockPtr = std::shared_ptr<const Clock>;

inline std::uint32_t epoch_of(const Clock& clock, std::size_t id) { return id < clock.size() ? clock[id] : 0; }

/// The clocks of other clusters, by number of the cluster. Null if nothing of other clusters is seen.
using OtherClusters = std::map<std::uint32_t, ClockPtr>;
using OtherClustersPtr = std::shared_ptr<const OtherClusters>;

/// All events that precede the next action of a thread.
struct View {
  ClockPtr seen;
  ClockPtr fenced;          ///< writes of threads to shared memory that the async proxy sees as well
  OtherClustersPtr others;  ///< seen by way of atomic operations on global memory

  friend bool operator==(const View&, const View&) = default;
};

/// The data that a thread gives to a barrier when it arrives: everything that it has seen and done.
struct Arrival {
  View view;
  std::uint32_t thread;  ///< id in the cluster
  std::uint32_t epoch;
};

/// The view of a thread that waits for all of `arrivals`. There must be at least one.
View join(std::span<const Arrival> arrivals);
View join(const View& a, const View& b);
OtherClustersPtr join(const OtherClustersPtr& a, const OtherClustersPtr& b);
/// A copy of `clock` in which `id` has reached at least `epoch`.
ClockPtr advanced(const Clock& clock, std::size_t id, std::uint32_t epoch);
/// The events that both contain.
Clock meet(const Clock& a, const Clock& b);
OtherClustersPtr meet(const OtherClustersPtr& a, const OtherClustersPtr& b);
View meet(const View& a, const View& b);

}  // namespace hotgemm::emulate
