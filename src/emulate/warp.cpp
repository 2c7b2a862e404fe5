#include "emulate/warp.hpp"

#include "emulate/block.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hotgemm::emulate {

void Warp::meet(Thread& thread, Instruction instruction, std::uint32_t members, void* operands, Execute execute) {
  const std::uint32_t self = 1u << thread.lane;
  if ((members & self) == 0 || (members & ~all_lanes()) != 0) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = instruction,
                    .detail = fmt::format("membermask {:#010x} of lane {} in a warp of {}", members, thread.lane,
                                          lanes.size())});
    members = (members & all_lanes()) | self;
  }
  auto call = std::ranges::find_if(
      pending_, [&](const WarpCall& c) { return c.instruction == instruction && c.members == members; });
  if (call == pending_.end()) {
    pending_.push_back({.instruction = instruction, .members = members});
    call = pending_.end() - 1;
  }
  call->arrived |= self;
  call->operands[static_cast<std::size_t>(thread.lane)] = operands;
  if (call->arrived != members) {
    thread.block->cluster().suspend(thread, instruction);
    return;
  }
  const WarpCall complete = *call;
  pending_.erase(call);
  count(thread, instruction);
  execute(*this, complete);
  for (Thread* const lane : lanes) {
    if (lane != &thread && (members >> lane->lane & 1u) != 0) thread.block->cluster().wake(*lane);
  }
}

bool Warp::has_seen(const Access& access) const {
  const Clock* last = nullptr;
  for (const Thread* const lane : lanes) {
    if (lane->view.seen.get() == last) continue;  // usually all lanes have the same clock
    last = lane->view.seen.get();
    if (epoch_of(*last, access.thread) < access.epoch) return false;
  }
  return true;
}

}  // namespace hotgemm::emulate
