#include "emulate/cluster_operations.hpp"

#include "emulate/block.hpp"

#include <fmt/format.h>

namespace hotgemm::emulate {

std::uint32_t cluster_rank() {
  Block& block = *this_thread().block;
  return block.index() % block.grid().blocks_per_cluster;
}

std::uint32_t mapa(std::uint32_t shared, std::uint32_t rank) {
  Thread& thread = this_thread();
  count(thread, Instruction::mapa);
  const std::uint32_t blocks = thread.block->grid().blocks_per_cluster;
  if (rank >= blocks) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = Instruction::mapa,
                    .detail = fmt::format("rank {} in a cluster of {} blocks", rank, blocks)});
  }
  return Cluster::with_rank(shared, rank);
}

void barrier_cluster_arrive() {
  Thread& thread = this_thread();
  thread.block->cluster().barrier().arrive(thread, Instruction::barrier_cluster_arrive);
}

void barrier_cluster_arrive_relaxed() {
  Thread& thread = this_thread();
  thread.block->cluster().barrier().arrive(thread, Instruction::barrier_cluster_arrive_relaxed);
}

void barrier_cluster_wait() {
  Thread& thread = this_thread();
  thread.block->cluster().barrier().wait(thread);
}

}  // namespace hotgemm::emulate
