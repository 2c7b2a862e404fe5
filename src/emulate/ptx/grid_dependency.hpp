#pragma once

#include "emulate/grid_dependency.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE void griddepcontrol_wait() { emulate::await_dependencies(emulate::this_thread()); }
HOTGEMM_DEVICE void griddepcontrol_launch_dependents() {
  emulate::count(emulate::this_thread(), emulate::Instruction::griddepcontrol_launch_dependents);
}

}  // namespace hotgemm::ptx
