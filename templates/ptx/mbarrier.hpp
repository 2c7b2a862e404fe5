#pragma once

#include "ptx/device.hpp"

// Barriers in shared memory, eight bytes each, that count arrivals and the bytes of bulk copies. A barrier's phases
// have parity 0, 1, 0, … sm_90 and later.

namespace hotgemm::ptx {

/// mbarrier.init: a phase ends when `arrivals` threads have come and all expected bytes with them.
HOTGEMM_DEVICE void mbarrier_init(u32 barrier, u32 arrivals) {
  HOTGEMM_PTX("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// fence.mbarrier_init: other blocks of the cluster and the copy engine see the barriers that this thread has made.
HOTGEMM_DEVICE void fence_mbarrier_init() { HOTGEMM_PTX("fence.mbarrier_init.release.cluster;" ::: "memory"); }

HOTGEMM_DEVICE void mbarrier_arrive(u32 barrier) {
  HOTGEMM_PTX("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and makes the phase wait for `bytes` more.
HOTGEMM_DEVICE void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  HOTGEMM_PTX("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Arrives at a barrier of any block of the cluster; `barrier` is what mapa gives. It hands back memory that was read,
/// and no data: what this thread wrote need not be seen by the other block. (With .release.cluster, the fence before
/// each arrival costs a GEMM a quarter of its speed.)
HOTGEMM_DEVICE void mbarrier_arrive_cluster(u32 barrier) {
  HOTGEMM_PTX("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Whether the phase of `parity` has ended; waits for a while before it says no.
HOTGEMM_DEVICE bool mbarrier_try_wait_parity(u32 barrier, u32 parity) {
  u32 ended = 0;
  HOTGEMM_PTX("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
              : "=r"(ended)
              : "r"(barrier), "r"(parity)
              : "memory");
  return ended != 0;
}

}  // namespace hotgemm::ptx
