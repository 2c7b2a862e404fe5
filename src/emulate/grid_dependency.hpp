#pragma once

#include "emulate/thread.hpp"

namespace hotgemm::emulate {

// A kernel that executes griddepcontrol.wait may begin before the kernel ahead of it has ended. All of its accesses to
// global memory then need to be ordered behind that wait, of whichever thread.

/// `thread` accesses global memory.
void touch_global(Thread& thread, Instruction instruction);
/// griddepcontrol.wait. Here it waits for nothing.
void await_dependencies(Thread& thread);
/// The thread has ended, and so has everything that it did.
void report_early_access(Thread& thread);

}  // namespace hotgemm::emulate
