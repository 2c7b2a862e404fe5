#pragma once

#include "shared/wgmma_config.hpp"

#include <vector>

namespace hotgemm {

/// Every config of family `wgmma` that the tuner may try for `traits`, each once; empty if the family does not support
/// `traits`. The ranking, not this menu, drops configs that do not suit the sizes, such as a cluster for less than one
/// wave.
std::vector<WgmmaConfig> wgmma_menu(const GemmTraits& traits);

/// The configs from which a plan for `traits` is chosen without measuring. Not all are legal for these traits. Traits
/// of one type of 16 bits have the same anchors, but for groups: theirs have producers.
std::vector<WgmmaConfig> wgmma_anchors(const GemmTraits& traits = {});

/// The configs of the menu that differ from `config` in one respect, and in the stages that fit: the width of the tile,
/// the k-tile, the cluster, or whether a block stays for more than one tile. All are legal for `traits`. Empty if
/// threads load, or if an SM has several blocks: such kernels may spill, others have not done so.
std::vector<WgmmaConfig> wgmma_variants(const WgmmaConfig& config, const GemmTraits& traits);

}  // namespace hotgemm
