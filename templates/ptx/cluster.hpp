#pragma once

#include "ptx/device.hpp"

// Blocks of a cluster. sm_90 and later.

namespace hotgemm::ptx {

/// %cluster_ctarank: this block's number in its cluster.
HOTGEMM_DEVICE u32 cluster_ctarank() {
  u32 value = 0;
  HOTGEMM_PTX_PURE("mov.u32 %0, %%cluster_ctarank;" : "=r"(value));
  return value;
}

/// mapa: the address in block `rank` that corresponds to `shared` in this block.
HOTGEMM_DEVICE u32 mapa(u32 shared, u32 rank) {
  u32 address = 0;
  HOTGEMM_PTX_PURE("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}

/// Arrives at the barrier of all threads of the cluster without waiting; earlier writes are visible after the wait.
HOTGEMM_DEVICE void barrier_cluster_arrive() { HOTGEMM_PTX("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
/// The same without any guarantee about earlier writes.
HOTGEMM_DEVICE void barrier_cluster_arrive_relaxed() {
  HOTGEMM_PTX("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
HOTGEMM_DEVICE void barrier_cluster_wait() { HOTGEMM_PTX("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

}  // namespace hotgemm::ptx
