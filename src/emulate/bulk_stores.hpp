#pragma once

#include "emulate/group_queue.hpp"
#include "emulate/tensor_load.hpp"

#include <cstdint>
#include <vector>

namespace hotgemm::emulate {

/// A copy of a box from shared memory to global memory.
struct TensorStore {
  TensorMapSpec spec;
  BoxPlace at;
  std::uint32_t shared;
  std::vector<std::uint8_t> box;  ///< filled when the shared memory has been read
  bool is_read = false;           ///< true if the thread has waited for the read
  /// An element of the box that lies inside the tensor.
  struct Element {
    std::uint64_t address;
    std::uint32_t offset;  ///< within the box
  };
  std::vector<Element> elements;
};

/// The bulk stores of one thread. A store reads at some moment between its issue and the end of the wait for its
/// group's reads. It writes before the end of the wait for its group. Stores that are waited for together write in an
/// order that the seed of the run draws.
class BulkStores {
 public:
  explicit BulkStores(Thread& thread);

  void issue(Thread& thread, const TensorMapSpec& spec, BoxPlace at, std::uint32_t shared);
  void commit(Thread& thread);
  /// Waits until all groups but the last `pending` have been read or, with `is_done`, written.
  void await(Thread& thread, std::size_t pending, bool is_done);
  /// Called when the thread has ended.
  void finish(Thread& thread);

 private:
  std::vector<TensorStore::Element> begin_writes(Thread& thread, const TensorStore& store);
  void fetch(Thread& thread, TensorStore& store);
  void write(Thread& thread, std::size_t stores);

  std::uint16_t reader_, writer_;  // ids of agents
  GroupQueue<TensorStore> stores_;
};

/// The bulk stores of the running thread.
BulkStores& bulk_stores();
void store_tensor(const TensorMap& map, BoxPlace at, std::uint32_t shared);

}  // namespace hotgemm::emulate
