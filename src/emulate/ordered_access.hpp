#pragma once

#include "emulate/access.hpp"

#include <cstdint>
#include <functional>

namespace hotgemm::emulate {

// Atomic accesses to 32 bits of global memory that order threads of different clusters. All that a thread has done and
// seen before an access that releases precedes all that a thread does after an access to the same address that
// acquires.

/// atom.acq_rel: stores change(old), releases and acquires. Returns the old value.
std::uint32_t exchange_ordered(Instruction instruction, std::uint64_t address,
                               const std::function<std::uint32_t(std::uint32_t)>& change);

/// atom.relaxed: the same without any order.
std::uint32_t exchange_relaxed(Instruction instruction, std::uint64_t address,
                               const std::function<std::uint32_t(std::uint32_t)>& change);

/// ld.acquire. Other clusters may run before the thread goes on, since a kernel may call this until a value changes.
std::uint32_t load_acquire(Instruction instruction, std::uint64_t address);

}  // namespace hotgemm::emulate
