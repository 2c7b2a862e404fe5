#pragma once

#include "gpu/check_kernels.hpp"

#include <functional>
#include <string>

namespace hotgemm {

/// Enqueues one launch on `stream` with alpha 1; beta is 1 if the problem reads C, else 0. Throws Error.
using LaunchOnSet = std::function<void(const OperandSet& set, CUstream stream)>;

/// Enqueues one launch on `stream` with these operands and scalars; C and D may be the same matrix. Throws Error.
using LaunchOperands = std::function<void(const Operands& operands, CUstream stream)>;

/// Runs a kernel on check data in the first set of `pool`, and waits. Returns an empty string for a sound kernel, else
/// "wrong: ..." or "stray write: ...". Throws Error.
///
/// `launch` runs the kernel once. D is filled with NaN before, so that elements which the kernel does not write are
/// found. With `again`, the kernel runs a second time, with scalars other than 1, and in place if the problem reads C.
/// The rest of the pool's memory must not change.
std::string check_exactly(const CheckKernels& checks, const Workload& problem, const OperandPool& pool, unsigned seed,
                          CUstream stream, const LaunchOnSet& launch, const LaunchOperands& again = {});

}  // namespace hotgemm
