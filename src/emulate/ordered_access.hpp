#pragma once

#include "emulate/access.hpp"

#include <cstdint>
#include <functional>

namespace hotgemm::emulate {

// Atomic accesses to 32 bits of global memory that order threads of different clusters. If one thread releases an
// address and another acquires it, all that the first has done and seen before comes before all that the second does
// afterwards.

/// atom.acq_rel: stores change(old), releases and acquires. Returns the old value.
std::uint32_t exchange_ordered(Instruction instruction, std::uint64_t address,
                               const std::function<std::uint32_t(std::uint32_t)>& change);

/// atom.relaxed: the same without any order.
std::uint32_t exchange_relaxed(Instruction instruction, std::uint64_t address,
                               const std::function<std::uint32_t(std::uint32_t)>& change);

/// ld.acquire. Other clusters may run before the thread goes on, since a kernel may call this until a value changes.
std::uint32_t load_acquire(Instruction instruction, std::uint64_t address);

}  // namespace hotgemm::emulate
