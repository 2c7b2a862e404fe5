#include "emulate/block.hpp"

#include "emulate/async_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

namespace hotgemm::emulate {
namespace {

void run_thread(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  thread.block->grid().kernel();
  thread.has_ended = true;
}

/// "thread 7 has ended", "thread 7 waits in bar.sync": the first thread that `is_missing`.
template <class IsMissing>
std::string where_is(const std::vector<Thread*>& threads, const IsMissing& is_missing) {
  for (const Thread* const thread : threads) {
    if (!is_missing(*thread)) continue;
    return fmt::format("thread {} {}", thread->index,
                       thread->has_ended ? "has ended" : "waits in " + std::string(to_string(thread->waits_in)));
  }
  return "every thread is accounted for";
}

}  // namespace

Block::Block(Cluster& cluster, Grid& grid, std::uint32_t index)
    : cluster_(cluster),
      grid_(grid),
      index_(index),
      shared_(grid.shared_bytes),
      warps_(static_cast<std::size_t>((grid.threads_per_block + kLanes - 1) / kLanes)),
      threads_(static_cast<std::size_t>(grid.threads_per_block)) {
  const auto rank = static_cast<int>(index % grid.blocks_per_cluster);
  for (int i = 0; i < grid.threads_per_block; ++i) {
    Thread& thread = threads_[static_cast<std::size_t>(i)];
    Warp& warp = warps_[static_cast<std::size_t>(i / kLanes)];
    thread.block = this;
    thread.warp = &warp;
    thread.index = i;
    thread.lane = i % kLanes;
    thread.id = static_cast<std::uint16_t>(rank * grid.threads_per_block + i);
    warp.lanes.push_back(&thread);
  }
}

Cluster::Cluster(Grid& grid, std::uint32_t first_block) : grid_(grid) {
  const std::size_t threads = grid.blocks_per_cluster * static_cast<std::size_t>(grid.threads_per_block);
  const auto nothing_seen = std::make_shared<const Clock>(threads);
  for (std::uint32_t i = 0; i < grid.blocks_per_cluster; ++i) {
    Block& block = blocks_.emplace_back(*this, grid, first_block + i);
    for (Thread& thread : block.threads()) {
      thread.clock = nothing_seen;
      thread.fiber.start(grid.stacks, run_thread, &thread);
      ready_.push_back(&thread);
    }
  }
}

void Cluster::run() {
  while (!ready_.empty()) {
    std::swap(ready_[grid_.random.below(static_cast<std::uint32_t>(ready_.size()))], ready_.back());
    Thread& thread = *ready_.back();
    ready_.pop_back();
    resume(thread);
  }
  report_stuck();
  for (Block& block : blocks_) {
    for (Thread& thread : block.threads()) {
      if (!thread.has_ended) thread.fiber.abandon();
    }
  }
}

void Cluster::resume(Thread& thread) {
  set_this_thread(&thread);
  thread.fiber.resume();
  set_this_thread(nullptr);
}

void Cluster::suspend(Thread& thread, Instruction instruction) {
  land_some_copies(thread);
  thread.waits_in = instruction;
  thread.fiber.suspend();
}

void Cluster::wake(Thread& thread) { ready_.push_back(&thread); }

void Cluster::report_stuck() {
  for (Block& block : blocks_) {
    report_stuck_barriers(block);
    report_stuck_warps(block);
  }
}

void Cluster::report_stuck_barriers(Block& block) {
  std::vector<Thread*> threads;
  for (Thread& thread : block.threads()) threads.push_back(&thread);
  for (int id = 0; id < kBarriers; ++id) {
    const Barrier& barrier = block.barrier(id);
    if (barrier.waiting().empty()) continue;
    const std::string missing = where_is(threads, [&](const Thread& thread) {
      return std::ranges::find(barrier.waiting(), &thread) == barrier.waiting().end();
    });
    report(*barrier.waiting().front(), {.hazard = Hazard::stuck,
                                        .instruction = Instruction::bar_sync,
                                        .detail = fmt::format("{} of {} threads came to barrier {}; {}",
                                                              barrier.arrived(), barrier.expected(), id, missing)});
  }
}

void Cluster::report_stuck_warps(Block& block) {
  for (const Warp& warp : block.warps()) {
    for (const WarpCall& call : warp.pending()) {
      const auto has_arrived = [&](const Thread& thread) { return (call.arrived >> thread.lane & 1u) != 0; };
      const auto is_missing = [&](const Thread& thread) {
        return !has_arrived(thread) && (call.members >> thread.lane & 1u) != 0;
      };
      report(*warp.lanes[static_cast<std::size_t>(std::countr_zero(call.arrived))],
             {.hazard = Hazard::stuck,
              .instruction = call.instruction,
              .detail = fmt::format("{} of {} lanes came to it; {}", std::popcount(call.arrived),
                                    std::popcount(call.members), where_is(warp.lanes, is_missing))});
    }
  }
}

}  // namespace hotgemm::emulate
