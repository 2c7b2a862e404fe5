#pragma once

#include <string>

namespace hotgemm {

/// The value of an environment variable. An empty value means the same as an unset variable. In a set-user-ID process
/// all variables are unset: the caller's environment must not decide what the process does.
std::string environment_variable(const char* name);

}  // namespace hotgemm
