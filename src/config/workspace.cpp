#include "config/workspace.hpp"

#include "config/class_key.hpp"  // class_count
#include "config/repack.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

WorkspaceSize split_workspace(const LaunchShape& shape, std::int64_t m, std::int64_t n, int splits,
                              std::int64_t batch) {
  const auto clusters = static_cast<std::size_t>(shape.tiles(m, n, batch)), parts = static_cast<std::size_t>(splits);
  const auto cluster_elements = static_cast<std::size_t>(shape.tile_m) * static_cast<std::size_t>(shape.tile_n);
  const std::size_t tiles = clusters * static_cast<std::size_t>(shape.cluster);
  return {.scratch_bytes = clusters * parts * cluster_elements * sizeof(float), .counters = tiles + tiles * parts};
}

WorkspaceSize workspace_size(const KernelConfig& config, const LaunchConfig& launch, const Problem& problem) {
  WorkspaceSize size;
  if (splits_k(config)) {
    const LaunchShape shape = launch_shape(config, traits_of(Workload{problem}, launch));
    size = split_workspace(shape, class_m(problem.m), problem.n, launch.splits, class_count(problem.batch));
  }
  size.scratch_bytes += repacked_bytes(launch, problem);
  return size;
}

}  // namespace hotgemm
