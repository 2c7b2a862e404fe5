#pragma once

#include "emulate/instruction.hpp"

#include <cstdint>

namespace hotgemm::emulate {

/// Memory is watched in units of two bytes, the smallest access that there is.
inline constexpr int kCellBytes = 2;

/// Who touched a cell last. Epoch 0 is before everything.
struct Access {
  std::uint32_t epoch = 0;
  std::uint16_t thread = 0;  ///< id in the cluster
  Instruction instruction = Instruction::none;
};

/// What is known of one cell of shared memory.
///
/// Of the reads that no later write is ordered after yet, two are kept, of different threads: a writer that is ordered
/// after none of them cannot be both. A read that is ordered before a new one is forgotten, for who is ordered after
/// the new one is ordered after both.
struct Cell {
  Access writer;
  Access readers[2];
  bool is_written = false;
  bool is_in_flight = false;  ///< `writer` is an asynchronous copy that its thread has not waited for
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
