#pragma once

#include "shared/gemm_traits.hpp"

#include <hotgemm/types.hpp>

#include <string>

namespace hotgemm {

/// The properties of a kernel that `problem` determines.
GemmTraits traits_of(const Problem& problem);

/// A text such as "f16_f32_nt_a8b8d8_c0", which is part of a kernel's symbol.
std::string to_string(const GemmTraits& traits);

}  // namespace hotgemm
