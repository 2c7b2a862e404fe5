#pragma once

// The default op of the epilogue: D = alpha * sum + beta * C.

#include "ptx/element.hpp"
#include "ptx/math.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"

namespace hotgemm {

/// An op of the epilogue. Every op has the same members as this one. An op is also called for elements beyond the edge
/// of D, which are not stored; it must not read memory there.
template <GemmTraits kTraits>
struct ScaledSum {
  static constexpr bool kReadsC = kTraits.reads_c;

  /// The element of D at row and column `at` and its right neighbour, packed; or the element below it if the config is
  /// transposed. `c` holds the same two elements of C. The product with beta is fused with the sum, as in all families,
  /// so that rounding does not depend on the compiler.
  static HOTGEMM_DEVICE u32 pair(const GemmArgs& args, float low, float high, u32 c, Element2d at) {
    static_cast<void>(at);
    low *= args.alpha;
    high *= args.alpha;
    if constexpr (kReadsC) {
      low = ptx::fma_rn(args.beta, ptx::widen<kTraits.element>(static_cast<u16>(c)), low);
      high = ptx::fma_rn(args.beta, ptx::widen<kTraits.element>(static_cast<u16>(c >> 16)), high);
    }
    return ptx::narrow_pair<kTraits.element>(low, high);
  }
};

}  // namespace hotgemm
