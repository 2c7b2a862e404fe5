#pragma once

#include <hotgemm/hotgemm.h>
#include <hotgemm/prepacked.hpp>
#include <hotgemm/types.hpp>

namespace hotgemm::c {

/// The C++ values of what a caller passes. Throw Error{invalid_argument, not_supported} that name the field.
Problem problem_of(const hotgemm_problem* given);
/// Returns the memory of `given`: both interfaces have one struct, and one rule for its size, which the calls of C++
/// apply.
const Operands& operands_of(const hotgemm_operands* given);
/// The workload of a call with these operands; packed ones if `operands` is null.
Workload workload_of(const hotgemm_problem* problem, const hotgemm_operands* operands);
Operand operand_of(std::int32_t number);

}  // namespace hotgemm::c
