#pragma once

#include <string>

namespace hotgemm {

/// The value of an environment variable; an empty string if it is not set. In a set-user-ID process no variable counts
/// as set: the caller's environment must not decide what the process does.
std::string environment_variable(const char* name);

}  // namespace hotgemm
