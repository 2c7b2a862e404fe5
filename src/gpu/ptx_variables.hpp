#pragma once

#include <optional>
#include <set>
#include <string_view>

namespace hotgemm {

/// The names of the variables in global memory that `ptx` declares, if no instruction and no variable of another kind
/// refers to any of them; otherwise nothing. They point into `ptx`.
///
/// NVRTC declares a variable for each constexpr constant of the templates, for a host that might ask for its address.
std::optional<std::set<std::string_view>> unread_variables(std::string_view ptx);

}  // namespace hotgemm
