#pragma once

namespace hotgemm {

/// Marks the children of later fork() calls, because CUDA does not work in them. Repeated calls have no effect.
void watch_for_fork();
/// True in a process that was forked after watch_for_fork() had been called.
bool is_forked_child() noexcept;

}  // namespace hotgemm
