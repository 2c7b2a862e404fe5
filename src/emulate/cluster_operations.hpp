#pragma once

#include <cstdint>

namespace hotgemm::emulate {

// The instructions of clusters, executed for the running thread.

std::uint32_t cluster_rank();
std::uint32_t mapa(std::uint32_t shared, std::uint32_t rank);
void barrier_cluster_arrive();
void barrier_cluster_arrive_relaxed();
void barrier_cluster_wait();

}  // namespace hotgemm::emulate
