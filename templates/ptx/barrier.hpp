#pragma once

#include "ptx/device.hpp"

namespace hotgemm::ptx {

/// bar.sync 0: every thread of the block arrives, and shared memory written before is seen after.
HOTGEMM_DEVICE void bar_sync() { HOTGEMM_PTX("bar.sync 0;" ::: "memory"); }

}  // namespace hotgemm::ptx
