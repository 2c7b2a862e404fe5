#pragma once

#include "emulate/thread.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// A barrier in a block's shared memory, that counts arrivals and the bytes of bulk copies.
class Mbarrier {
 public:
  /// `maker` makes it, at `address` of its block.
  Mbarrier(Thread& maker, std::uint32_t address, std::uint32_t arrivals);

  std::uint32_t address() const { return address_; }
  std::uint16_t agent() const { return agent_; }  ///< whose accesses the copies are that are counted here
  const Access& made() const { return made_; }
  bool is_fenced() const { return is_fenced_; }
  void fence() { is_fenced_ = true; }

  /// As an access of the agent: a copy that lands now.
  Access landing(Instruction instruction) const { return {phase_ + 1, agent_, instruction}; }
  void arrive(Thread& thread, Instruction instruction, std::uint32_t expected_bytes);
  void complete_bytes(int bytes);

  bool has_ended(std::uint32_t parity) const { return phase_ % 2 != parity; }
  /// What a thread has seen that finds a phase ended.
  const View& released() const { return released_; }
  void add_waiting(Thread& thread) { waiting_.push_back(&thread); }
  const std::vector<Thread*>& waiting() const { return waiting_; }
  /// "phase 3 lacks 1 of 2 arrivals and 512 bytes".
  std::string state() const;

 private:
  void end_phase_if_complete();

  Block& block_;
  std::uint32_t address_;
  std::uint16_t agent_;
  Access made_;
  bool is_fenced_ = false;            // the async proxy sees that it has been made
  std::uint32_t expected_, pending_;  // arrivals of a phase
  std::int64_t bytes_ = 0;            // expected and not yet come
  std::uint32_t phase_ = 0;
  View released_;
  std::vector<Arrival> arrivals_;
  std::vector<Thread*> waiting_;
};

// What the instructions do, for the thread that runs. Addresses are of its own block, or of any where mapa has made
// them.

void mbarrier_init(std::uint32_t address, std::uint32_t arrivals);
/// fence.mbarrier_init, fence.proxy.async: copies may count at the barriers that this thread has made.
void fence_made_mbarriers(Thread& thread);
void mbarrier_arrive(Instruction instruction, std::uint32_t address, std::uint32_t expected_bytes);
/// mbarrier.try_wait.parity that has all the time it needs: suspends the thread until the phase of `parity` has ended.
void mbarrier_await(std::uint32_t address, std::uint32_t parity);

/// The barrier at `address` of `block`, for an instruction of `thread`; nullptr, and reported, if there is none or
/// nothing orders its making before this.
Mbarrier* find_mbarrier(Thread& thread, Instruction instruction, Block& block, std::uint32_t address);

}  // namespace hotgemm::emulate
