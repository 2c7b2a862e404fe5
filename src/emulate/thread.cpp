#include "emulate/thread.hpp"

#include "emulate/block.hpp"
#include "emulate/bulk_stores.hpp"

#include <fmt/format.h>

#include <utility>

namespace hotgemm::emulate {
namespace {

constinit thread_local Thread* running = nullptr;

}  // namespace

Thread& this_thread() { return *running; }
void set_this_thread(Thread* thread) { running = thread; }

void report(const Thread& thread, Finding finding) {
  finding.block = thread.block->index();
  finding.thread = thread.index;
  finding.seed = thread.block->grid().seed;
  thread.block->grid().log.add(std::move(finding));
}

std::string thread_name(const Thread& thread, std::uint16_t id) {
  const Cluster& cluster = thread.block->cluster();
  if (id >= cluster.threads()) return cluster.agent_name(id);
  const int threads = thread.block->grid().threads_per_block;
  const Block& block = cluster.block(static_cast<std::uint32_t>(id / threads));
  if (&block == thread.block) return fmt::format("thread {}", id % threads);
  return fmt::format("thread {} of block {}", id % threads, block.index());
}

void end_thread(Thread& thread) {
  if (thread.bulk_stores != nullptr) thread.bulk_stores->finish(thread);
  commit_banks(thread);
  thread.has_ended = true;
  thread.block->cluster().barrier().leave(thread);
}

void trap() {
  Thread& thread = this_thread();
  count(thread, Instruction::trap);
  report(thread, {.hazard = Hazard::trapped, .instruction = Instruction::trap, .detail = "the kernel executed a trap"});
  end_thread(thread);
  throw FiberAbandoned{};
}

void note_banks(Thread& thread, const BankAccess& access) {
  if (thread.block->grid().counts_accesses) thread.accesses.push_back(access);
}

void commit_banks(Thread& thread) {
  Grid& grid = thread.block->grid();
  if (!grid.counts_accesses) return;
  thread.warp->access_banks.commit(grid.counters, grid.counters.uneven_accesses, thread.lane, thread.warp->lanes.size(),
                                   thread.access_groups++, std::move(thread.accesses));
  thread.accesses.clear();
}

void count(Thread& thread, Instruction instruction) { ++thread.block->grid().counters[instruction].executions; }

}  // namespace hotgemm::emulate
