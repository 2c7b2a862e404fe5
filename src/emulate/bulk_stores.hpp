#pragma once

#include "emulate/group_queue.hpp"
#include "emulate/tensor_load.hpp"

#include <cstdint>
#include <vector>

namespace hotgemm::emulate {

/// A copy of a box from shared to global memory.
struct TensorStore {
  TensorMapSpec spec;
  BoxPlace at;
  std::uint32_t shared;
  std::vector<std::uint8_t> box;  ///< once it has been read
  bool is_read = false;           ///< the thread knows that it has
  /// What of it lies inside the tensor.
  struct Element {
    std::uint64_t address;
    std::uint32_t offset;  ///< in the box
  };
  std::vector<Element> elements;
};

/// The bulk stores of one thread. Each reads at a moment between its issue and the end of the wait for its group's
/// reads, and writes until the end of the wait for its group. Stores that are waited for together write in an order
/// that the run's seed draws.
class BulkStores {
 public:
  explicit BulkStores(Thread& thread);

  void issue(Thread& thread, const TensorMapSpec& spec, BoxPlace at, std::uint32_t shared);
  void commit(Thread& thread);
  /// All groups but the last `pending` have been read or, with `is_done`, written.
  void await(Thread& thread, std::size_t pending, bool is_done);
  /// The thread has ended.
  void finish(Thread& thread);

 private:
  std::vector<TensorStore::Element> begin_writes(Thread& thread, const TensorStore& store);
  void fetch(Thread& thread, TensorStore& store);
  void write(Thread& thread, std::size_t stores);

  std::uint16_t reader_, writer_;  // agents
  GroupQueue<TensorStore> stores_;
};

/// Of the thread that runs.
BulkStores& bulk_stores();
void store_tensor(const TensorMap& map, BoxPlace at, std::uint32_t shared);

}  // namespace hotgemm::emulate
