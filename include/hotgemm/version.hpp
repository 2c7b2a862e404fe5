#pragma once

#include <hotgemm/export.hpp>
#include <hotgemm/version.h>  // HOTGEMM_VERSION

#include <string_view>

namespace hotgemm {

/// The version of the library that runs, as in HOTGEMM_VERSION.
HOTGEMM_API std::string_view version();

}  // namespace hotgemm
