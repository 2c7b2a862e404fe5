#pragma once

#include "gpu/check_kernels.hpp"

#include <functional>
#include <string>

namespace hotgemm {

/// Enqueues one launch on `stream`, with alpha 1, and beta 1 where the problem reads C. Throws Error.
using LaunchOnSet = std::function<void(const OperandSet& set, CUstream stream)>;

/// Runs `launch` once on check data in the first set of `pool`, and waits. D is NaN before, so that a kernel that
/// writes nothing, or not everything, is wrong; whatever else lies in the pool's memory must be as it was. Empty for a
/// sound kernel, else "wrong: ..." or "stray write: ...". Throws Error.
std::string check_exactly(const CheckKernels& checks, const Workload& problem, const OperandPool& pool, unsigned seed,
                          CUstream stream, const LaunchOnSet& launch);

}  // namespace hotgemm
