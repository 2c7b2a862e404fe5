#pragma once

#include "gpu/check_kernels.hpp"

#include <functional>
#include <string>

namespace hotgemm {

/// Enqueues one launch on `stream`, with alpha 1, and beta 1 where the problem reads C. Throws Error.
using LaunchOnSet = std::function<void(const OperandSet& set, CUstream stream)>;

/// Enqueues one launch on `stream` with these operands and scalars; C and D may be the same matrix. Throws Error.
using LaunchOperands = std::function<void(const Operands& operands, CUstream stream)>;

/// Runs a kernel on check data in the first set of `pool`, and waits. Empty for a sound kernel, else "wrong: ..." or
/// "stray write: ...". Throws Error.
///
/// `launch` runs it once. D is NaN before, so that a kernel that writes nothing, or not everything, is wrong. With
/// `again`, it runs once more, with other scalars than 1, and in place where the problem reads C. Whatever else lies in
/// the pool's memory must be as it was.
std::string check_exactly(const CheckKernels& checks, const Workload& problem, const OperandPool& pool, unsigned seed,
                          CUstream stream, const LaunchOnSet& launch, const LaunchOperands& again = {});

}  // namespace hotgemm
