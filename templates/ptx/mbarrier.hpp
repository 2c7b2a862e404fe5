#pragma once

#include "ptx/device.hpp"

// Barriers in shared memory, eight bytes each, that count arrivals and the bytes of bulk copies. The phases of a
// barrier have parity 0, 1, 0, … sm_90 and later.

namespace hotgemm::ptx {

/// mbarrier.init: a phase ends when `arrivals` threads have arrived and all expected bytes have been copied.
HOTGEMM_DEVICE void mbarrier_init(u32 barrier, u32 arrivals) {
  HOTGEMM_PTX("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// fence.mbarrier_init: makes barriers that this thread has initialised visible to the cluster and the copy engine.
HOTGEMM_DEVICE void fence_mbarrier_init() { HOTGEMM_PTX("fence.mbarrier_init.release.cluster;" ::: "memory"); }

HOTGEMM_DEVICE void mbarrier_arrive(u32 barrier) {
  HOTGEMM_PTX("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and adds `bytes` to the bytes that the phase waits for.
HOTGEMM_DEVICE void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  HOTGEMM_PTX("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Arrives at a barrier of any block of the cluster; `barrier` is a result of mapa. The arrival says that memory has
/// been read. It does not make this thread's writes visible to the other block. (With .release.cluster, the fence
/// before each arrival costs a GEMM a quarter of its speed.)
HOTGEMM_DEVICE void mbarrier_arrive_cluster(u32 barrier) {
  HOTGEMM_PTX("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// True if the phase with `parity` has ended; waits for a limited time before it returns false.
HOTGEMM_DEVICE bool mbarrier_try_wait_parity(u32 barrier, u32 parity) {
  u32 ended = 0;
  HOTGEMM_PTX("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
              : "=r"(ended)
              : "r"(barrier), "r"(parity)
              : "memory");
  return ended != 0;
}

}  // namespace hotgemm::ptx
