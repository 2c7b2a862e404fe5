#include "emulate/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace hotgemm::emulate {
namespace {

/// Says where the first thread is for which `is_missing` is true: "thread 7 has ended", "thread 7 waits in bar.sync".
template <class IsMissing>
std::string where_is(const std::vector<Thread*>& threads, const IsMissing& is_missing) {
  for (const Thread* const thread : threads) {
    if (!is_missing(*thread)) continue;
    return fmt::format("thread {} {}", thread->index,
                       thread->has_ended ? "has ended" : "waits in " + std::string(to_string(thread->waits_in)));
  }
  return "every thread is accounted for";
}

void report_one(const Thread& thread, Instruction instruction, std::string detail) {
  report(thread, {.hazard = Hazard::stuck, .instruction = instruction, .detail = std::move(detail)});
}

bool report_barriers(Block& block, const std::vector<Thread*>& threads) {
  bool is_stuck = false;
  for (int id = 0; id < kBarriers; ++id) {
    const Barrier& barrier = block.barrier(id);
    if (barrier.waiting().empty()) continue;
    is_stuck = true;
    const std::string missing = where_is(threads, [&](const Thread& thread) {
      return std::ranges::find(barrier.waiting(), &thread) == barrier.waiting().end();
    });
    report_one(
        *barrier.waiting().front(), Instruction::bar_sync,
        fmt::format("{} of {} threads arrived at barrier {}; {}", barrier.arrived(), barrier.expected(), id, missing));
  }
  return is_stuck;
}

bool report_mbarriers(Block& block) {
  bool is_stuck = false;
  for (const auto& [address, barrier] : block.mbarriers()) {
    if (barrier.waiting().empty()) continue;
    is_stuck = true;
    report_one(*barrier.waiting().front(), Instruction::mbarrier_try_wait_parity,
               fmt::format("{} of mbarrier {:#x}", barrier.state(), address));
  }
  return is_stuck;
}

bool report_cluster_barrier(Block& block) {
  const ClusterBarrier& barrier = block.cluster().barrier();
  const auto waiting =
      std::ranges::find_if(barrier.waiting(), [&](const Thread* thread) { return thread->block == &block; });
  if (waiting == barrier.waiting().end()) return false;
  report_one(**waiting, Instruction::barrier_cluster_wait,
             fmt::format("{} threads of the cluster have not arrived", barrier.missing()));
  return true;
}

bool report_warps(Block& block) {
  bool is_stuck = false;
  for (const Warp& warp : block.warps()) {
    for (const WarpCall& call : warp.pending()) {
      is_stuck = true;
      const auto has_arrived = [&](const Thread& thread) { return (call.arrived >> thread.lane & 1u) != 0; };
      const auto is_missing = [&](const Thread& thread) {
        return !has_arrived(thread) && (call.members >> thread.lane & 1u) != 0;
      };
      report_one(*warp.lanes[static_cast<std::size_t>(std::countr_zero(call.arrived))], call.instruction,
                 fmt::format("{} of {} lanes reached it; {}", std::popcount(call.arrived), std::popcount(call.members),
                             where_is(warp.lanes, is_missing)));
    }
  }
  return is_stuck;
}

bool report_warpgroups(Block& block) {
  bool is_stuck = false;
  for (const Warpgroup& group : block.warpgroups()) {
    if (group.arrived() == 0) continue;
    is_stuck = true;
    std::vector<Thread*> threads;
    for (int i = 0; i < kWarpgroupThreads; ++i) threads.push_back(&group.thread(i));
    const auto has_arrived = [&](const Thread* thread) { return group.has_arrived(*thread); };
    report_one(**std::ranges::find_if(threads, has_arrived), Instruction::wgmma_mma_async,
               fmt::format("{} of {} threads reached it; {}", group.arrived(), kWarpgroupThreads,
                           where_is(threads, [&](const Thread& thread) { return !has_arrived(&thread); })));
  }
  return is_stuck;
}

}  // namespace

bool report_stuck(Block& block) {
  std::vector<Thread*> threads;
  for (Thread& thread : block.threads()) threads.push_back(&thread);
  bool is_stuck = report_barriers(block, threads);
  is_stuck = report_mbarriers(block) || is_stuck;
  is_stuck = report_cluster_barrier(block) || is_stuck;
  is_stuck = report_warps(block) || is_stuck;
  return report_warpgroups(block) || is_stuck;
}

}  // namespace hotgemm::emulate
