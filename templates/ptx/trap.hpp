#pragma once

#include "ptx/device.hpp"

namespace hotgemm::ptx {

/// Ends the grid with an error.
HOTGEMM_DEVICE void trap() { HOTGEMM_PTX("trap;"); }

}  // namespace hotgemm::ptx
