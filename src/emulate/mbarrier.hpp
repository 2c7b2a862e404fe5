#pragma once

#include "emulate/thread.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// A barrier in a block's shared memory. It counts arrivals and the bytes of bulk copies.
class Mbarrier {
 public:
  /// `maker` initialises the barrier at `address` of its block.
  Mbarrier(Thread& maker, std::uint32_t address, std::uint32_t arrivals);

  std::uint32_t address() const { return address_; }
  std::uint16_t agent() const { return agent_; }  ///< agent for the copies that the barrier counts (clock.hpp)
  const Access& made() const { return made_; }
  bool is_fenced() const { return is_fenced_; }
  void fence() { is_fenced_ = true; }
  /// The fence that makes the initialisation known to every thread that waits for a later arrival, also for a relaxed
  /// one.
  Access init_fence() const { return {1, init_agent_, Instruction::fence_mbarrier_init}; }

  /// The access of the agent for a copy that completes now.
  Access landing(Instruction instruction) const { return {phase_ + 1, agent_, instruction}; }
  void arrive(Thread& thread, Instruction instruction, std::uint32_t expected_bytes);
  void complete_bytes(int bytes);

  bool has_ended(std::uint32_t parity) const { return phase_ % 2 != parity; }
  /// The view that a thread gets when it finds that a phase has ended.
  const View& released() const { return released_; }
  void add_waiting(Thread& thread) { waiting_.push_back(&thread); }
  const std::vector<Thread*>& waiting() const { return waiting_; }
  /// "phase 3 lacks 1 of 2 arrivals and 512 bytes".
  std::string state() const;

 private:
  void end_phase_if_complete();

  Block& block_;
  std::uint32_t address_;
  std::uint16_t agent_, init_agent_;
  Access made_;
  bool is_fenced_ = false;            // true if the async proxy sees the initialisation
  std::uint32_t expected_, pending_;  // arrivals of a phase
  std::int64_t bytes_ = 0;            // bytes that are expected and have not arrived
  std::uint32_t phase_ = 0;
  View released_;
  std::vector<Arrival> arrivals_;
  std::vector<Thread*> waiting_;
};

// The instructions, executed for the running thread. An address is one of its own block, or of any block of the cluster
// if mapa made it.

void mbarrier_init(std::uint32_t address, std::uint32_t arrivals);
/// Part of fence.mbarrier_init and fence.proxy.async: from now on copies may count at the barriers of the block whose
/// initialisation `thread` has seen.
void fence_made_mbarriers(Thread& thread);
/// The other part of fence.mbarrier_init: later arrivals of `thread` make known the barriers that it has initialised.
void release_made_mbarriers(Thread& thread);
void mbarrier_arrive(Instruction instruction, std::uint32_t address, std::uint32_t expected_bytes);
/// mbarrier.try_wait.parity without a time limit: suspends the thread until the phase of `parity` has ended.
void mbarrier_await(std::uint32_t address, std::uint32_t parity);

/// The barrier at `address` of `block`, for an instruction of `thread`. If there is none, reports that and returns
/// nullptr. Also reports a barrier that another write has overwritten, or whose initialisation is not ordered before
/// the instruction.
Mbarrier* find_mbarrier(Thread& thread, Instruction instruction, Block& block, std::uint32_t address);

}  // namespace hotgemm::emulate
