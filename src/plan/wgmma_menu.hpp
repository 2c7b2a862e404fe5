#pragma once

#include "plan/kernel_config.hpp"

#include <vector>

namespace hotgemm {

/// What the tuner may try of family wgmma; what is illegal is filtered by who asks.
std::vector<WgmmaConfig> wgmma_menu(const GemmTraits& traits);

/// Its configs that are picked from without measuring. All are on the menu.
std::vector<WgmmaConfig> wgmma_anchors();

}  // namespace hotgemm
