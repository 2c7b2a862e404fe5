#include "emulate/ordered_access.hpp"

#include "emulate/block.hpp"

namespace hotgemm::emulate {
namespace {

/// The thread has then seen all that others have released at `address`.
void acquire(Thread& thread, std::uint64_t address) {
  const auto& released = thread.block->grid().released;
  if (const auto found = released.find(address); found != released.end()) {
    thread.view.others = join(thread.view.others, found->second);
  }
}

void release(Thread& thread, std::uint64_t address) {
  const std::uint32_t cluster = thread.block->index() / thread.block->grid().blocks_per_cluster;
  const Arrival arrival = thread.arrive();
  OtherClusters own;
  own[cluster] = advanced(*arrival.view.seen, arrival.thread, arrival.epoch);
  OtherClustersPtr& released = thread.block->grid().released[address];
  released = join(join(released, arrival.view.others), std::make_shared<const OtherClusters>(std::move(own)));
}

}  // namespace

std::uint32_t exchange_ordered(Instruction instruction, std::uint64_t address,
                               const std::function<std::uint32_t(std::uint32_t)>& change) {
  Thread& thread = this_thread();
  acquire(thread, address);
  const std::uint32_t old = exchange_relaxed(instruction, address, change);
  release(thread, address);
  return old;
}

std::uint32_t exchange_relaxed(Instruction instruction, std::uint64_t address,
                               const std::function<std::uint32_t(std::uint32_t)>& change) {
  const auto old = load_global<std::uint32_t>(instruction, address);
  const std::uint32_t changed = change(old);
  this_thread().block->grid().memory.write(this_thread(), instruction, address, &changed, sizeof changed);
  return old;
}

std::uint32_t load_acquire(Instruction instruction, std::uint64_t address) {
  Thread& thread = this_thread();
  thread.block->cluster().let_others_run(thread, instruction);
  acquire(thread, address);
  return load_global<std::uint32_t>(instruction, address);
}

}  // namespace hotgemm::emulate
