#pragma once

#include "config/kernel_source.hpp"

#include <cstdint>
#include <optional>

namespace hotgemm {

/// The memory of a kernel that its registers and shared memory leave out.
struct CubinMemory {
  std::int64_t stack_bytes = 0;     ///< of each thread, in local memory
  std::int64_t constant_bytes = 0;  ///< of bank 0: what the driver keeps there, and the kernel's arguments
  /// Bytes that the instructions which store to local memory, or load from it, move when each of them runs once. ptxas
  /// counts spills in the same way.
  std::int64_t local_store_bytes = 0;
  std::int64_t local_load_bytes = 0;

  friend bool operator==(const CubinMemory&, const CubinMemory&) = default;
};

/// The memory that the kernel takes, by the image of `cubin`. Nothing if the image is not an ELF file with its
/// sections.
std::optional<CubinMemory> cubin_memory(const Cubin& cubin);

}  // namespace hotgemm
