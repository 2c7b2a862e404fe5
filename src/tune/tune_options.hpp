#pragma once

#include <hotgemm/context.hpp>

namespace hotgemm {

/// Throws Error{invalid_argument} that names the first option without a meaning: a number below its least, or NaN.
void validate(const TuneOptions& options);

}  // namespace hotgemm
