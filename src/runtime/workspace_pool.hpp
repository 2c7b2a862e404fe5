#pragma once

#include "config/workspace.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/gemm_launch.hpp"
#include "runtime/workspace_budget.hpp"

#include <hotgemm/types.hpp>

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace hotgemm {

/// The workspace of one CUDA context: a slab for each stream, and slabs that wait for captures.
///
/// Kernels that run at the same time never share a slab. Launches on one stream follow each other, so they share the
/// stream's. A captured launch runs whenever its graph does, beside anything: each stream of each capture has a slab
/// of its own, which goes back when the graph and all that was instantiated from it are gone. (Two executable graphs of
/// one capture must not run at the same time: they have D in common too.)
///
/// Memory is allocated by `reserve`, while a plan is made, and by `find` on a stream that is not being captured and has
/// no slab that is large enough. Nothing is freed before the pool is, but for slabs that wait for captures and are too
/// small. Where the cap or the GPU leaves no memory, there is no slab, and the caller launches a kernel that needs
/// none.
///
/// Thread-safe. A stream that has its slab finds it without a lock. A capturing stream takes a lock that no thread
/// holds while it waits for the GPU. The first launch on another stream, and `reserve`, wait for each other.
class WorkspacePool {
 public:
  /// Keeps references to both. Of the cap, at most half waits for or belongs to captures.
  WorkspacePool(const Driver& driver, WorkspaceBudget& budget) : driver_(driver), budget_(budget) {}
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// Makes `captures` slabs of `size` wait for captures, as far as memory goes. Frees the waiting slabs that are too
  /// small, unless the captures' share of the cap has no room for `size` either way. The CUDA context must be current.
  /// Called where a plan is made, on no capturing stream. Throws Error{context_lost}.
  void reserve(const WorkspaceSize& size, int captures);

  /// The memory of a launch on `stream`, or nullopt if there is none. Throws Error for a stream that the driver
  /// refuses.
  std::optional<WorkspaceArgs> find(CUstream stream, const WorkspaceSize& size);

  /// Leaves all memory to the driver: for a CUDA context that is not current, or gone.
  void abandon() noexcept;

 private:
  struct Slab {
    DeviceBuffer memory;
    WorkspaceSize size;
    WorkspaceArgs args() const;
  };
  struct StreamSlab {
    unsigned long long stream;
    Slab slab;
    StreamSlab* next;
  };
  /// Set once the graph is gone, by a thread of the driver that may not call CUDA, perhaps after the pool.
  using IsFree = std::shared_ptr<std::atomic<bool>>;
  struct CaptureSlab {
    Slab slab;
    IsFree is_free = std::make_shared<std::atomic<bool>>(true);
    unsigned long long capture = 0;
    unsigned long long stream = 0;
  };

  const StreamSlab* slab_of(unsigned long long stream, const WorkspaceSize& size) const noexcept;
  std::optional<WorkspaceArgs> make_for_stream(unsigned long long stream, const WorkspaceSize& size);
  std::optional<WorkspaceArgs> find_for_capture(unsigned long long capture, unsigned long long stream, CUgraph graph,
                                                const WorkspaceSize& size);
  bool tie_to_graph(const IsFree& is_free, CUgraph graph) const;
  /// The waiting slabs that are too small for `size`, taken out of the pool. None if `size` would not fit after that.
  std::vector<CaptureSlab> take_outgrown(const WorkspaceSize& size);
  bool make_for_capture(const WorkspaceSize& size);
  int count_waiting(const WorkspaceSize& size);
  /// Allocates within the budget and clears the counters; nullopt, with a line in the log, where there is no memory.
  std::optional<Slab> make(const WorkspaceSize& size);
  std::size_t capture_bytes();

  const Driver& driver_;
  WorkspaceBudget& budget_;
  std::atomic<StreamSlab*> of_streams_{nullptr};  // only ever grows
  // The least that a stream was refused since a plan was made last; a stream that needs as much is not tried again.
  std::atomic<std::size_t> refused_bytes_{std::numeric_limits<std::size_t>::max()};
  std::mutex making_;  // held while slabs are made and freed, which may wait for the GPU; taken before `mutex_`
  std::mutex mutex_;   // guards the slabs for captures; no thread calls CUDA to allocate, free or wait under it
  std::vector<CaptureSlab> for_captures_;
};

}  // namespace hotgemm
