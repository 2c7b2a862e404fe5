#pragma once

#include "shared/gemm_traits.hpp"

#include <hotgemm/types.hpp>

#include <string>

namespace hotgemm {

/// What `problem` fixes about its kernels.
GemmTraits traits_of(const Problem& problem);

/// "f16_f32_nt_a8b8d8_c0": part of a kernel's symbol.
std::string to_string(const GemmTraits& traits);

}  // namespace hotgemm
