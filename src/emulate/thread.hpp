#pragma once

#include "emulate/clock.hpp"
#include "emulate/copy_queue.hpp"
#include "emulate/fiber.hpp"
#include "emulate/finding.hpp"
#include "emulate/shadow.hpp"

#include <cstdint>
#include <memory>
#include <string>

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
  std::uint16_t id = 0;  ///< in the cluster
  bool has_ended = false;
  Instruction waits_in = Instruction::none;  ///< where it is suspended

  View view;
  std::uint32_t epoch = 1;
  CopyQueue copies;
  std::shared_ptr<BulkStores> bulk_stores;  ///< once it has made one
  int cluster_arrivals = 0, cluster_waits = 0;
  bool is_behind_dependencies = false;           ///< it, or who it has waited for, has executed griddepcontrol.wait
  Instruction first_global = Instruction::none;  ///< its first access to global memory before that
  Fiber fiber;

  bool has_seen(const Access& access) const {
    return access.thread == id || epoch_of(*view.seen, access.thread) >= access.epoch;
  }
  Access access(Instruction instruction) const { return {epoch, id, instruction}; }

  /// Ends this thread's epoch and says what it was.
  Arrival arrive() { return {view, id, epoch++}; }
};

/// The thread whose fiber runs. A kernel's functions are free functions, as on the device, so this is how they know
/// for whom they run.
Thread& this_thread();
void set_this_thread(Thread* thread);

/// Adds a finding of `thread`; block, thread and seed are filled in.
void report(const Thread& thread, Finding finding);

/// "thread 5", "thread 5 of block 2" where `id` is of another block of the cluster than `thread`, or an agent's name.
std::string thread_name(const Thread& thread, std::uint16_t id);

/// The thread that runs has ended, or gives up.
void end_thread(Thread& thread);
[[noreturn]] void trap();

/// One execution of an instruction by a thread, or by a warp.
void count(Thread& thread, Instruction instruction);

}  // namespace hotgemm::emulate
