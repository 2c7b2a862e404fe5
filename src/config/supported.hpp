#pragma once

#include <hotgemm/problem.hpp>

namespace hotgemm {

/// True if kernels of this version compute `problem`; also false for values outside the enumerations.
bool is_supported(const Problem& problem) noexcept;

/// Throws Error{not_supported} that names the first part of `problem` that no kernel of this version computes: "batch
/// of 4 is not supported yet: …". `problem` has only values that exist.
void require_supported(const Problem& problem);

/// Throws it for a problem with its hints, too.
void require_supported(const Workload& workload);
/// Throws Error{not_supported} if `problem` has a gate and C is read.
void require_no_c_with_gate(const Problem& problem, bool reads_c);

/// Throws Error{not_supported} if `problem` has an epilogue with more than scales of blocks. Single configs are
/// measured on the product that is recorded: a record serves all fused kernels.
void require_measured_product(const Workload& problem);

}  // namespace hotgemm
