#pragma once

#include "emulate/instruction.hpp"

#include <array>
#include <cstdint>

namespace hotgemm::emulate {

/// What a launch executed.
struct Counters {
  struct One {
    std::uint64_t executions = 0;  ///< by warps where is_warp_wide, else by threads
    std::uint64_t phases = 0;      ///< accesses to 128 bytes of shared memory at most, whose banks were looked at
    std::uint64_t conflicts = 0;   ///< further accesses that a phase took because lanes met in a bank
  };

  One& operator[](Instruction i) { return of[static_cast<std::size_t>(i)]; }
  const One& operator[](Instruction i) const { return of[static_cast<std::size_t>(i)]; }

  std::array<One, kInstructions> of{};
  /// Groups of cp.async whose banks were not counted, since lanes of the warp issued different numbers of copies:
  /// which of them went out together is not known then.
  std::uint64_t uneven_copy_groups = 0;
};

}  // namespace hotgemm::emulate
