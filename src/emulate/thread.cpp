#include "emulate/thread.hpp"

#include "emulate/block.hpp"

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
  const int threads = thread.block->grid().threads_per_block;
  const std::uint32_t per_cluster = thread.block->grid().blocks_per_cluster;
  const std::uint32_t block =
      thread.block->index() / per_cluster * per_cluster + static_cast<std::uint32_t>(id / threads);
  if (block == thread.block->index()) return fmt::format("thread {}", id % threads);
  return fmt::format("thread {} of block {}", id % threads, block);
}

void count(Thread& thread, Instruction instruction) { ++thread.block->grid().counters[instruction].executions; }

}  // namespace hotgemm::emulate
