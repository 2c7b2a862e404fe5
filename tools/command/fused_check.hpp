#pragma once

#include "gpu/check_kernels.hpp"

#include <functional>
#include <string>

namespace hotgemm::command {

/// Enqueues one launch of a fused kernel on the operands of the set, with these scalars. Throws Error.
using LaunchFused = std::function<void(float alpha, float beta)>;

/// Runs a fused kernel on check data, waits, and compares D, the auxiliary output and amax with the chain of operations
/// in f64, computed on the host from the exact sums. Returns an empty string if all elements that were looked at lie
/// within the error of the chain, else "N of M elements are wrong, …". Throws Error.
///
/// A function of a user has no reference on the host: D and amax are then not looked at.
///
/// The sums are small, so that most activations are curved where they lie; bias, residual and scales are random. All
/// columns of up to 2^21 elements' rows are looked at: each row, or rows at one odd distance, and the last one.
std::string check_fused(const Driver& driver, const CheckKernels& checks, const Workload& problem,
                        const OperandSet& set, unsigned seed, CUstream stream, const LaunchFused& launch);

}  // namespace hotgemm::command
