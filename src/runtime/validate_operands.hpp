#pragma once

#include <hotgemm/operands.hpp>

namespace hotgemm {

/// Whether the caller was compiled with this library's Operands. Other operands go through `known_operands` first.
inline bool has_known_size(const Operands& operands) { return operands.size == sizeof(Operands); }

/// What this library knows of `given`, whose size is another: see Operands. Throws Error{invalid_argument} for a size
/// that no version had, Error{not_supported} where a field that this library does not know is set.
Operands known_operands(const Operands& given);

/// Throws Error{not_supported} that names the first field which no kernel uses yet, and Error{invalid_argument} for a
/// workspace without an address.
void validate_fields(const Operands& operands);

}  // namespace hotgemm
