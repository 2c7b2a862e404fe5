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

// Shared memory has 32 banks of four bytes. What a warp accesses is served 128 bytes at a time: eight lanes with 16
// bytes each, or 16 with eight, or 32 with four. Lanes of such a phase that need different words of one bank wait for
// each other.

inline constexpr int kBanks = 32;
inline constexpr int kBankBytes = 4;

/// How many accesses one phase takes, for lanes that access `bytes` each at `addresses`: 1 without conflicts.
int wavefronts(std::span<const std::uint32_t> addresses, int bytes);

/// Adds the phases of one instruction of a warp, lanes in order.
void count_banks(Counters& counters, Instruction instruction, std::span<const std::uint32_t> addresses, int bytes);

/// Puts the cp.async of a warp's lanes together: the i-th of each lane in a group was one instruction.
class CopyBanks {
 public:
  /// `lane` commits its group number `group`, counted from 0, which holds `copies`.
  void commit(Counters& counters, int lane, std::size_t lanes, std::size_t group, std::span<const AsyncCopy> copies);

 private:
  struct Group {
    std::size_t committed = 0;
    std::array<std::vector<AsyncCopy>, 32> copies;  // by lane
  };
  void evaluate(Counters& counters, std::size_t lanes, const Group& group);

  std::deque<Group> groups_;
  std::size_t first_ = 0;  // number of groups_.front()
};

}  // namespace hotgemm::emulate
