#pragma once

#include <hotgemm/operands.hpp>
#include <hotgemm/problem.hpp>

namespace hotgemm {

/// Throws Error{invalid_argument} that names the first bad argument: sizes (negative, or above kMaxSize), enumerators
/// that do not exist, counts, a compute type that its elements cannot have. Then Error{not_supported} for a problem
/// that is meaningful, but that no kernel computes (see `require_supported`). In the order of Problem's fields.
void validate(const Problem& problem);

/// validate of the problem, then Error{invalid_argument} for alignment classes that are none, or below one element.
void validate(const Workload& workload);

/// The same for a call: leading dimensions below their minimum, matrices that span more than there are addresses, null
/// pointers where data is needed, D in place with another leading dimension. In the order A, B, C, D. `problem` has
/// been validated.
void validate(const Problem& problem, const Operands& operands);

/// The hints that `describe` adds to a problem of these types.
Hints hints_of(const Types& types, const Operands& operands);

/// Whether rows of an operand are kMaxTensorStride bytes or more apart. `describe` gives such an operand an alignment
/// class of at most 8 bytes.
bool exceeds_tensor_maps(const Problem& problem, const Operands& operands);

}  // namespace hotgemm
