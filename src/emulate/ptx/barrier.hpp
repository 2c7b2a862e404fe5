#pragma once

#include "emulate/warp_operations.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE void bar_sync() { emulate::bar_sync(0, 0); }

}  // namespace hotgemm::ptx
