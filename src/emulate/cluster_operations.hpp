#pragma once

#include <cstdint>

namespace hotgemm::emulate {

// What the instructions of clusters do, for the thread that runs.

std::uint32_t cluster_rank();
std::uint32_t mapa(std::uint32_t shared, std::uint32_t rank);
void barrier_cluster_arrive();
void barrier_cluster_arrive_relaxed();
void barrier_cluster_wait();

}  // namespace hotgemm::emulate
