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
};

/// The bulk stores of one thread. Each reads at a moment between its issue and the end of the wait for its group's
/// reads, and writes at the wait for its group.
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
  void fetch(Thread& thread, TensorStore& store);
  void write(Thread& thread, const TensorStore& store);

  std::uint16_t agent_;
  GroupQueue<TensorStore> stores_;
};

/// Of the thread that runs.
BulkStores& bulk_stores();
void store_tensor(const TensorMap& map, BoxPlace at, std::uint32_t shared);

}  // namespace hotgemm::emulate
