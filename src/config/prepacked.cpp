#include "config/prepacked.hpp"

namespace hotgemm {

PrepackedSize prepacked_size(const StoredShape& shape) {
  const OperandCopy copy{.shape = shape, .element_bytes = kPrepackedElementBytes};
  return {.bytes = repacked_bytes(copy), .ld = copy.ld()};
}

Workload as_aligned(Workload problem) {
  problem.prepacked_a = problem.prepacked_b = false;
  return problem;
}

Workload before_packing(const Workload& problem) {
  Workload original = as_aligned(problem);
  const Hints packed = packed_hints(original);
  if (problem.prepacked_a) original.hints.align_a = packed.align_a;
  if (problem.prepacked_b) original.hints.align_b = packed.align_b;
  return original;
}

}  // namespace hotgemm
