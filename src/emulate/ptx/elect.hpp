#pragma once

#include "emulate/warp_operations.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE bool elect_sync() { return emulate::elect_sync(); }

}  // namespace hotgemm::ptx
