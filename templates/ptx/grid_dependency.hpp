#pragma once

#include "ptx/device.hpp"

// Instructions for kernels that begin before the preceding kernel in the stream has ended. Both have no effect unless a
// launch attribute allows such a start. sm_90 and later.

namespace hotgemm::ptx {

/// Waits until the kernels that this one depends on have ended and their writes are visible.
HOTGEMM_DEVICE void griddepcontrol_wait() { HOTGEMM_PTX("griddepcontrol.wait;" ::: "memory"); }
/// Lets dependent kernels begin when all blocks of this kernel have called this function or ended.
HOTGEMM_DEVICE void griddepcontrol_launch_dependents() {
  HOTGEMM_PTX("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace hotgemm::ptx
