#pragma once

#include "ptx/device.hpp"

namespace hotgemm::ptx {

/// bar.sync 0: all threads of the block wait for each other; each then sees what the others wrote to shared memory
/// before.
HOTGEMM_DEVICE void bar_sync() { HOTGEMM_PTX("bar.sync 0;" ::: "memory"); }

}  // namespace hotgemm::ptx
