#pragma once

#include "ptx/device.hpp"

namespace hotgemm::ptx {

/// elect.sync: true for one lane of a complete warp, always the same lane. sm_90 and later.
HOTGEMM_DEVICE bool elect_sync() {
  u32 elected = 0;
  HOTGEMM_PTX("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected)::"memory");
  return elected != 0;
}

}  // namespace hotgemm::ptx
