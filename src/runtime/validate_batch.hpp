#pragma once

#include <hotgemm/operands.hpp>
#include <hotgemm/problem.hpp>

namespace hotgemm {

/// The alignment in bytes of a promise, Operands::batch_align_….
constexpr int promised_alignment(std::int16_t promise) { return promise == 0 ? 16 : promise; }

/// Checks the distances between the matrices of a batch of at least two products, whose leading dimensions are valid.
/// Throws Error{invalid_argument} that names the field: a distance is negative, an end is beyond the last address, or
/// matrices that are written overlap.
void validate_batch(const Problem& problem, const Operands& operands);

/// Checks the arrays of a batch by pointers, likewise, and that no matrix is given in another way. Their addresses are
/// not known before the kernel runs.
void validate_pointers(const Problem& problem, const Operands& operands);

/// Checks the operands that only groups have, likewise. The offsets are not known before the kernel runs.
void validate_groups(const Problem& problem, const Operands& operands);

}  // namespace hotgemm
