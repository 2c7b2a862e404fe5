#pragma once

#include "emulate/warp_operations.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE u32 shfl_sync_idx_b32(u32 value, u32 b, u32 c, u32 members) {
  return emulate::shfl_sync(emulate::Instruction::shfl_sync_idx, value, b, c, members);
}
HOTGEMM_DEVICE u32 shfl_sync_up_b32(u32 value, u32 b, u32 c, u32 members) {
  return emulate::shfl_sync(emulate::Instruction::shfl_sync_up, value, b, c, members);
}
HOTGEMM_DEVICE u32 shfl_sync_down_b32(u32 value, u32 b, u32 c, u32 members) {
  return emulate::shfl_sync(emulate::Instruction::shfl_sync_down, value, b, c, members);
}
HOTGEMM_DEVICE u32 shfl_sync_bfly_b32(u32 value, u32 b, u32 c, u32 members) {
  return emulate::shfl_sync(emulate::Instruction::shfl_sync_bfly, value, b, c, members);
}

HOTGEMM_DEVICE bool vote_sync_all(bool predicate, u32 members) {
  return emulate::vote_sync(emulate::Instruction::vote_sync_all, predicate, members) == members;
}
HOTGEMM_DEVICE bool vote_sync_any(bool predicate, u32 members) {
  return emulate::vote_sync(emulate::Instruction::vote_sync_any, predicate, members) != 0;
}
HOTGEMM_DEVICE u32 vote_sync_ballot(bool predicate, u32 members) {
  return emulate::vote_sync(emulate::Instruction::vote_sync_ballot, predicate, members);
}

HOTGEMM_DEVICE void bar_warp_sync(u32 members) { emulate::bar_warp_sync(members); }

}  // namespace hotgemm::ptx
