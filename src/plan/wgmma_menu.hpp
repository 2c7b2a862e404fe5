#pragma once

#include "shared/wgmma_config.hpp"

#include <vector>

namespace hotgemm {

/// Every config of family `wgmma` that the tuner may try for `traits`, each once; none where the family does not have
/// them. What a problem's size would rule out, such as a cluster below one wave, is left to the ranking.
std::vector<WgmmaConfig> wgmma_menu(const GemmTraits& traits);

/// The few that are picked from without measuring. Not all are legal for all traits.
std::vector<WgmmaConfig> wgmma_anchors();

}  // namespace hotgemm
