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
/// Kernels that may run at the same time never share a slab. Launches on one stream run one after another, so they
/// share the slab of the stream. A launch may be two kernels, and the second reads from the slab what the first has
/// written there: its thread locks the slab until both are enqueued. A captured launch runs whenever its graph runs, at
/// the same time as any other work. So each stream of each capture has its own slab. The slab becomes free when the
/// graph and all executable graphs made from it are destroyed. (Two executable graphs of one capture must not run at
/// the same time, because both write to D.)
///
/// `reserve` allocates memory while a plan is made. `find` allocates memory if the stream is not being captured and has
/// no slab that is large enough. The pool frees nothing before its end, except for slabs that wait for captures: those
/// that are too small, and all of them if a stream would get no slab otherwise; and when a plan is made, the slabs of
/// destroyed streams. It learns that a stream was destroyed when another stream has its handle. If the cap or the GPU
/// leaves no memory, there is no slab, and the caller launches a kernel that needs no workspace.
///
/// No call waits for running kernels, with these exceptions: `reserve` waits until the counters of new slabs are clear,
/// and cuMemFree, which `reserve` calls for slabs that it frees and `find` where memory has run out, waits for all
/// work of the CUDA context; cuMemAlloc may.
///
/// Thread-safe. Finding the existing slab of a stream waits only for another thread that launches on the stream. A
/// capturing stream takes a lock that no thread holds while it waits for the GPU. The first launch on another stream,
/// and `reserve`, wait for each other.
class WorkspacePool {
 public:
  /// Keeps references to both. Captures, and slabs that wait for them, get at most half of the cap.
  WorkspacePool(const Driver& driver, WorkspaceBudget& budget) : driver_(driver), budget_(budget) {}
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// Makes sure that `captures` slabs of `size` wait for captures, or as many as memory allows. Frees the waiting slabs
  /// that are too small, unless `size` would not fit into the captures' share of the cap even then. The CUDA context
  /// must be current. Called when a plan is made, but not on a stream that is being captured. Throws
  /// Error{context_lost}.
  void reserve(const WorkspaceSize& size, int captures);

  /// The memory of a launch, for the thread that holds it.
  struct Lent {
    WorkspaceArgs args;
    std::unique_lock<std::mutex> lock;
  };
  /// The memory of a launch on `stream`, or nullopt if there is none. Throws Error for a stream that the driver
  /// refuses.
  std::optional<Lent> find(CUstream stream, const WorkspaceSize& size);

  /// Frees all memory now. The CUDA context must be current, and the pool is of no use after that.
  void unload() noexcept;
  /// Leaves all memory to the driver, because the CUDA context is not current or no longer exists.
  void abandon() noexcept;

 private:
  struct Slab {
    DeviceBuffer memory;
    WorkspaceSize size;
    std::unique_ptr<std::mutex> launching = std::make_unique<std::mutex>();
    Lent lend() const;
  };
  enum class State : unsigned char {
    used,
    gone,   ///< the stream was destroyed, and its work may still run
    empty,  ///< the stream was destroyed, and its memory was freed
  };
  /// A node of the list. A launch reads `stream` and `handle` of all nodes, and the slab of its own stream alone. So a
  /// thread that holds `making_` may give the node of a destroyed stream to another one.
  struct StreamSlab {
    std::atomic<unsigned long long> stream;  ///< its id, which no other stream ever has
    std::atomic<CUstream> handle;  ///< nullptr if it names several streams, and once this one is known to be destroyed
    Slab slab;
    StreamSlab* next;
    State state = State::used;  ///< guarded by `making_`
  };
  /// Set when the graph has been destroyed. A thread of the driver sets it, which must not call CUDA; the pool may be
  /// destroyed by then.
  using IsFree = std::shared_ptr<std::atomic<bool>>;
  struct CaptureSlab {
    Slab slab;
    IsFree is_free = std::make_shared<std::atomic<bool>>(true);
    unsigned long long capture = 0;
    unsigned long long stream = 0;
  };

  const StreamSlab* slab_of(unsigned long long stream, const WorkspaceSize& size) const noexcept;
  const StreamSlab* largest_of(unsigned long long stream) const noexcept;
  const Slab* make_for_stream(CUstream handle, unsigned long long stream, const WorkspaceSize& size);
  /// True if a stream had this handle that is not known to be destroyed.
  bool follows_destroyed(CUstream handle, unsigned long long stream) const noexcept;
  /// Notes that the stream that had this handle was destroyed, unless another thread holds `making_`.
  void note_destroyed(CUstream handle, unsigned long long stream);
  void free_destroyed();
  const Slab* keep(CUstream handle, unsigned long long stream, Slab slab);
  const Slab* find_for_capture(unsigned long long capture, unsigned long long stream, CUgraph graph,
                               const WorkspaceSize& size);
  bool tie_to_graph(const IsFree& is_free, CUgraph graph) const;
  /// The waiting slabs that are too small for `size`, taken out of the pool. None if `size` would not fit after that.
  std::vector<CaptureSlab> take_outgrown(const WorkspaceSize& size);
  bool make_for_capture(const WorkspaceSize& size);
  /// Frees the slabs that wait for captures. False if there were none.
  bool free_waiting();
  int count_waiting(const WorkspaceSize& size);
  /// Allocates within the budget and lets `clear` clear the counters, if there are any. If there is no memory, logs
  /// that and returns nullopt.
  template <class Clear>
  std::optional<Slab> make(const WorkspaceSize& size, Clear&& clear);
  std::size_t capture_bytes();

  const Driver& driver_;
  WorkspaceBudget& budget_;
  std::atomic<StreamSlab*> of_streams_{nullptr};  // no node leaves the list; empty ones are used again
  // The smallest size that could not be allocated for a stream since the last plan was made. A stream that needs as
  // much gets no slab, without another attempt.
  std::atomic<std::size_t> refused_bytes_{std::numeric_limits<std::size_t>::max()};
  std::mutex making_;  // held while slabs are made and freed, which may wait for the GPU; taken before `mutex_`
  std::mutex mutex_;   // guards the slabs for captures; no thread calls CUDA to allocate, free or wait under it
  std::vector<CaptureSlab> for_captures_;
};

}  // namespace hotgemm
