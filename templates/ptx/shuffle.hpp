#pragma once

#include "ptx/device.hpp"

namespace hotgemm::ptx {

/// Two shfl.sync.bfly.b32: the value of the lane whose number differs by `mask` in its bits. All lanes take part.
HOTGEMM_DEVICE u64 shfl_xor_b64(u64 value, int mask) {
  u32 low = static_cast<u32>(value), high = static_cast<u32>(value >> 32);
  HOTGEMM_PTX("shfl.sync.bfly.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(low) : "r"(mask));
  HOTGEMM_PTX("shfl.sync.bfly.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(high) : "r"(mask));
  return static_cast<u64>(high) << 32 | low;
}

}  // namespace hotgemm::ptx
