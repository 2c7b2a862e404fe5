#pragma once

namespace hotgemm {

/// The niceness of threads that work beside the program's own.
inline constexpr int kBackgroundNiceness = 10;

/// Gives the calling thread at least that niceness. On Linux each thread has its own. If it cannot be set, the thread
/// keeps the priority of the process.
void lower_thread_priority();

}  // namespace hotgemm
