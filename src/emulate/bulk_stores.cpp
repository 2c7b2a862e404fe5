#include "emulate/bulk_stores.hpp"

#include "emulate/block.hpp"
#include "emulate/grid_dependency.hpp"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <utility>

namespace hotgemm::emulate {

BulkStores::BulkStores(Thread& thread) {
  const std::string name = fmt::format("thread {} of block {}", thread.index, thread.block->index());
  reader_ = thread.block->cluster().add_agent(name);
  writer_ = thread.block->cluster().add_agent(name);
}

void BulkStores::issue(Thread& thread, const TensorMapSpec& spec, BoxPlace at, std::uint32_t shared) {
  const AsyncSight sight{*thread.view.seen, *thread.view.fenced, thread.id, reader_};
  const auto group = static_cast<std::uint32_t>(stores_.committed() + 1);
  for (std::uint32_t offset = 0; offset < box_bytes(spec); offset += kTensorChunk) {
    thread.block->shared().begin_async_read(thread, swizzled(spec.swizzle, shared + offset), sight,
                                            {group, reader_, Instruction::bulk_tensor_store});
  }
  TensorStore store{.spec = spec, .at = at, .shared = shared, .box = {}, .elements = {}};
  store.elements = begin_writes(thread, store);
  stores_.push(std::move(store));
  if (thread.block->grid().random.below(4) == 0) fetch(thread, stores_.back());
}

/// Lists whole chunks of 16 bytes whose first element lies inside the tensor. If a row of the tensor ends within a
/// chunk, the copy engine writes beyond the row (tests/gpu/wgmma_probe_test.cpp).
std::vector<TensorStore::Element> BulkStores::begin_writes(Thread& thread, const TensorStore& store) {
  const auto element = static_cast<std::uint32_t>(size_bytes(store.spec.element));
  const Access access{static_cast<std::uint32_t>(stores_.committed() + 1), writer_, Instruction::bulk_tensor_store};
  std::vector<TensorStore::Element> elements;
  for (std::uint32_t offset = 0; offset < box_bytes(store.spec); offset += kTensorChunk) {
    const auto x = static_cast<std::int64_t>(offset % row_bytes(store.spec) / element);
    const auto y = static_cast<std::int64_t>(offset / row_bytes(store.spec));
    const std::int64_t coordinates[] = {store.at.x + x, store.at.y + y, store.at.z, store.at.w};
    const auto address = element_address(store.spec, coordinates);
    if (!address) continue;
    for (std::uint32_t byte = 0; byte < kTensorChunk; byte += element) {
      if (thread.block->grid().memory.begin_write(thread, access, *address + byte, static_cast<int>(element))) {
        elements.push_back({*address + byte, offset + byte});
      }
    }
  }
  return elements;
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
  }
  if (stores_.committed() > pending) {
    const auto group = static_cast<std::uint32_t>(stores_.committed() - pending);
    thread.view.seen = advanced(*thread.view.seen, reader_, group);
    if (is_done) thread.view.seen = advanced(*thread.view.seen, writer_, group);
  }
  if (!is_done) return;
  write(thread, covered);
  stores_.remove_waited(pending);
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
                      .detail = "the thread ends without waiting until the store has been read"});
    }
    fetch(thread, stores_[i]);
  }
  write(thread, stores_.size());
}

void BulkStores::fetch(Thread& thread, TensorStore& store) {
  if (!store.box.empty()) return;
  store.box.resize(box_bytes(store.spec));
  for (std::uint32_t offset = 0; offset < store.box.size(); offset += kTensorChunk) {
    thread.block->shared().fetch(swizzled(store.spec.swizzle, store.shared + offset), store.box.data() + offset);
  }
}

/// Writes the first `stores` stores.
void BulkStores::write(Thread& thread, std::size_t stores) {
  Grid& grid = thread.block->grid();
  std::vector<std::size_t> order(stores);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (; !order.empty(); order.pop_back()) {
    std::swap(order[grid.random.below(static_cast<std::uint32_t>(order.size()))], order.back());
    const TensorStore& store = stores_[order.back()];
    const int bytes = size_bytes(store.spec.element);
    for (const auto& element : store.elements)
      grid.memory.land(element.address, store.box.data() + element.offset, bytes);
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
  const auto spec = tensor_of(thread, kInstruction, map, at.rank);
  if (!spec || !is_box_address(thread, kInstruction, shared)) return;
  if (at.x < 0 || at.y < 0 || at.z < 0 || at.w < 0) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = kInstruction,
                    .detail = fmt::format("a box at {}, {}, {}, {} begins before its tensor", at.x, at.y, at.z, at.w)});
    return;
  }
  bulk_stores().issue(thread, *spec, at, shared);
}

}  // namespace hotgemm::emulate
