#pragma once

#include "emulate/barrier.hpp"
#include "emulate/cluster_barrier.hpp"
#include "emulate/counters.hpp"
#include "emulate/global_memory.hpp"
#include "emulate/mbarrier.hpp"
#include "emulate/random.hpp"
#include "emulate/shared_memory.hpp"
#include "emulate/tensor_load.hpp"
#include "emulate/thread.hpp"
#include "emulate/warp.hpp"
#include "emulate/warpgroup.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace hotgemm::emulate {

inline constexpr int kBarriers = 16;  // barriers of each block

/// Data that all blocks of a launch share.
struct Grid {
  GlobalMemory& memory;
  FindingLog& log;
  Counters& counters;
  StackPool& stacks;
  const std::function<void()>& kernel;  ///< the function that each thread runs
  std::uint32_t blocks;
  std::uint32_t blocks_per_cluster;
  int threads_per_block;
  int shared_bytes;
  std::uint64_t seed;
  Random random;
  bool counts_accesses;
  std::map<std::uint64_t, OtherClustersPtr> released = {};  ///< by atomic operations, by address
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
  std::map<std::uint32_t, Mbarrier>& mbarriers() { return mbarriers_; }  ///< keyed by address
  std::deque<Thread>& threads() { return threads_; }
  std::vector<Warp>& warps() { return warps_; }
  std::deque<Warpgroup>& warpgroups() { return warpgroups_; }

  /// Notes an access `access` to this block's shared memory that `by` caused. It comes from another block or from a
  /// copy. When the block ends, one of its remaining threads must have waited for the access.
  void note_visit(Thread& by, const Access& access, std::uint32_t address) {
    visits_[access.thread] = {&by, access, address};
  }
  void report_late_visits();

 private:
  void choose_laggard();

  Cluster& cluster_;
  Grid& grid_;
  std::uint32_t index_;
  SharedMemory shared_;
  std::array<Barrier, kBarriers> barriers_;
  std::map<std::uint32_t, Mbarrier> mbarriers_;
  std::vector<Warp> warps_;
  std::deque<Warpgroup> warpgroups_;
  std::deque<Thread> threads_;
  struct Visit {
    Thread* by;
    Access access;
    std::uint32_t address;
  };
  std::map<std::uint16_t, Visit> visits_;  // the last visit of each thread or agent
};

/// Blocks that live at the same time. The cluster chooses the order of their threads: one thread runs until it suspends
/// itself, then a random one of those that can continue. With an even seed one warp of each block is a laggard: it runs
/// only when no other thread can continue and no load is on its way. With a random order alone, warps that execute the
/// same code stay within a few instructions of each other. Such a run does not show the phases that a warp misses when
/// the others are far ahead.
class Cluster {
 public:
  /// Makes the cluster whose first block is `first_block`.
  Cluster(Grid& grid, std::uint32_t first_block);

  /// Runs threads until all have ended, or until one lets other clusters run. True if all have ended. If some threads
  /// cannot end, reports where they are stuck and abandons them.
  bool run();

  /// Suspends the running thread `thread` in `instruction` until it is woken.
  void suspend(Thread& thread, Instruction instruction);
  void wake(Thread& thread);
  /// Suspends the running thread `thread` until this cluster runs again. Other clusters may run before.
  void let_others_run(Thread& thread, Instruction instruction);

  std::size_t threads() const { return grid_.blocks_per_cluster * static_cast<std::size_t>(grid_.threads_per_block); }
  Block& block(std::uint32_t rank) { return blocks_[rank]; }
  const Block& block(std::uint32_t rank) const { return blocks_[rank]; }
  ClusterBarrier& barrier() { return barrier_; }

  // ---- agents and views (clock.hpp) ----

  /// Returns an id for an agent: a part of the hardware that acts by itself and has its own epochs.
  std::uint16_t add_agent(std::string name);
  const std::string& agent_name(std::uint16_t id) const { return agents_[id - threads()]; }
  const View& nothing_seen() const { return nothing_seen_; }
  /// The join of two views. Threads that wait together share one result.
  View join_views(const View& a, const View& b);

  // ---- distributed shared memory: the rank of a block, plus one, in the upper bits of an address ----

  static std::uint32_t with_rank(std::uint32_t address, std::uint32_t rank) { return address | (rank + 1) << kRankBit; }
  static std::uint32_t without_rank(std::uint32_t address) { return address & ((1u << kRankBit) - 1); }
  /// The block that contains `address`: by its rank, or the block of `thread` if it has no rank. If there is no such
  /// block, reports that and returns nullptr.
  Block* find_block(const Thread& thread, Instruction instruction, std::uint32_t address);

  // ---- asynchronous actions, at random moments ----

  void add_load(TensorLoad load) { loads_.push_back(std::move(load)); }

  /// The threads of this cluster that have executed griddepcontrol.wait so far.
  std::vector<Access>& dependency_waits() { return dependency_waits_; }

 private:
  static constexpr int kRankBit = 24;

  void resume(Thread& thread);
  bool land_some_load();
  void report_end();

  struct Joined {
    View a, b, result;
  };

  Grid& grid_;
  View nothing_seen_;
  std::vector<std::string> agents_;
  ClusterBarrier barrier_;
  std::deque<Block> blocks_;
  std::vector<Thread*> ready_, ready_laggards_;
  bool lets_others_run_ = false;
  std::vector<TensorLoad> loads_;
  std::array<Joined, 8> joined_;
  std::size_t next_joined_ = 0;
  std::vector<Access> dependency_waits_;
};

/// Reports the reasons why threads of `block` cannot continue. Returns false if there are none.
bool report_stuck(Block& block);

}  // namespace hotgemm::emulate
