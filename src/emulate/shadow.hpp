#pragma once

#include "emulate/instruction.hpp"

#include <cstdint>

namespace hotgemm::emulate {

/// Memory is tracked in cells of two bytes, the smallest access; matrices of smaller elements in cells of one byte.
inline constexpr int kCellBytes = 2;

/// The last access to a cell. Epoch 0 precedes everything.
struct Access {
  std::uint32_t epoch = 0;
  std::uint16_t thread = 0;  ///< id in the cluster
  Instruction instruction = Instruction::none;
};

/// The state of one cell of shared memory.
///
/// A cell keeps two reads of different threads: the reads that no later write is ordered after. A writer that is
/// ordered after none of them conflicts with at least one, because it cannot be both threads. A new read replaces an
/// earlier read that precedes it, because a write that is ordered after the new read is ordered after both.
struct Cell {
  Access writer;
  Access readers[2];
  bool is_written = false;
  bool is_in_flight = false;  ///< `writer` is an asynchronous copy that its thread has not yet waited for
  std::uint8_t next_reader = 0;

  template <class Seen>
  void note_read(const Seen& has_seen, Access access) {
    if (has_seen(readers[0])) {
      readers[0] = access;
    } else if (has_seen(readers[1])) {
      readers[1] = access;
    } else {
      readers[next_reader ^= 1] = access;
    }
  }
  void note_write(Access access) {
    writer = access;
    readers[0] = readers[1] = {};
    is_written = true;
  }
};

}  // namespace hotgemm::emulate
