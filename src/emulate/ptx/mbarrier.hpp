#pragma once

#include "emulate/mbarrier.hpp"
#include "emulate/proxy_fence.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE void mbarrier_init(u32 barrier, u32 arrivals) { emulate::mbarrier_init(barrier, arrivals); }
HOTGEMM_DEVICE void fence_mbarrier_init() { emulate::fence_mbarrier_init(); }

HOTGEMM_DEVICE void mbarrier_arrive(u32 barrier) {
  emulate::mbarrier_arrive(emulate::Instruction::mbarrier_arrive, barrier, 0);
}
HOTGEMM_DEVICE void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  emulate::mbarrier_arrive(emulate::Instruction::mbarrier_arrive_expect_tx, barrier, bytes);
}
HOTGEMM_DEVICE void mbarrier_arrive_cluster(u32 barrier) {
  emulate::mbarrier_arrive(emulate::Instruction::mbarrier_arrive_cluster, barrier, 0);
}

/// Always returns true, because it waits until the phase has ended.
HOTGEMM_DEVICE bool mbarrier_try_wait_parity(u32 barrier, u32 parity) {
  emulate::mbarrier_await(barrier, parity);
  return true;
}

}  // namespace hotgemm::ptx
