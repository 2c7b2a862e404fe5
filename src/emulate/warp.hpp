#pragma once

#include "emulate/bank_counter.hpp"
#include "emulate/thread.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hotgemm::emulate {

inline constexpr int kLanes = 32;

/// An instruction that lanes of a warp execute together and that some of them have reached.
struct WarpCall {
  Instruction instruction;
  std::uint32_t members;      ///< lanes that take part
  std::uint32_t arrived = 0;  ///< lanes that have reached it
  std::array<void*, kLanes> operands{};
};

/// The operands of a lane, which has reached the instruction.
template <class Operands>
Operands& operands_of(const WarpCall& call, std::size_t lane) {
  return *static_cast<Operands*>(call.operands[lane]);
}

/// A warp of 32 threads. The last warp of a block may have fewer.
class Warp {
 public:
  /// Executes the instruction for all members. `call.operands` holds the operands of each lane.
  using Execute = void (*)(Warp& warp, const WarpCall& call);

  std::vector<Thread*> lanes;
  AccessBanks copy_banks;                ///< of cp.async, by groups of copies
  AccessBanks access_banks;              ///< of loads and stores, from barrier to barrier
  std::optional<std::uint32_t> elected;  ///< the lane that elect.sync picks; drawn at the first use
  bool is_laggard = false;               ///< runs only when nothing else happens

  /// Called when a lane reaches an instruction. The last member executes it for all; the others are suspended until
  /// then. `operands` belong to the lane and must outlive the call. Lanes of different warps, and disjoint sets of
  /// lanes of one warp, do not wait for each other.
  void meet(Thread& thread, Instruction instruction, std::uint32_t members, void* operands, Execute execute);

  /// The lanes of the warp as a membermask.
  std::uint32_t all_lanes() const { return static_cast<std::uint32_t>((std::uint64_t{1} << lanes.size()) - 1); }
  /// True if every lane has seen the access. An access of one lane counts as unseen by the others: a warp is in
  /// lockstep only at instructions that say so.
  bool has_seen(const Access& access) const;

  const std::vector<WarpCall>& pending() const { return pending_; }

 private:
  std::vector<WarpCall> pending_;
};

}  // namespace hotgemm::emulate
