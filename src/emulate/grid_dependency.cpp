#include "emulate/grid_dependency.hpp"

#include "emulate/block.hpp"

#include <algorithm>

namespace hotgemm::emulate {

void touch_global(Thread& thread, Instruction instruction) {
  if (thread.is_behind_dependencies || thread.first_global != Instruction::none) return;
  thread.is_behind_dependencies = std::ranges::any_of(thread.block->cluster().dependency_waits(),
                                                      [&](const Access& wait) { return thread.has_seen(wait); });
  if (!thread.is_behind_dependencies) thread.first_global = instruction;
}

void await_dependencies(Thread& thread) {
  count(thread, Instruction::griddepcontrol_wait);
  thread.is_behind_dependencies = true;
  thread.block->cluster().dependency_waits().push_back(thread.access(Instruction::griddepcontrol_wait));
}

void report_early_access(Thread& thread) {
  if (thread.first_global == Instruction::none || thread.block->cluster().dependency_waits().empty()) return;
  report(thread, {.hazard = Hazard::conflict,
                  .instruction = thread.first_global,
                  .other = Instruction::griddepcontrol_wait,
                  .detail = "it is not ordered after griddepcontrol.wait: the previous kernel may not have ended"});
}

}  // namespace hotgemm::emulate
