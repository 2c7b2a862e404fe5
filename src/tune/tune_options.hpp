#pragma once

#include <hotgemm/context.hpp>

namespace hotgemm {

/// Throws Error{invalid_argument} that names the first option without a meaning: a number out of its range, or NaN.
void validate(const TuneOptions& options);

}  // namespace hotgemm
