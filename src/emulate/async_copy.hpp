#pragma once

#include "emulate/thread.hpp"

namespace hotgemm::emulate {

// cp.async. A copy reads its source and writes its destination at a moment between its issue and the end of the wait
// that covers it, which the run's seed draws.

/// `copy` is issued by `thread`.
void issue_copy(Thread& thread, const AsyncCopy& copy);
/// cp.async.commit_group.
void commit_copies(Thread& thread);
/// cp.async.wait_group: all groups but the last `pending` end.
void await_copies(Thread& thread, std::size_t pending);
/// Time passes for `thread`.
void land_some_copies(Thread& thread);

}  // namespace hotgemm::emulate
