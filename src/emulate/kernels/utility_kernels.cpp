#include "emulate/kernels/utility_kernels.hpp"

#include "ceiling.cuh"
#include "check.cuh"

namespace hotgemm::emulate {

void run_fill(const FillArgs& args) { fill(args); }
void run_check(const CheckArgs& args) { check(args); }
void run_ceiling(const CeilingArgs& args) { ceiling(args); }

}  // namespace hotgemm::emulate
