#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The name or label in the table of rungs of what the material calls `name`: without the parentheses of its tables and
/// the `_kernel` of its functions, and with the name that the table has for several that are one kernel here. Any other
/// text is returned as it is.
std::string rung_name(std::string_view name);

/// Words of a list that was split at commas, with the commas of names such as `mm_mma_int8<16,16,128,1,1>` restored.
std::vector<std::string> joined_names(const std::vector<std::string>& words);

}  // namespace hotgemm
