#include "emulate/block.hpp"

#include "emulate/async_copy.hpp"
#include "emulate/grid_dependency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace hotgemm::emulate {
namespace {

void run_thread(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  thread.block->grid().kernel();
  end_thread(thread);
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
  for (int i = 0; i < grid.threads_per_block / kWarpgroupThreads; ++i) warpgroups_.emplace_back(*this, i);
  choose_laggard();
}

void Block::choose_laggard() {
  if (grid_.seed % 2 != 0 || warps_.size() == 1) return;
  Random random(grid_.seed ^ std::uint64_t{index_} << 32);
  warps_[random.below(static_cast<std::uint32_t>(warps_.size()))].is_laggard = true;
}

void Block::report_late_visits() {
  for (const auto& [_, visit] : visits_) {
    const Access& access = visit.access;
    const bool is_seen = std::ranges::any_of(threads_, [&](const Thread& thread) { return thread.has_seen(access); });
    if (is_seen) continue;
    report(*visit.by,
           {.hazard = Hazard::conflict,
            .instruction = access.instruction,
            .place = "shared",
            .address = visit.address,
            .bytes = 8,
            .detail = fmt::format("no thread of block {} has waited for it, so the block may have ended", index_)});
  }
}

Cluster::Cluster(Grid& grid, std::uint32_t first_block) : grid_(grid), barrier_(threads()) {
  nothing_seen_.seen = nothing_seen_.fenced = std::make_shared<const Clock>();
  for (Joined& joined : joined_) joined = {nothing_seen_, nothing_seen_, nothing_seen_};
  for (std::uint32_t i = 0; i < grid.blocks_per_cluster; ++i) {
    Block& block = blocks_.emplace_back(*this, grid, first_block + i);
    for (Thread& thread : block.threads()) {
      thread.view = nothing_seen_;
      thread.known_barriers = nothing_seen_.seen;
      thread.fiber.start(grid.stacks, run_thread, &thread);
      wake(thread);
    }
  }
}

bool Cluster::run() {
  while (land_some_load() || !ready_.empty() || !ready_laggards_.empty()) {
    if (ready_.empty() && (ready_laggards_.empty() || !loads_.empty())) continue;
    std::vector<Thread*>& ready = ready_.empty() ? ready_laggards_ : ready_;
    std::swap(ready[grid_.random.below(static_cast<std::uint32_t>(ready.size()))], ready.back());
    Thread& thread = *ready.back();
    ready.pop_back();
    resume(thread);
    if (std::exchange(lets_others_run_, false)) return false;
  }
  report_end();
  for (Block& block : blocks_) {
    for (Thread& thread : block.threads()) {
      if (!thread.has_ended) thread.fiber.abandon();
    }
  }
  return true;
}

bool Cluster::land_some_load() {
  if (loads_.empty() || (!ready_.empty() && grid_.random.below(8) != 0)) return false;
  std::swap(loads_[grid_.random.below(static_cast<std::uint32_t>(loads_.size()))], loads_.back());
  TensorLoad load = loads_.back();
  loads_.pop_back();
  load.land();
  return true;
}

void Cluster::report_end() {
  bool is_stuck = false;
  for (Block& block : blocks_) is_stuck = report_stuck(block) || is_stuck;
  for (Block& block : blocks_) {
    for (Thread& thread : block.threads()) report_early_access(thread);
    if (!is_stuck) block.report_late_visits();
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

void Cluster::let_others_run(Thread& thread, Instruction instruction) {
  lets_others_run_ = true;
  wake(thread);
  suspend(thread, instruction);
}

void Cluster::wake(Thread& thread) { (thread.warp->is_laggard ? ready_laggards_ : ready_).push_back(&thread); }

std::uint16_t Cluster::add_agent(std::string name) {
  agents_.push_back(std::move(name));
  return static_cast<std::uint16_t>(threads() + agents_.size() - 1);
}

View Cluster::join_views(const View& a, const View& b) {
  const auto known =
      std::ranges::find_if(joined_, [&](const Joined& joined) { return joined.a == a && joined.b == b; });
  if (known != joined_.end()) return known->result;
  Joined& slot = joined_[next_joined_++ % joined_.size()];
  slot = {a, b, join(a, b)};
  return slot.result;
}

Block* Cluster::find_block(const Thread& thread, Instruction instruction, std::uint32_t address) {
  const std::uint32_t rank_plus_one = address >> kRankBit;
  if (rank_plus_one == 0) return thread.block;
  if (rank_plus_one <= blocks_.size()) return &blocks_[rank_plus_one - 1];
  report(thread, {.hazard = Hazard::out_of_bounds,
                  .instruction = instruction,
                  .place = "shared",
                  .address = address,
                  .bytes = 8,
                  .detail = fmt::format("the cluster has {} blocks", blocks_.size())});
  return nullptr;
}

}  // namespace hotgemm::emulate
