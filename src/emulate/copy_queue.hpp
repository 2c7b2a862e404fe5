#pragma once

#include "emulate/group_queue.hpp"
#include "emulate/instruction.hpp"

#include <cstdint>

namespace hotgemm::emulate {

/// One cp.async.
struct AsyncCopy {
  std::uint32_t shared;
  std::uint64_t global;
  int bytes;        ///< 4, 8 or 16
  int valid_bytes;  ///< bytes read from global memory; the rest is written as zeros
  Instruction instruction;
  bool has_landed = false;
};

using CopyQueue = GroupQueue<AsyncCopy>;

}  // namespace hotgemm::emulate
