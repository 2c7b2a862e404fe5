#pragma once

#include "runtime/device_state.hpp"

#include <hotgemm/prepacked.hpp>
#include <hotgemm/types.hpp>

#include <cstdint>

namespace hotgemm {

/// The copy of an operand into its prepacked form. Its parts are validated.
struct Packing {
  Problem problem;
  Operand operand;
  const void* from;
  std::int64_t ld;
  void* to;
};

/// Enqueues the copy on `stream`. The kernel is compiled only if `may_compile`. Throws Error.
void enqueue_packing(DeviceState& device, const Packing& packing, bool may_compile, Stream stream);

}  // namespace hotgemm
