#include "config/launch_shape.hpp"

namespace hotgemm {
LaunchShape launch_shape(const KernelConfig& config, const GemmTraits& traits) {
  LaunchShape shape{.tile_m = block_m(config),
                    .tile_n = block_n(config),
                    .cluster = 1,
                    .threads = threads(config),
                    .smem_bytes = smem_bytes(config, traits),
                    .blocks_per_sm = 0};
  if (const auto* wgmma = std::get_if<WgmmaConfig>(&config)) {
    shape.tile_m *= wgmma->cluster_m;
    shape.tile_n *= wgmma->cluster_n;
    shape.cluster = wgmma->cluster();
    if (!wgmma->one_tile) shape.blocks_per_sm = wgmma->blocks_per_sm;
  }
  return shape;
}

}  // namespace hotgemm
