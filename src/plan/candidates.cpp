#include "plan/candidates.hpp"

#include "config/device_info.hpp"
#include "config/launch_shape.hpp"
#include "config/permitted.hpp"
#include "config/repack.hpp"
#include "config/sm_limit.hpp"
#include "config/sum_order.hpp"
#include "config/traits.hpp"
#include "plan/epilogue_work.hpp"
#include "plan/fma_menu.hpp"
#include "plan/model.hpp"
#include "plan/wgmma_menu.hpp"
#include "plan/wgmma_model.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <type_traits>

namespace hotgemm {
namespace {

struct MmaTile {
  int block_m, block_n, warps_m, warps_n;
};

// clang-format off
/// The tile menu of family mma. To try a tile, add a line.
constexpr MmaTile kMmaTiles[] = {
    // few rows or columns
    {16,  32, 1, 1}, {16,  64, 1, 2}, {16,  64, 1, 4}, {16, 128, 1, 4}, {16, 256, 1, 4},
    {32,  32, 1, 1}, {32,  32, 2, 2}, {32,  64, 1, 2}, {32,  64, 2, 2}, {32, 128, 1, 4}, {32, 256, 1, 4},
    {32,  16, 2, 1}, {64,  16, 4, 1}, {64,  32, 2, 1}, {64, 32, 2, 2}, {128, 16, 4, 1}, {128, 32, 4, 1}, {256, 32, 4, 1},
    // squares and their neighbours
    {64,  64, 2, 1}, {64,  64, 2, 2}, {64,  96, 2, 2}, {96,  64, 2, 2}, {96, 96, 2, 2},
    {64, 128, 2, 2}, {128, 64, 2, 2}, {64, 192, 2, 2}, {192, 64, 2, 2}, {96, 128, 2, 2}, {128, 96, 2, 2},
    {64, 256, 1, 4}, {64, 256, 2, 4}, {256, 64, 4, 1}, {256, 64, 4, 2},
    {128, 128, 2, 2}, {128, 128, 2, 4}, {128, 128, 4, 2},
    // large
    {96,  192, 2, 4}, {192, 96, 4, 2}, {128, 160, 2, 2}, {160, 128, 2, 2},
    {128, 192, 2, 2}, {128, 192, 2, 4}, {192, 128, 2, 2}, {192, 128, 4, 2},
    {128, 256, 2, 4}, {256, 128, 4, 2}, {256, 128, 4, 4}, {128, 256, 4, 4}, {192, 192, 2, 4}, {192, 192, 4, 2},
    {256, 160, 4, 2}, {160, 256, 2, 4}, {256, 192, 4, 2}, {192, 256, 2, 4}, {256, 256, 4, 4}, {256, 256, 2, 4},
};

constexpr MmaConfig kMmaAnchors[] = {
    {.block_m = 16,  .block_n = 64,  .block_k = 64, .warps_m = 1, .warps_n = 4, .stages = 4, .fragment_buffers = 2},
    {.block_m = 32,  .block_n = 64,  .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 4, .fragment_buffers = 2},
    {.block_m = 64,  .block_n = 32,  .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 4, .fragment_buffers = 2},
    {.block_m = 32,  .block_n = 128, .block_k = 64, .warps_m = 1, .warps_n = 4, .stages = 4, .fragment_buffers = 2},
    {.block_m = 64,  .block_n = 64,  .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 4, .fragment_buffers = 2},
    {.block_m = 64,  .block_n = 64,  .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 4, .fragment_buffers = 2},
    {.block_m = 64,  .block_n = 128, .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 3, .fragment_buffers = 2},
    {.block_m = 128, .block_n = 64,  .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 3, .fragment_buffers = 2},
    {.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 4, .fragment_buffers = 1},
    {.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 4, .fragment_buffers = 2},
    {.block_m = 128, .block_n = 128, .block_k = 64, .warps_m = 2, .warps_n = 4, .stages = 3, .fragment_buffers = 2},
    {.block_m = 128, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 4, .fragment_buffers = 1},
    {.block_m = 128, .block_n = 256, .block_k = 64, .warps_m = 2, .warps_n = 4, .stages = 3, .fragment_buffers = 1},
    {.block_m = 256, .block_n = 128, .block_k = 64, .warps_m = 4, .warps_n = 2, .stages = 3, .fragment_buffers = 1},
};

/// The first kSimtAnchors rows are anchors. The others spill a few registers for some layouts, types and architectures.
constexpr SimtConfig kSimtMenu[] = {
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 4, .thread_n = 4},
    {.block_m = 16,  .block_n = 16,  .block_k = 32, .thread_m = 1, .thread_n = 1},
    {.block_m = 32,  .block_n = 32,  .block_k = 32, .thread_m = 2, .thread_n = 2},
    {.block_m = 128, .block_n = 64,  .block_k = 16, .thread_m = 8, .thread_n = 4},
    {.block_m = 8,   .block_n = 64,  .block_k = 32, .thread_m = 1, .thread_n = 4},
    {.block_m = 32,  .block_n = 128, .block_k = 16, .thread_m = 4, .thread_n = 4},
    {.block_m = 128, .block_n = 128, .block_k = 8,  .thread_m = 8, .thread_n = 8},
    {.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8, .thread_n = 8},
};
constexpr std::size_t kSimtAnchors = 4;

/// No row is an anchor: where these instructions exist, mma.sync is as fast or faster.
constexpr WmmaConfig kWmmaMenu[] = {
    {.block_m = 64,  .block_n = 64,  .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 4},
    {.block_m = 64,  .block_n = 128, .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 3},
    {.block_m = 128, .block_n = 64,  .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 3},
    {.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 2, .warps_n = 2, .stages = 4},
    {.block_m = 128, .block_n = 128, .block_k = 64, .warps_m = 2, .warps_n = 2, .stages = 3},
    {.block_m = 128, .block_n = 128, .block_k = 32, .warps_m = 4, .warps_n = 2, .stages = 4},
    {.block_m = 256, .block_n = 128, .block_k = 32, .warps_m = 4, .warps_n = 2, .stages = 4},
    {.block_m = 256, .block_n = 128, .block_k = 64, .warps_m = 4, .warps_n = 2, .stages = 3},
    {.block_m = 128, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 4},
    {.block_m = 128, .block_n = 256, .block_k = 64, .warps_m = 2, .warps_n = 4, .stages = 3},
    {.block_m = 256, .block_n = 256, .block_k = 32, .warps_m = 2, .warps_n = 4, .stages = 4},
    {.block_m = 256, .block_n = 256, .block_k = 32, .warps_m = 4, .warps_n = 4, .stages = 4},
};
// clang-format on

/// Appends `tile` with every pipeline to try; the caller removes illegal configs.
void append_pipelines(const MmaTile& tile, std::vector<MmaConfig>& configs) {
  for (const int block_k : {32, 64}) {
    for (const int stages : {2, 3, 4, 5}) {
      for (const int fragment_buffers : {2, 1}) {
        for (const int blocks_per_sm : {1, 2}) {
          MmaConfig config{.block_m = tile.block_m,
                           .block_n = tile.block_n,
                           .block_k = block_k,
                           .warps_m = tile.warps_m,
                           .warps_n = tile.warps_n,
                           .stages = stages,
                           .swizzle = true,
                           .fragment_buffers = fragment_buffers,
                           .store = kStagedStore,
                           .blocks_per_sm = blocks_per_sm};
          configs.push_back(config);
          if (stages != 3 || blocks_per_sm != 1) continue;
          // Alternatives that rarely win are tried with one number of stages only.
          config.store = kDirectStore;
          configs.push_back(config);
          config.store = kStagedStore;
          config.swizzle = false;
          configs.push_back(config);
        }
      }
    }
  }
}

// The menu of each family. append_menu appends all configs that the tuner may try for the traits. append_anchors
// appends the configs from which a choice without measuring begins. The configs may be illegal.

template <class Config>
void append_menu(std::type_identity<Config>, const GemmTraits&, std::vector<KernelConfig>&) {
  static_assert(!std::is_same_v<Config, Config>,
                "this config's family has no menu: add append_menu and append_anchors to src/plan/candidates.cpp");
}
/// For a family that is never chosen without measuring.
template <class Config>
void append_anchors(std::type_identity<Config>, const GemmTraits&, std::vector<KernelConfig>&) {}

/// `config`, whose k-tile counts elements of 16 bits, for the elements of `traits`: with as many bytes. D of other
/// types is stored from registers.
MmaConfig typed(MmaConfig config, const GemmTraits& traits) {
  if (size_bytes(traits.element) == 2) return config;
  config.block_k = typed_block_k(config.block_k, traits.element);
  config.store = kDirectStore;
  return config;
}

void append_menu(std::type_identity<MmaConfig>, const GemmTraits& traits, std::vector<KernelConfig>& configs) {
  std::vector<MmaConfig> all;
  for (const MmaTile& tile : kMmaTiles) append_pipelines(tile, all);
  const bool has_all_stores = size_bytes(traits.element) == 2;
  for (const MmaConfig& config : all) {
    if (has_all_stores || config.store == kStagedStore) configs.emplace_back(typed(config, traits));
  }
}
void append_anchors(std::type_identity<MmaConfig>, const GemmTraits& traits, std::vector<KernelConfig>& configs) {
  for (MmaConfig config : kMmaAnchors) {
    // A tile that is copied element by element passes through registers: those of the second buffer.
    if (std::min(traits.vec_a, traits.vec_b) * size_bytes(traits.element) == 2) config.fragment_buffers = 1;
    configs.emplace_back(typed(config, traits));
  }
}

void append_menu(std::type_identity<WgmmaConfig>, const GemmTraits& traits, std::vector<KernelConfig>& configs) {
  for (const WgmmaConfig& config : wgmma_menu(traits)) configs.push_back(config);
}
void append_anchors(std::type_identity<WgmmaConfig>, const GemmTraits& traits, std::vector<KernelConfig>& configs) {
  for (const WgmmaConfig& config : wgmma_anchors(traits)) configs.push_back(config);
}

void append_menu(std::type_identity<FmaConfig>, const GemmTraits& traits, std::vector<KernelConfig>& configs) {
  for (const FmaConfig& config : fma_menu(traits)) configs.push_back(config);
}
void append_anchors(std::type_identity<FmaConfig>, const GemmTraits& traits, std::vector<KernelConfig>& configs) {
  for (const FmaConfig& config : fma_anchors(traits)) configs.push_back(config);
}

void append_menu(std::type_identity<WmmaConfig>, const GemmTraits&, std::vector<KernelConfig>& configs) {
  configs.insert(configs.end(), std::begin(kWmmaMenu), std::end(kWmmaMenu));
}

void append_menu(std::type_identity<SimtConfig>, const GemmTraits&, std::vector<KernelConfig>& configs) {
  configs.insert(configs.end(), std::begin(kSimtMenu), std::end(kSimtMenu));
}
void append_anchors(std::type_identity<SimtConfig>, const GemmTraits&, std::vector<KernelConfig>& configs) {
  configs.insert(configs.end(), std::begin(kSimtMenu), std::begin(kSimtMenu) + kSimtAnchors);
}

void keep_legal(std::vector<KernelConfig>& configs, const GemmTraits& traits, const ArchLimits& arch) {
  std::erase_if(configs, [&](const KernelConfig& c) { return !is_legal(c, traits, arch); });
}

/// Configs that need operands in different forms. Each other config needs them as one of these does, or as they lie.
const KernelConfig kReaders[] = {WgmmaConfig{}, WgmmaConfig{.transposed = true}, WgmmaConfig{.one_tile = true},
                                 MmaConfig{}, FmaConfig{}};

/// The result of `configs` for `problem`, followed by the configs that need repacked operands. The menu of these sees
/// the operands as their launch copies them.
std::vector<KernelConfig> with_repacked(const Workload& problem, const ArchLimits& arch,
                                        std::vector<KernelConfig> (*configs)(const GemmTraits&, const ArchLimits&)) {
  std::vector<GemmTraits> seen = {traits_of(problem)};
  std::vector<KernelConfig> all = configs(seen.front(), arch);
  for (const KernelConfig& reader : kReaders) {
    const GemmTraits copied = traits_of(repacked(problem, reader));
    if (std::ranges::find(seen, copied) != seen.end()) continue;
    seen.push_back(copied);
    for (const KernelConfig& config : configs(copied, arch)) {
      const LaunchConfig launch = with_repacks({}, config, problem);
      if (repacks(launch) && traits_of(problem, launch) == copied) all.push_back(config);
    }
  }
  return all;
}

/// True if a row of the operand is a whole number of sectors: of a matrix without padding, or of a copy.
bool has_whole_sectors(const Workload& problem, Operand operand, const LaunchConfig& launch) {
  constexpr std::int64_t kSectorBytes = 32;
  const bool is_a = operand == Operand::a;
  if ((is_a ? launch.repack_a : launch.repack_b) != Repack::none) return true;
  const std::int64_t row =
      is_a ? (problem.op_a == Op::n ? problem.k : problem.m) : (problem.op_b == Op::n ? problem.n : problem.k);
  return row * size_bytes(is_a ? problem.types.a : problem.types.b) % kSectorBytes == 0;
}

/// The configs whose clusters pay and that add in the order that `problem` demands. All launches of a config do, or
/// none does.
std::vector<KernelConfig> keep_useful(std::vector<KernelConfig> configs, const Workload& problem,
                                      const ArchLimits& arch) {
  std::erase_if(configs, [&](const KernelConfig& config) {
    return !pays_for_cluster(config, problem) || !keeps_order(problem.order, problem.types, config, {}, arch);
  });
  return configs;
}

}  // namespace

bool pays_for_cluster(const KernelConfig& config, const Workload& problem) {
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  if (wgmma == nullptr || wgmma->cluster() <= 2 || wgmma->split_k) return true;
  const LaunchConfig launch = with_repacks({}, config, problem);
  return !has_whole_sectors(problem, Operand::a, launch) || !has_whole_sectors(problem, Operand::b, launch);
}

std::vector<KernelConfig> menus(const GemmTraits& traits) {
  std::vector<KernelConfig> configs;
  for_each_family([&](auto family) { append_menu(family, traits, configs); });
  return configs;
}

std::vector<KernelConfig> candidates(const GemmTraits& traits, const ArchLimits& arch) {
  std::vector<KernelConfig> configs = menus(traits);
  keep_legal(configs, traits, arch);
  return configs;
}

std::vector<KernelConfig> anchors(const GemmTraits& traits, const ArchLimits& arch) {
  std::vector<KernelConfig> configs;
  for_each_family([&](auto family) { append_anchors(family, traits, configs); });
  keep_legal(configs, traits, arch);
  return configs;
}

std::vector<KernelConfig> candidates(const Workload& problem, const ArchLimits& arch) {
  return keep_useful(with_repacked(problem, arch, candidates), problem, arch);
}

std::vector<KernelConfig> anchors(const Workload& problem, const ArchLimits& arch) {
  return keep_useful(with_repacked(problem, arch, anchors), problem, arch);
}

std::vector<KernelConfig> variants(const KernelConfig& config, const Workload& problem, const ArchLimits& arch) {
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  if (wgmma == nullptr) return {};
  const GemmTraits traits = traits_of(problem, with_repacks({}, config, problem));
  std::vector<KernelConfig> configs;
  for (const WgmmaConfig& variant : wgmma_variants(*wgmma, traits)) configs.emplace_back(variant);
  return keep_useful(std::move(configs), problem, arch);
}

std::optional<KernelConfig> with_second_buffer(const KernelConfig& config, const GemmTraits& traits) {
  constexpr int kLeastStages = 3;  // fewer were not timed
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  if (wgmma == nullptr || traits.epilogue.matrices_read() == 0 || copies_ahead(*wgmma, traits)) return std::nullopt;
  for (WgmmaConfig lean = *wgmma; lean.stages >= kLeastStages; --lean.stages) {
    if (copies_ahead(lean, traits)) return lean;
  }
  return std::nullopt;
}

KernelConfig with_room_for_scales(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch) {
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  if (wgmma == nullptr || !traits.epilogue.has_block_scales()) return config;
  WgmmaConfig lean = *wgmma;
  while (lean.stages > 2 && !is_legal(lean, traits, arch)) --lean.stages;
  return lean;
}

namespace {

/// The launches of a kernel whose blocks divide k. It has few tiles, so that their order does not matter.
std::vector<LaunchConfig> split_launches(const WgmmaConfig& config, const Workload& problem, int sm_count) {
  constexpr std::size_t kMost = 6;
  DeviceInfo device = nominal_device("sm_90a");
  device.sm_count = leaves_out_sms(problem.sm_limit, sm_count) ? problem.sm_limit : sm_count;
  const LaunchConfig usual = default_launch(config, problem, device);
  std::vector<int> splits = wgmma_splits(config, problem, device);
  if (splits.size() > kMost) splits.resize(kMost);
  std::vector<LaunchConfig> launches;
  for (const bool programmatic : {false, true}) {
    for (const int count : splits) {
      launches.push_back(usual);
      launches.back().splits = count;
      launches.back().programmatic = programmatic;
    }
  }
  return launches;
}

/// The result of rasters() with the launches that exceed the SM limit.
std::vector<LaunchConfig> free_rasters(const KernelConfig& config, const Workload& problem, int sm_count,
                                       double predicted_us) {
  const LaunchConfig base = with_repacks({}, config, problem);
  const LaunchShape shape = launch_shape(config, traits_of(problem, base));
  if (shape.splits_k) return split_launches(std::get<WgmmaConfig>(config), problem, sm_count);
  const std::int64_t rows = (problem.m - 1) / shape.tile_m + 1;
  const std::int64_t columns = (problem.n - 1) / shape.tile_n + 1;
  std::vector<LaunchConfig> launches;
  if (rows > 1 && columns > 1) {
    for (const bool along_n : {false, true}) {
      for (const int width : {1, 2, 4, 8, 16}) {
        if (width > (along_n ? columns : rows)) continue;
        launches.push_back(base);
        launches.back().raster_width = width;
        launches.back().raster_along_n = along_n;
      }
    }
  }
  if (!family_of(config).waits_for_predecessor || predicted_us >= kProgrammaticBelowUs) return launches;
  if (launches.empty()) {
    launches.push_back(base);
    launches.back().raster_width = 1;
    launches.back().programmatic = true;
    return launches;
  }
  const std::size_t count = launches.size();
  for (std::size_t i = 0; i < count; ++i) {
    launches.push_back(launches[i]);
    launches.back().programmatic = true;
  }
  return launches;
}

}  // namespace

std::vector<LaunchConfig> rasters(const KernelConfig& config, const Workload& problem, int sm_count,
                                  double predicted_us) {
  std::vector<LaunchConfig> launches = free_rasters(config, problem, sm_count, predicted_us);
  std::erase_if(launches,
                [&](const LaunchConfig& launch) { return !keeps_sm_limit(config, launch, problem, sm_count); });
  return launches;
}

KernelConfig reference_config() { return kSimtMenu[0]; }

}  // namespace hotgemm
