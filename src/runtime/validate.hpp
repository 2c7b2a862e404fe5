#pragma once

#include <hotgemm/operands.hpp>
#include <hotgemm/prepacked.hpp>
#include <hotgemm/problem.hpp>

namespace hotgemm {

/// Checks the fields of `problem` in their order. Throws Error{invalid_argument} that names the first bad field: a size
/// that is negative or above kMaxSize, an enumerator that does not exist, a bad count, or a compute type that the
/// element types cannot have. Throws Error{not_supported} for a problem that is valid, but that no kernel computes (see
/// `require_supported`).
void validate(const Problem& problem);

/// Validates the problem. Then throws Error{invalid_argument} for a number that is no alignment class, and for an
/// alignment class below the size of an element or that of a prepacked operand.
void validate(const Workload& workload);

/// Checks the operands of a call, in the order A, B, C, D. Throws Error{invalid_argument} for a leading dimension below
/// its minimum, a matrix that ends beyond the last address, a null pointer where data is needed, and for C and D that
/// are the same matrix with different leading dimensions. A prepacked operand that is not as Context::pack makes it is
/// named first. `problem` must have been validated.
void validate(const Problem& problem, const Operands& operands);

/// Validates the problem, and that `operand` of it can be packed. The problem's own prepacked_a and prepacked_b make no
/// difference.
void validate_operand(const Problem& problem, Operand operand);

/// Checks the arguments of Context::pack. Throws Error{invalid_argument} as for the operands of a call, and for a
/// target that is not aligned, ends beyond the last address or overlaps the matrix.
void validate_packing(const Problem& problem, Operand operand, const void* from, std::int64_t ld, const void* to);

/// True if a call with these operands reads C.
inline bool reads_c(const Operands& o) { return o.beta != 0 || o.beta_device != nullptr; }

/// The hints that `describe` adds to `problem`.
Hints hints_of(const Problem& problem, const Operands& operands);

/// True if rows or matrices of an operand are kMaxTensorStride bytes or more apart. `describe` gives such an operand an
/// alignment class of at most 8 bytes.
bool exceeds_tensor_maps(const Problem& problem, const Operands& operands);

}  // namespace hotgemm
