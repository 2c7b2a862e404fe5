#include "command/ladder_rows.hpp"

#include "config/launch_shape.hpp"
#include "config/refusal.hpp"
#include "config/render.hpp"
#include "config/traits.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hotgemm::command {
namespace {

/// Columns in a strip of the block swizzle.
std::int64_t strip_columns(std::int64_t n, double swizzle_factor) {
  if (swizzle_factor <= 0) return swizzle_stride(n);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n) * swizzle_factor));
}

/// `menu`: the configs that the tuner tries.
LadderRow planned_row(const LadderEntry& entry, const Workload& problem, const DeviceInfo& device,
                      const std::vector<KernelConfig>& menu, double swizzle_factor) {
  LadderRow row{.entry = entry};
  row.swizzle = "NOOP";
  if (entry.rung) row.launch = ladder_launch(*entry.rung, problem.n);
  if (entry.rung && entry.rung->block_swizzle) {
    const std::int64_t columns = strip_columns(problem.n, swizzle_factor);
    row.launch = strip_launch(*entry.rung, columns);
    row.swizzle = std::to_string(columns);
  }
  if (!entry.config) {
    row.roofline = roofline(entry.config, problem, device);
    return row;
  }
  const std::string refused = refusal(*entry.config, traits_of(problem), device.arch);
  if (!refused.empty()) {
    row.end(LadderOutcome::refused, refused);
    return row;
  }
  if (!entry.rung) {
    row.launch = default_launch(*entry.config, problem, device);
    row.swizzle = to_string(row.launch);
  }
  row.is_candidate = std::ranges::find(menu, *entry.config) != menu.end();
  row.roofline = roofline(entry.config, problem, device);
  const LaunchShape shape = launch_shape(*entry.config, traits_of(problem));
  row.blocks = shape.blocks(problem.m, problem.n, device.sm_count);
  row.tiles_n = (problem.n - 1) / shape.tile_n + 1;
  row.tiles_m = (problem.m - 1) / shape.tile_m + 1;
  return row;
}

void take(LadderRow& row, BuildResult& result, const GemmTraits& traits, const ArchLimits& arch) {
  if (!result.cubin) {
    if (result.failure == kInterruptedBuild) {
      row.reason = "not timed: interrupted";
    } else {
      row.end(LadderOutcome::failed, "compile error: " + result.failure);
    }
    return;
  }
  row.cubin = std::make_shared<const Cubin>(std::move(*result.cubin));
  row.memory = cubin_memory(*row.cubin);
  row.smem_bytes = smem_bytes(*row.entry.config, traits) + row.cubin->static_smem_bytes;
  const BlockResources block{
      .threads = threads(*row.entry.config), .registers = row.cubin->registers, .smem_bytes = row.smem_bytes};
  row.occupancy = occupancy(block, arch);
  if (const std::string exceeded = exceeded_limit(block, arch); !exceeded.empty())
    row.end(LadderOutcome::refused, exceeded);
}

}  // namespace

std::vector<LadderRow> planned_rows(const LadderProblem& problem, const DeviceInfo& device, double swizzle_factor) {
  const std::vector<KernelConfig> menu = candidates(traits_of(problem.problem), arch_limits(device.arch));
  std::vector<LadderRow> rows;
  for (const LadderEntry& entry : problem.entries)
    rows.push_back(planned_row(entry, problem.problem, device, menu, swizzle_factor));
  return rows;
}

void build_rows(std::vector<LadderRow>& rows, const Workload& problem, const DeviceInfo& device, Engine& engine,
                int jobs, const std::function<bool(std::size_t done, std::size_t total)>& done) {
  const GemmTraits traits = traits_of(problem);
  std::vector<LadderRow*> to_build;
  std::vector<KernelSource> sources;
  for (LadderRow& row : rows) {
    if (!row.is_ours() || !row.goes_on()) continue;
    to_build.push_back(&row);
    sources.push_back(render(*row.entry.config, traits, device.arch, engine.bundle));
  }
  std::size_t built = 0;
  std::vector<BuildResult> results = engine.builder.build_all(
      sources, jobs, [&](std::size_t, const BuildResult&) { return done(++built, sources.size()); });
  for (std::size_t i = 0; i < to_build.size(); ++i) take(*to_build[i], results[i], traits, arch_limits(device.arch));
}

}  // namespace hotgemm::command
