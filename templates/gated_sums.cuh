#pragma once

// The sums of a gated D, of which each element is made from two. An op takes both in place of a sum (fused_sum.cuh).

#include "ptx/device.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"

namespace hotgemm {

/// The two sums, or values, from which an element is made.
template <class Number>
struct GatedSums {
  Number gate;
  Number other;
};
template <class Number>
GatedSums(Number, Number) -> GatedSums<Number>;

/// Sum `index` of an accumulator; or the sums of an element of D, if the second half of the accumulator has the columns
/// that the gate multiplies, `half` sums behind those of the gate.
template <Gate kGate, class Accumulator>
HOTGEMM_DEVICE auto sum_of(const Accumulator& accumulator, int index, int half) {
  if constexpr (kGate == Gate::halves) {
    return GatedSums{accumulator.get(index), accumulator.get(index + half)};
  } else {
    return accumulator.get(index);
  }
}

/// The arguments of a product, but with the columns of D.
template <GemmTraits kTraits>
HOTGEMM_DEVICE decltype(auto) args_of_d(const GemmArgs& args) {
  if constexpr (kTraits.epilogue.is_gated()) {
    GemmArgs of_d = args;
    of_d.n /= 2;
    return of_d;
  } else {
    return (args);
  }
}

}  // namespace hotgemm
