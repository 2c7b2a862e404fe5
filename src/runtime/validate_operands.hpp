#pragma once

#include <hotgemm/operands.hpp>
#include <hotgemm/problem.hpp>

namespace hotgemm {

/// True if the caller was compiled with this library's Operands. Other operands must go through `known_operands` first.
inline bool has_known_size(const Operands& operands) { return operands.size == sizeof(Operands); }

/// The part of `given` that this library knows; `given` has the size of another version (see Operands). Throws
/// Error{invalid_argument} for a size that no version had, and Error{not_supported} if a field that this library does
/// not know is set.
Operands known_operands(const Operands& given);

/// Throws Error{not_supported} if a field is set that no kernel uses yet, and Error{invalid_argument} if one is set
/// that the problem's epilogue does not use; the message names the first such field. Throws Error{invalid_argument} for
/// a workspace without an address.
void validate_fields(const Problem& problem, const Operands& operands);

}  // namespace hotgemm
