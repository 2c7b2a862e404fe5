#pragma once

#include "emulate/thread.hpp"

namespace hotgemm::emulate {

// cp.async. A copy reads its source and writes its destination at some moment between its issue and the end of the wait
// that covers it. The seed of the run draws the moment.

/// Issues `copy` for `thread`.
void issue_copy(Thread& thread, const AsyncCopy& copy);
/// cp.async.commit_group.
void commit_copies(Thread& thread);
/// cp.async.wait_group: completes all groups but the last `pending`.
void await_copies(Thread& thread, std::size_t pending);
/// Completes a random copy in flight of `thread`, or none.
void land_some_copies(Thread& thread);

}  // namespace hotgemm::emulate
