#pragma once

#include "config/kernel_config.hpp"

#include <string>
#include <string_view>

namespace hotgemm {

/// The field of `config` whose value no kernel can have, and with which nothing can be computed: a size of zero, or a
/// value above all limits. Empty if threads, shared memory and similar values of the config can be computed. `config`
/// may be any config that parse_config returns.
std::string refusal_of_fields(const KernelConfig& config, const GemmTraits& traits, std::string_view arch);

/// The reason why no kernel of `config` can be built for `traits` on `arch` ("sm_90a"), as specific as possible: the
/// limit that the config exceeds, with both numbers, or the case that its family does not support. Empty if is_legal
/// accepts the config. `config` may be any config that parse_config returns. For limits that only a compiled kernel
/// exceeds, see exceeded_limit.
std::string refusal(const KernelConfig& config, const GemmTraits& traits, std::string_view arch);

}  // namespace hotgemm
