#pragma once

#include "config/repack.hpp"

#include <hotgemm/prepacked.hpp>

#include <cstddef>
#include <cstdint>

namespace hotgemm {

// A prepacked operand is the aligned copy that a launch makes of a ragged operand (config/repack.hpp), made once. For
// the kernels it is a plain matrix of alignment class 16: hints say so, and a prepacked problem is planned, tuned and
// recorded as the problem with these hints. Only the checks of operands, and their text, know the difference.

/// The alignment of the rows and the address of a prepacked operand, in bytes.
inline constexpr int kPrepackedAlignment = 16;

/// Only operands of 16-bit elements are prepacked: `wgmma` reads others with k contiguous, which a copy as stored need
/// not be.
inline constexpr int kPrepackedElementBytes = 2;

constexpr bool is_prepacked(const Problem& p) { return p.prepacked_a || p.prepacked_b; }

/// True for elements that can be packed.
constexpr bool can_be_prepacked(DType element) { return size_bytes(element) == kPrepackedElementBytes; }

constexpr StoredShape stored_shape(const Problem& p, Operand operand) {
  return operand == Operand::a ? stored_a(p.m, p.k, p.op_a == Op::n) : stored_b(p.n, p.k, p.op_b == Op::t);
}

/// The size of an operand of this shape.
PrepackedSize prepacked_size(const StoredShape& shape);

/// The class member of `problem`: the same computation, in which no operand is called prepacked.
Workload as_aligned(Workload problem);

/// `problem` before its operands were packed: their rows have no gaps.
Workload before_packing(const Workload& problem);

}  // namespace hotgemm
