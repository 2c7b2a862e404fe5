#pragma once

#include <hotgemm/version.h>  // HOTGEMM_VERSION

#include <string_view>

namespace hotgemm {

/// The version of the library that runs, as in HOTGEMM_VERSION.
std::string_view version();

}  // namespace hotgemm
