#pragma once

namespace hotgemm {

/// From here on, children of fork() know that CUDA is lost to them. Idempotent.
void watch_for_fork();
/// Whether this process is a child of one that had called watch_for_fork().
bool is_forked_child() noexcept;

}  // namespace hotgemm
