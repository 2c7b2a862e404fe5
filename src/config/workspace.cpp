#include "config/workspace.hpp"

#include "config/launch_shape.hpp"
#include "shared/gemm_types.hpp"

#include <variant>

namespace hotgemm {
namespace {

/// The workspace of a family whose kernels take none.
template <class Config>
WorkspaceSize split_size(const Config&, std::size_t /*tiles*/, std::size_t /*splits*/) {
  return {};
}

/// A slot for each part of a tile; for each tile a counter of arrivals and one of each part's owner
/// (templates/shared/split_slots.hpp).
WorkspaceSize split_size(const WgmmaConfig& c, std::size_t tiles, std::size_t splits) {
  if (!c.split_k) return {};
  const auto slot_bytes = static_cast<std::size_t>(c.block_m) * static_cast<std::size_t>(c.block_n) * sizeof(float);
  return {.scratch_bytes = tiles * splits * slot_bytes, .counters = tiles * (1 + splits)};
}

std::size_t ceil_div(std::int64_t extent, int tile) { return static_cast<std::size_t>((extent + tile - 1) / tile); }

}  // namespace

WorkspaceSize workspace_size(const KernelConfig& config, const LaunchConfig& launch, const Problem& problem) {
  const std::size_t tiles = ceil_div(class_m(problem.m), block_m(config)) * ceil_div(problem.n, block_n(config));
  return std::visit([&](const auto& c) { return split_size(c, tiles, static_cast<std::size_t>(launch.splits)); },
                    config);
}

}  // namespace hotgemm
