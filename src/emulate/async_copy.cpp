#include "emulate/async_copy.hpp"

#include "emulate/block.hpp"
#include "emulate/grid_dependency.hpp"

#include <array>
#include <utility>
#include <vector>

namespace hotgemm::emulate {
namespace {

void land(Thread& thread, AsyncCopy& copy) {
  if (copy.has_landed) return;
  copy.has_landed = true;
  std::array<std::uint8_t, 16> bytes{};
  thread.block->grid().memory.read(thread, copy.instruction, copy.global, bytes.data(), copy.bytes, copy.valid_bytes);
  thread.block->shared().land_copy(copy, bytes.data());
}

}  // namespace

void issue_copy(Thread& thread, const AsyncCopy& copy) {
  count(thread, copy.instruction);
  touch_global(thread, copy.instruction);
  if (copy.valid_bytes < 0 || copy.valid_bytes > copy.bytes) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = copy.instruction,
                    .detail = "src-size is " + std::to_string(copy.valid_bytes)});
    return;
  }
  if (!thread.block->shared().begin_copy(thread, copy)) return;
  thread.copies.push(copy);
  if (thread.block->grid().random.below(4) == 0) land(thread, thread.copies.back());
}

void commit_copies(Thread& thread) {
  count(thread, Instruction::cp_async_commit_group);
  Warp& warp = *thread.warp;
  Counters& counters = thread.block->grid().counters;
  std::vector<BankAccess> accesses;
  for (const AsyncCopy& copy : thread.copies.open()) accesses.push_back({copy.instruction, copy.shared, copy.bytes});
  warp.copy_banks.commit(counters, counters.uneven_copy_groups, thread.lane, warp.lanes.size(),
                         thread.copies.committed(), std::move(accesses));
  thread.copies.commit();
}

void await_copies(Thread& thread, std::size_t pending) {
  count(thread, Instruction::cp_async_wait_group);
  const std::size_t covered = thread.copies.covered_by_wait(pending);
  for (std::size_t i = 0; i < covered; ++i) {
    land(thread, thread.copies[i]);
    thread.block->shared().end_copy(thread, thread.copies[i]);
  }
  thread.copies.remove_waited(pending);
}

void land_some_copies(Thread& thread) {
  Random& random = thread.block->grid().random;
  if (thread.copies.empty() || random.below(4) != 0) return;
  land(thread, thread.copies[random.below(static_cast<std::uint32_t>(thread.copies.size()))]);
}

}  // namespace hotgemm::emulate
