#pragma once

#include <string>

namespace hotgemm {

/// The path that set_library_path has set for the library of `variable` ("HOTGEMM_LIBCUDA"), else the variable's value,
/// else an empty string. From then on the path cannot be set. Ignores the environment in a set-id process.
std::string take_library_path(const char* variable);

}  // namespace hotgemm
