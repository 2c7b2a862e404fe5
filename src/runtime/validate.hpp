#pragma once

#include <hotgemm/types.hpp>

namespace hotgemm {

/// Throws Error{invalid_argument} that names the first bad argument: sizes (negative, or above kMaxSize), types that
/// do not go together (not_supported), alignment classes. In the order m, n, k, ops, types, alignment.
void validate(const Problem& problem);

/// The same for a call: leading dimensions below their minimum, matrices that span more than there are addresses, null
/// pointers where data is needed, D in place with another leading dimension. In the order A, B, C, D. `problem` has
/// been validated.
void validate(const Problem& problem, const Operands& operands);

/// Whether rows of an operand are kMaxTensorStride bytes or more apart. `describe` gives such an operand an alignment
/// class of at most 8 bytes.
bool exceeds_tensor_maps(const Problem& problem, const Operands& operands);

}  // namespace hotgemm
