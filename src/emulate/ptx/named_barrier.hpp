#pragma once

#include "emulate/warp_operations.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE void bar_sync(int barrier, int threads) { emulate::bar_sync(barrier, threads); }
HOTGEMM_DEVICE void bar_arrive(int barrier, int threads) { emulate::bar_arrive(barrier, threads); }

}  // namespace hotgemm::ptx
