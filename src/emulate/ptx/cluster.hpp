#pragma once

#include "emulate/cluster_operations.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE u32 cluster_ctarank() { return emulate::cluster_rank(); }
HOTGEMM_DEVICE u32 mapa(u32 shared, u32 rank) { return emulate::mapa(shared, rank); }
HOTGEMM_DEVICE void barrier_cluster_arrive() { emulate::barrier_cluster_arrive(); }
HOTGEMM_DEVICE void barrier_cluster_arrive_relaxed() { emulate::barrier_cluster_arrive_relaxed(); }
HOTGEMM_DEVICE void barrier_cluster_wait() { emulate::barrier_cluster_wait(); }

}  // namespace hotgemm::ptx
