#pragma once

#include "emulate/barrier.hpp"
#include "emulate/counters.hpp"
#include "emulate/global_memory.hpp"
#include "emulate/random.hpp"
#include "emulate/shared_memory.hpp"
#include "emulate/thread.hpp"
#include "emulate/warp.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace hotgemm::emulate {

inline constexpr int kBarriers = 16;  // of each block

/// What all blocks of a launch have in common.
struct Grid {
  GlobalMemory& memory;
  FindingLog& log;
  Counters& counters;
  StackPool& stacks;
  const std::function<void()>& kernel;  ///< what each thread runs
  std::uint32_t blocks;
  std::uint32_t blocks_per_cluster;
  int threads_per_block;
  int shared_bytes;
  std::uint64_t seed;
  Random random;
};

class Cluster;

/// A CUDA block: its threads, shared memory and barriers.
class Block {
 public:
  Block(Cluster& cluster, Grid& grid, std::uint32_t index);

  Cluster& cluster() { return cluster_; }
  Grid& grid() { return grid_; }
  std::uint32_t index() const { return index_; }  ///< %ctaid.x
  bool is_in_same_cluster(std::uint32_t block) const {
    return block / grid_.blocks_per_cluster == index_ / grid_.blocks_per_cluster;
  }

  SharedMemory& shared() { return shared_; }
  Barrier& barrier(int id) { return barriers_[static_cast<std::size_t>(id)]; }
  std::deque<Thread>& threads() { return threads_; }
  std::vector<Warp>& warps() { return warps_; }

 private:
  Cluster& cluster_;
  Grid& grid_;
  std::uint32_t index_;
  SharedMemory shared_;
  std::array<Barrier, kBarriers> barriers_;
  std::vector<Warp> warps_;
  std::deque<Thread> threads_;
};

/// Blocks that live at the same time, and the order in which their threads run: one until it suspends itself, then
/// another, drawn from those that can go on.
class Cluster {
 public:
  /// The cluster of the blocks from `first_block`.
  Cluster(Grid& grid, std::uint32_t first_block);

  /// Runs all threads to their ends. If some cannot get there, says where they are stuck and gives them up.
  void run();

  /// `thread`, which runs, waits in `instruction` until somebody wakes it.
  void suspend(Thread& thread, Instruction instruction);
  void wake(Thread& thread);

 private:
  void resume(Thread& thread);
  void report_stuck();
  void report_stuck_barriers(Block& block);
  void report_stuck_warps(Block& block);

  Grid& grid_;
  std::deque<Block> blocks_;
  std::vector<Thread*> ready_;
};

}  // namespace hotgemm::emulate
