#pragma once

#include "emulate/instruction.hpp"

#include <array>
#include <cstdint>

namespace hotgemm::emulate {

/// Counts of the instructions that a launch executed.
struct Counters {
  struct One {
    std::uint64_t executions = 0;  ///< counted per warp if is_warp_wide, else per thread
    std::uint64_t phases = 0;      ///< phases of at most 128 bytes of shared memory that were checked for conflicts
    std::uint64_t conflicts = 0;   ///< extra accesses of these phases because of bank conflicts
  };

  One& operator[](Instruction i) { return of[static_cast<std::size_t>(i)]; }
  const One& operator[](Instruction i) const { return of[static_cast<std::size_t>(i)]; }

  std::array<One, kInstructions> of{};
  /// Groups of cp.async whose bank conflicts were not counted. Lanes of the warp issued different numbers of copies, so
  /// it is unknown which copies were one instruction.
  std::uint64_t uneven_copy_groups = 0;
  /// Loads and stores of a warp between two barriers whose conflicts were not counted. Those of lanes whose branches
  /// differ are uneven.
  std::uint64_t uneven_accesses = 0;
};

}  // namespace hotgemm::emulate
