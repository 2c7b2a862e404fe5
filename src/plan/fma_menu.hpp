#pragma once

#include "shared/fma_config.hpp"

#include <vector>

namespace hotgemm {

/// Every config of family `fma` that the tuner may try for `traits`, each once: f32 only, since tensor cores compute
/// the other types. All with the widest access that both operands allow. What an architecture lacks is left to
/// is_legal.
std::vector<FmaConfig> fma_menu(const GemmTraits& traits);

/// The few that are picked from without measuring.
std::vector<FmaConfig> fma_anchors(const GemmTraits& traits);

}  // namespace hotgemm
