#include "emulate/bulk_stores.hpp"

#include "emulate/block.hpp"
#include "emulate/grid_dependency.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hotgemm::emulate {

BulkStores::BulkStores(Thread& thread)
    : agent_(thread.block->cluster().add_agent(
          fmt::format("thread {} of block {}", thread.index, thread.block->index()))) {}

void BulkStores::issue(Thread& thread, const TensorMapSpec& spec, BoxPlace at, std::uint32_t shared) {
  const AsyncSight sight{*thread.view.seen, *thread.view.fenced, thread.id, agent_};
  const auto group = static_cast<std::uint32_t>(stores_.committed() + 1);
  for (std::uint32_t offset = 0; offset < box_bytes(spec); offset += kTensorChunk) {
    thread.block->shared().begin_async_read(thread, swizzled(spec.swizzle, shared + offset), sight,
                                            {group, agent_, Instruction::bulk_tensor_store});
  }
  stores_.push({.spec = spec, .at = at, .shared = shared, .box = {}});
  if (thread.block->grid().random.below(4) == 0) fetch(thread, stores_.back());
}

void BulkStores::commit(Thread& thread) {
  count(thread, Instruction::bulk_commit_group);
  stores_.commit();
}

void BulkStores::await(Thread& thread, std::size_t pending, bool is_done) {
  count(thread, is_done ? Instruction::bulk_wait_group : Instruction::bulk_wait_group_read);
  const std::size_t covered = stores_.covered_by_wait(pending);
  for (std::size_t i = 0; i < covered; ++i) {
    fetch(thread, stores_[i]);
    stores_[i].is_read = true;
    if (is_done) write(thread, stores_[i]);
  }
  if (is_done) stores_.remove_waited(pending);
  if (stores_.committed() > pending) {
    const auto group = static_cast<std::uint32_t>(stores_.committed() - pending);
    thread.view.seen = advanced(*thread.view.seen, agent_, group);
  }
}

void BulkStores::finish(Thread& thread) {
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    if (!stores_[i].is_read) {
      report(thread, {.hazard = Hazard::in_flight,
                      .instruction = Instruction::bulk_tensor_store,
                      .place = "shared",
                      .address = stores_[i].shared,
                      .bytes = static_cast<int>(box_bytes(stores_[i].spec)),
                      .other = Instruction::bulk_tensor_store,
                      .detail = "the thread ends and has not waited until it is read"});
    }
    fetch(thread, stores_[i]);
    write(thread, stores_[i]);
  }
}

void BulkStores::fetch(Thread& thread, TensorStore& store) {
  if (!store.box.empty()) return;
  store.box.resize(box_bytes(store.spec));
  for (std::uint32_t offset = 0; offset < store.box.size(); offset += kTensorChunk) {
    thread.block->shared().fetch(swizzled(store.spec.swizzle, store.shared + offset), store.box.data() + offset);
  }
}

/// Whole chunks of 16 bytes, of which the first element lies inside: where a row of the tensor ends within a chunk,
/// the copy engine writes beyond it (tests/gpu/wgmma_probe_test.cpp).
void BulkStores::write(Thread& thread, const TensorStore& store) {
  const int element = size_bytes(store.spec.element);
  const int per_chunk = static_cast<int>(kTensorChunk) / element;
  for (int y = 0; y < static_cast<int>(store.spec.box[1]); ++y) {
    for (int x = 0; x < static_cast<int>(store.spec.box[0]); x += per_chunk) {
      const std::int64_t coordinates[] = {store.at.x + x, store.at.y + y};
      const auto address = element_address(store.spec, coordinates);
      if (!address) continue;
      const std::uint8_t* const from =
          store.box.data() + static_cast<std::uint32_t>(y) * row_bytes(store.spec) + x * element;
      for (int i = 0; i < per_chunk; ++i) {
        thread.block->grid().memory.write(thread, Instruction::bulk_tensor_store,
                                          *address + static_cast<std::uint64_t>(i * element), from + i * element,
                                          element);
      }
    }
  }
}

BulkStores& bulk_stores() {
  Thread& thread = this_thread();
  if (thread.bulk_stores == nullptr) thread.bulk_stores = std::make_shared<BulkStores>(thread);
  return *thread.bulk_stores;
}

void store_tensor(const TensorMap& map, BoxPlace at, std::uint32_t shared) {
  constexpr auto kInstruction = Instruction::bulk_tensor_store;
  Thread& thread = this_thread();
  count(thread, kInstruction);
  touch_global(thread, kInstruction);
  const auto spec = tensor_of(thread, kInstruction, map);
  if (!spec || !is_box_address(thread, kInstruction, shared)) return;
  if (at.x < 0 || at.y < 0) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = kInstruction,
                    .detail = fmt::format("a box at {}, {} begins before its tensor", at.x, at.y)});
    return;
  }
  bulk_stores().issue(thread, *spec, at, shared);
}

}  // namespace hotgemm::emulate
