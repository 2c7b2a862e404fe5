#pragma once

#include <hotgemm/problem.hpp>

#include <string>
#include <string_view>

// The epilogue of a problem as text: words with + between them, as in "bias+gelu+residual".

namespace hotgemm {

/// The words of the epilogue in the order of its fields; empty without an epilogue.
std::string epilogue_text(const Epilogue& epilogue);

/// Inverse of epilogue_text. The words may have any order, and the gates their usual names. Throws
/// Error{invalid_argument}.
Epilogue parse_epilogue(std::string_view text);

}  // namespace hotgemm
