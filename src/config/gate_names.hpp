#pragma once

#include <string>
#include <string_view>

namespace hotgemm {

/// The words that a usual name of a gated activation stands for: "silu+gated:interleaved" for "swiglu:interleaved". Any
/// other word of an epilogue is returned as it is.
std::string without_gate_name(std::string_view word);

}  // namespace hotgemm
