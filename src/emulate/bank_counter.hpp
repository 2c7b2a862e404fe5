#pragma once

#include "emulate/counters.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace hotgemm::emulate {

// Shared memory has 32 banks of four bytes. It serves an access of a warp in phases of 128 bytes: eight lanes with 16
// bytes each, or 16 lanes with eight, or 32 with four. If lanes of a phase need different words of one bank, they wait
// for each other.

inline constexpr int kBanks = 32;
inline constexpr int kBankBytes = 4;

/// The number of accesses that one phase takes if its lanes access `bytes` each at `addresses`. It is 1 without
/// conflicts.
int wavefronts(std::span<const std::uint32_t> addresses, int bytes);

/// Adds the phases of one instruction of a warp. `addresses` are in the order of the lanes.
void count_banks(Counters& counters, Instruction instruction, std::span<const std::uint32_t> addresses, int bytes);

/// An access of one lane to shared memory.
struct BankAccess {
  Instruction instruction;
  std::uint32_t shared;
  int bytes;
};

/// Collects accesses of the lanes of a warp that do not run in lockstep here: the i-th accesses of all lanes in a group
/// were one instruction.
class AccessBanks {
 public:
  /// Lane `lane` commits its group with the number `group`, counted from 0. Adds 1 to `uneven` if this completes a
  /// group in which lanes made different accesses; such a group is not counted.
  void commit(Counters& counters, std::uint64_t& uneven, int lane, std::size_t lanes, std::size_t group,
              std::vector<BankAccess> accesses);

 private:
  struct Group {
    std::size_t committed = 0;
    std::array<std::vector<BankAccess>, 32> accesses;  // indexed by lane
  };
  static bool is_even(std::size_t lanes, const Group& group);
  static void evaluate(Counters& counters, std::size_t lanes, const Group& group);

  std::deque<Group> groups_;
  std::size_t first_ = 0;  // the number of the group groups_.front()
};

}  // namespace hotgemm::emulate
