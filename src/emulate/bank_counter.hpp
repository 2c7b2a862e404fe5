#pragma once

#include "emulate/copy_queue.hpp"
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

/// Collects the cp.async of the lanes of a warp: the i-th copies of all lanes in a group were one instruction.
class CopyBanks {
 public:
  /// Lane `lane` commits its group with the number `group`, counted from 0, which holds `copies`.
  void commit(Counters& counters, int lane, std::size_t lanes, std::size_t group, std::span<const AsyncCopy> copies);

 private:
  struct Group {
    std::size_t committed = 0;
    std::array<std::vector<AsyncCopy>, 32> copies;  // indexed by lane
  };
  void evaluate(Counters& counters, std::size_t lanes, const Group& group);

  std::deque<Group> groups_;
  std::size_t first_ = 0;  // the number of the group groups_.front()
};

}  // namespace hotgemm::emulate
