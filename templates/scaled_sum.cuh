#pragma once

// The default op of the epilogue: D = alpha * sum + beta * C.

#include "pair_access.cuh"
#include "ptx/element.hpp"
#include "scaled_number.cuh"
#include "shared/fragment.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"

namespace hotgemm {

/// An op computes results from sums. Every op has the same members as this one. An op is also called for elements
/// beyond the edge of D, which are not stored; it must not read memory there.
template <GemmTraits kTraits>
struct ScaledSum {
  static constexpr bool kReadsC = kTraits.reads_c;
  static constexpr int kMatrices = kReadsC ? 1 : 0;  ///< that the op reads
  static constexpr bool kMayReadD = kMatrices > 0;   ///< D may be one of them
  static constexpr bool kOnceOnly = kMayReadD;       ///< an element may be computed once only
  static constexpr bool kHasGroups = false;          ///< the caller of `pair` says where groups of pairs begin and end
  static constexpr bool kNeedsNeighbours = false;    ///< lanes call together, whether or not their elements are in D
  static constexpr bool kHoldsVectors = false;       ///< a caller of begin_pair calls hold_vectors before
  using Sum = typename NumberOf<kTraits.accumulator>::type;
  using Result = typename ResultOf<kTraits.element_d>::type;

  /// The operands besides C: none.
  struct Source {
    template <class Args>
    HOTGEMM_DEVICE explicit Source(const Args&) {}
    template <class Args, class Product>
    HOTGEMM_DEVICE Source(const Args&, const Product&) {}
  };
  HOTGEMM_DEVICE ScaledSum(const GemmArgs&, const Source&) {}
  HOTGEMM_DEVICE Element2d begin_part(Element2d first) const { return first; }
  static HOTGEMM_DEVICE void begin_pair(int, int) {}

  /// An op that reads matrices beside C is given their elements (MatrixElements), if the caller loads them.
  struct NoMatrices {
    template <class Use>
    HOTGEMM_DEVICE NoMatrices each(Use&&) const {
      return {};
    }
  };
  template <class T>
  using Matrices = NoMatrices;
  template <class Use>
  static HOTGEMM_DEVICE void for_each_matrix(const Source&, NoMatrices&, Use&&) {}

  /// The element of D at row and column `at`, not yet rounded to its type, from a sum and the element of C.
  static HOTGEMM_DEVICE Result value(const GemmArgs& args, Sum sum, Result c, Element2d at) {
    static_cast<void>(at);
    const Result value = scaled<kTraits>(args, sum);
    if constexpr (!kReadsC) return value;
    return plus_c<kTraits>(args, value, c);
  }

  /// Both elements of a pair, as value() gives them: that at `at`, and its right neighbour; or the element below it if
  /// the config is transposed.
  static HOTGEMM_DEVICE NumberPair<kTraits.element_d> numbers(const GemmArgs& args, Sum low, Sum high,
                                                              const NumberPair<kTraits.element_d>& c, Element2d at) {
    return {value(args, low, c.low, at), value(args, high, c.high, at)};
  }
  static HOTGEMM_DEVICE NumberPair<kTraits.element_d> numbers(const GemmArgs& args, Sum low, Sum high,
                                                              const NumberPair<kTraits.element_d>& c, NoMatrices,
                                                              Element2d at) {
    return numbers(args, low, high, c, at);
  }

  /// For a D of 16-bit elements: the element at `at` and its right neighbour, packed; or the element below it if the
  /// config is transposed. `c` holds the same two elements of C.
  static HOTGEMM_DEVICE u32 pair(const GemmArgs& args, Sum low, Sum high, u32 c, Element2d at) {
    static_cast<void>(at);
    Result first = scaled<kTraits>(args, low), second = scaled<kTraits>(args, high);
    if constexpr (kReadsC) {
      first = plus_c<kTraits>(args, first, ptx::widen<kTraits.element_d>(static_cast<u16>(c)));
      second = plus_c<kTraits>(args, second, ptx::widen<kTraits.element_d>(static_cast<u16>(c >> 16)));
    }
    return ptx::narrow_pair<kTraits.element_d>(first, second);
  }
  static HOTGEMM_DEVICE u32 pair(const GemmArgs& args, Sum low, Sum high, u32 c, NoMatrices, Element2d at) {
    return pair(args, low, high, c, at);
  }
};

}  // namespace hotgemm
