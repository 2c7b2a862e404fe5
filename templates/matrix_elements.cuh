#pragma once

#include "ptx/device.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

/// An element of each matrix that an epilogue reads beside C; or the bits of two, or a thread's part of a piece.
template <class T>
struct MatrixElements {
  T residual = {};
  T auxiliary = {};
  T operands[EpilogueFunction::kMostOperands] = {};  ///< of the user's function

  /// The result of `use` for each.
  template <class Use>
  HOTGEMM_DEVICE auto each(Use&& use) const {
    MatrixElements<decltype(use(residual))> made = {use(residual), use(auxiliary)};
#pragma unroll
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) made.operands[i] = use(operands[i]);
    return made;
  }
};

}  // namespace hotgemm
