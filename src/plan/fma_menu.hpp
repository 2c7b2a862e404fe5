#pragma once

#include "shared/fma_config.hpp"

#include <vector>

namespace hotgemm {

/// Every config of family `fma` that the tuner may try for `traits`, each once: for f32, TF32 and s8. Each has the
/// widest access that both operands allow. The caller filters by is_legal for its architecture.
std::vector<FmaConfig> fma_menu(const GemmTraits& traits);

/// The configs from which a plan is chosen without measuring.
std::vector<FmaConfig> fma_anchors(const GemmTraits& traits);

}  // namespace hotgemm
