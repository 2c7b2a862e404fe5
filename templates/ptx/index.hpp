#pragma once

#include "ptx/device.hpp"

// Special registers: the position of this thread and block.

namespace hotgemm::ptx {

/// %tid.x, masked to its range: the compiler then knows that it is small and non-negative, and folds index arithmetic.
HOTGEMM_DEVICE int thread_index() {
  u32 value = 0;
  HOTGEMM_PTX_PURE("mov.u32 %0, %%tid.x;" : "=r"(value));
  return static_cast<int>(value & 1023u);
}

/// The same, read each time that it is called: the compiler keeps nothing that it has computed from another call.
HOTGEMM_DEVICE int thread_index_again() {
  u32 value = 0;
  HOTGEMM_PTX("mov.u32 %0, %%tid.x;" : "=r"(value));
  return static_cast<int>(value & 1023u);
}

/// %ctaid.x
HOTGEMM_DEVICE u32 block_index() {
  u32 value = 0;
  HOTGEMM_PTX_PURE("mov.u32 %0, %%ctaid.x;" : "=r"(value));
  return value;
}

/// %nctaid.x
HOTGEMM_DEVICE u32 grid_size() {
  u32 value = 0;
  HOTGEMM_PTX_PURE("mov.u32 %0, %%nctaid.x;" : "=r"(value));
  return value;
}

}  // namespace hotgemm::ptx
