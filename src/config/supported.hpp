#pragma once

#include <hotgemm/problem.hpp>

namespace hotgemm {

/// Whether kernels of this version compute `problem`; false also for a value that does not exist.
bool is_supported(const Problem& problem) noexcept;

/// Throws Error{not_supported} that names the first part of `problem` that no kernel of this version computes: "batch
/// of 4 is not supported yet: …". `problem` has only values that exist.
void require_supported(const Problem& problem);

}  // namespace hotgemm
