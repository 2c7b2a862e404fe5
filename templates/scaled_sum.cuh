#pragma once

// What a GEMM without an epilogue of its own computes.

#include "ptx/element.hpp"
#include "ptx/math.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"

namespace hotgemm {

/// An op of the epilogue: alpha * sum + beta * C. Another op has the same members. An op is also called for elements
/// beyond the edge of D, which are not stored: it must not read memory there.
template <GemmTraits kTraits>
struct ScaledSum {
  static constexpr bool kReadsC = kTraits.reads_c;

  /// The elements of D at row and column `at`, and right of it, packed; `c` are those of C. The product with beta is
  /// fused with the sum, as in all families: the compiler is not left the choice of what to round.
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
