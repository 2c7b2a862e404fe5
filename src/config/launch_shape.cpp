#include "config/launch_shape.hpp"

namespace hotgemm {
namespace {

template <class Config>
void add_cluster(LaunchShape& shape, const Config& config) {
  if constexpr (requires { config.cluster_m* config.cluster_n; }) {
    shape.tile_m *= config.cluster_m;
    shape.tile_n *= config.cluster_n;
    shape.cluster = config.cluster_m * config.cluster_n;
  }
}

/// Adds the persistent blocks per SM, for families that have persistent blocks.
template <class Config>
void add_lasting_blocks(LaunchShape& shape, const Config& config) {
  if constexpr (requires { config.one_tile; }) {
    if (!config.one_tile) shape.blocks_per_sm = config.blocks_per_sm;
  }
}

}  // namespace

LaunchShape launch_shape(const KernelConfig& config, const GemmTraits& traits) {
  LaunchShape shape{.tile_m = block_m(config),
                    .tile_n = block_n(config),
                    .cluster = 1,
                    .threads = threads(config),
                    .smem_bytes = smem_bytes(config, traits),
                    .blocks_per_sm = 0};
  std::visit(
      [&](const auto& c) {
        add_cluster(shape, c);
        add_lasting_blocks(shape, c);
      },
      config);
  shape.splits_k = splits_k(config);
  shape.divides_rows = traits.divides_rows() || !traits.grouped;
  if (shape.splits_k) shape.blocks_per_sm = 0;  // a block takes one part of one tile
  return shape;
}

}  // namespace hotgemm
