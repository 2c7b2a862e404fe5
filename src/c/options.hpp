#pragma once

#include <hotgemm/hotgemm.h>
#include <hotgemm/context.hpp>

#include <cstddef>
#include <string>

namespace hotgemm::c {

/// The options of the environment, changed by `options`. Throws Error{invalid_argument} that names the option, and for
/// an unknown one lists the names.
ContextOptions context_options(const hotgemm_option* options, std::size_t count);

/// The names of all options, one on each line.
std::string option_names();

}  // namespace hotgemm::c
