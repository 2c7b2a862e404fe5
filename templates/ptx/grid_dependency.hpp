#pragma once

#include "ptx/device.hpp"

// Kernels that begin before the one ahead of them in the stream has ended. Without the launch attribute that allows it
// neither does anything. sm_90 and later.

namespace hotgemm::ptx {

/// Waits until the kernels that this one depends on have ended and what they wrote is seen.
HOTGEMM_DEVICE void griddepcontrol_wait() { HOTGEMM_PTX("griddepcontrol.wait;" ::: "memory"); }
/// The kernels that depend on this one may begin, once all of its blocks have said so or ended.
HOTGEMM_DEVICE void griddepcontrol_launch_dependents() {
  HOTGEMM_PTX("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace hotgemm::ptx
