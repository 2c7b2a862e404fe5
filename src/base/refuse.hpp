#pragma once

#include <hotgemm/error.hpp>

#include <string>

namespace hotgemm {

/// Throws invalid_argument. `message` names the argument and what is wrong with it.
[[noreturn]] inline void refuse(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

}  // namespace hotgemm
