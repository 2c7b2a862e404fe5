#pragma once

#include "ptx/device.hpp"

// Communication between the lanes of a warp. `members` has a bit for each lane that takes part; all of these lanes must
// execute the same instruction.

namespace hotgemm::ptx {

// shfl.sync with the operands of the PTX ISA: `b` is a lane or a distance; `c` holds the clamp and, from bit 8 on, the
// segment mask: 0x1f for the whole warp, 0 for `up`.

HOTGEMM_DEVICE u32 shfl_sync_idx_b32(u32 value, u32 b, u32 c, u32 members) {
  u32 found = 0;
  HOTGEMM_PTX("shfl.sync.idx.b32 %0, %1, %2, %3, %4;" : "=r"(found) : "r"(value), "r"(b), "r"(c), "r"(members));
  return found;
}
HOTGEMM_DEVICE u32 shfl_sync_up_b32(u32 value, u32 b, u32 c, u32 members) {
  u32 found = 0;
  HOTGEMM_PTX("shfl.sync.up.b32 %0, %1, %2, %3, %4;" : "=r"(found) : "r"(value), "r"(b), "r"(c), "r"(members));
  return found;
}
HOTGEMM_DEVICE u32 shfl_sync_down_b32(u32 value, u32 b, u32 c, u32 members) {
  u32 found = 0;
  HOTGEMM_PTX("shfl.sync.down.b32 %0, %1, %2, %3, %4;" : "=r"(found) : "r"(value), "r"(b), "r"(c), "r"(members));
  return found;
}
HOTGEMM_DEVICE u32 shfl_sync_bfly_b32(u32 value, u32 b, u32 c, u32 members) {
  u32 found = 0;
  HOTGEMM_PTX("shfl.sync.bfly.b32 %0, %1, %2, %3, %4;" : "=r"(found) : "r"(value), "r"(b), "r"(c), "r"(members));
  return found;
}

HOTGEMM_DEVICE bool vote_sync_all(bool predicate, u32 members) {
  u32 all = 0;
  HOTGEMM_PTX("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.all.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
              : "=r"(all)
              : "r"(static_cast<u32>(predicate)), "r"(members));
  return all != 0;
}
HOTGEMM_DEVICE bool vote_sync_any(bool predicate, u32 members) {
  u32 any = 0;
  HOTGEMM_PTX("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.any.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
              : "=r"(any)
              : "r"(static_cast<u32>(predicate)), "r"(members));
  return any != 0;
}
/// A mask with a bit for each member whose predicate is true.
HOTGEMM_DEVICE u32 vote_sync_ballot(bool predicate, u32 members) {
  u32 ballot = 0;
  HOTGEMM_PTX("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
              : "=r"(ballot)
              : "r"(static_cast<u32>(predicate)), "r"(members));
  return ballot;
}

/// The members wait for each other; each then sees what the others wrote before.
HOTGEMM_DEVICE void bar_warp_sync(u32 members) { HOTGEMM_PTX("bar.warp.sync %0;" ::"r"(members) : "memory"); }

}  // namespace hotgemm::ptx
