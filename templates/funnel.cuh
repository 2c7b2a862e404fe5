#pragma once

#include "ptx/device.hpp"

namespace hotgemm {

/// The 32 bits that begin `bits` after the beginning of `low`; `high` follows `low`. `bits` is below 32.
HOTGEMM_DEVICE u32 funnel(u32 low, u32 high, u32 bits) {
  return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> bits);
}

}  // namespace hotgemm
