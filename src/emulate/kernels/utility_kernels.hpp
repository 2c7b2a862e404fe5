#pragma once

#include "shared/ceiling_args.hpp"
#include "shared/check_data.hpp"
#include "shared/repack_args.hpp"

namespace hotgemm::emulate {

// The thread functions of the kernels that are not a GEMM.

void run_fill(const FillArgs& args);
void run_check(const CheckArgs& args);
void run_repack(const RepackArgs& args);
void run_ceiling(const CeilingKind& kind, const CeilingArgs& args);

}  // namespace hotgemm::emulate
