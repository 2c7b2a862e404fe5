#pragma once

// A number of D from a sum: alpha * sum + beta * C.

#include "element_access.cuh"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"

namespace hotgemm {

/// alpha * sum, as a number of D's kind. An s32 D has whole numbers as alpha and beta.
template <GemmTraits kTraits>
HOTGEMM_DEVICE typename ResultOf<kTraits.element_d>::type scaled(const GemmArgs& args,
                                                                 typename NumberOf<kTraits.accumulator>::type sum) {
  using Result = typename ResultOf<kTraits.element_d>::type;
  return product(static_cast<Result>(args.alpha), static_cast<Result>(sum));
}
/// `value` + beta * C. The product is fused with the sum in all families, so that rounding does not depend on the
/// compiler.
template <GemmTraits kTraits>
HOTGEMM_DEVICE typename ResultOf<kTraits.element_d>::type plus_c(const GemmArgs& args,
                                                                 typename ResultOf<kTraits.element_d>::type value,
                                                                 typename ResultOf<kTraits.element_d>::type c) {
  using Result = typename ResultOf<kTraits.element_d>::type;
  return multiply_add(static_cast<Result>(args.beta), c, value);
}

}  // namespace hotgemm
