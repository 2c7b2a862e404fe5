#pragma once

#include "emulate/thread.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE void trap() { emulate::trap(); }

}  // namespace hotgemm::ptx
