#include "config/workspace.hpp"

#include "config/repack.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

WorkspaceSize split_workspace(std::int64_t tiles, int tile_elements, int splits) {
  const auto slots = static_cast<std::size_t>(tiles) * static_cast<std::size_t>(splits);
  return {.scratch_bytes = slots * static_cast<std::size_t>(tile_elements) * sizeof(float),
          .counters = static_cast<std::size_t>(tiles) + slots};
}

WorkspaceSize workspace_size(const KernelConfig& config, const LaunchConfig& launch, const Problem& problem) {
  WorkspaceSize size;
  if (splits_k(config)) {
    const auto tiles = [](std::int64_t extent, int tile) { return (extent + tile - 1) / tile; };
    size = split_workspace(tiles(class_m(problem.m), block_m(config)) * tiles(problem.n, block_n(config)),
                           block_m(config) * block_n(config), launch.splits);
  }
  size.scratch_bytes += repacked_bytes(launch, problem);
  return size;
}

}  // namespace hotgemm
