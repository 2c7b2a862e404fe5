#pragma once

#include "config/kernel_config.hpp"

#include <string>
#include <string_view>

namespace hotgemm {

/// What of `config`, any that parse_config returns, no kernel has and nothing can be computed with: a size of zero, or
/// one beyond all limits. Empty where threads, shared memory and the like can be asked for.
std::string refusal_of_fields(const KernelConfig& config, const GemmTraits& traits, std::string_view arch);

/// Why no kernel of `config` can be built for `traits` on `arch` ("sm_90a"), as specifically as can be told: the limit
/// that it exceeds with both numbers, or what its family has no kernels for. Empty where is_legal accepts it. The
/// config may be any that parse_config returns. What a compiled kernel exceeds is told by exceeded_limit.
std::string refusal(const KernelConfig& config, const GemmTraits& traits, std::string_view arch);

}  // namespace hotgemm
