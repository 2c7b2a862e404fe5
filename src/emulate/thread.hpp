#pragma once

#include "emulate/bank_counter.hpp"
#include "emulate/clock.hpp"
#include "emulate/copy_queue.hpp"
#include "emulate/fiber.hpp"
#include "emulate/finding.hpp"
#include "emulate/shadow.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hotgemm::emulate {

class Block;
class BulkStores;
class Warp;

/// A CUDA thread.
struct Thread {
  Block* block = nullptr;
  Warp* warp = nullptr;
  int index = 0;         ///< %tid.x
  int lane = 0;          ///< %laneid
  std::uint16_t id = 0;  ///< unique in the cluster
  bool has_ended = false;
  Instruction waits_in = Instruction::none;  ///< the instruction in which it is suspended

  View view;
  ClockPtr known_barriers;  ///< mbarriers that this thread has initialised and fenced
  std::uint32_t epoch = 1;
  CopyQueue copies;
  std::vector<BankAccess> accesses;  ///< loads and stores since the last barrier, if the launch counts their banks
  std::size_t access_groups = 0;     ///< that were committed
  std::shared_ptr<BulkStores> bulk_stores;  ///< set at the first bulk store
  int cluster_arrivals = 0, cluster_waits = 0;
  bool is_behind_dependencies = false;           ///< it, or a thread it waited for, executed griddepcontrol.wait
  Instruction first_global = Instruction::none;  ///< its first access to global memory before griddepcontrol.wait
  Fiber fiber;

  bool has_seen(const Access& access) const {
    return access.thread == id || epoch_of(*view.seen, access.thread) >= access.epoch;
  }
  /// True if it has seen an access of a thread in cluster number `cluster`, another one.
  bool has_seen_of(std::uint32_t cluster, const Access& access) const {
    if (view.others == nullptr) return false;
    const auto found = view.others->find(cluster);
    return found != view.others->end() && epoch_of(*found->second, access.thread) >= access.epoch;
  }
  Access access(Instruction instruction) const { return {epoch, id, instruction}; }

  /// Ends the current epoch of this thread and returns the data for a barrier.
  Arrival arrive() { return {view, id, epoch++}; }
};

/// The thread whose fiber is running. The functions of a kernel are free functions, as on the device, and find their
/// thread here.
Thread& this_thread();
void set_this_thread(Thread* thread);

/// Adds a finding of `thread`, and fills in block, thread and seed.
void report(const Thread& thread, Finding finding);

/// "thread 5"; "thread 5 of block 2" if `id` is in another block of the cluster than `thread`; or the name of an agent.
std::string thread_name(const Thread& thread, std::uint16_t id);

/// Called when the running thread has ended or trapped.
void end_thread(Thread& thread);
[[noreturn]] void trap();

/// Counts one execution of an instruction by a thread or a warp.
void count(Thread& thread, Instruction instruction);
/// Notes a load or store of shared memory, if the launch counts their banks.
void note_banks(Thread& thread, const BankAccess& access);
/// Called at a barrier and at the end of a thread: its accesses since the last barrier are complete.
void commit_banks(Thread& thread);

}  // namespace hotgemm::emulate
