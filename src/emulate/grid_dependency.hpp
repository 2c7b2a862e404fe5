#pragma once

#include "emulate/thread.hpp"

namespace hotgemm::emulate {

// A kernel that executes griddepcontrol.wait may start before the previous kernel has ended. All its accesses to global
// memory, by any thread, must then be ordered after that wait.

/// Notes that `thread` accesses global memory.
void touch_global(Thread& thread, Instruction instruction);
/// griddepcontrol.wait. The emulated device has nothing to wait for.
void await_dependencies(Thread& thread);
/// Called when the thread and all its operations have ended.
void report_early_access(Thread& thread);

}  // namespace hotgemm::emulate
