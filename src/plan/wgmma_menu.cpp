#include "plan/wgmma_menu.hpp"

#include "config/typed_config.hpp"
#include "plan/wgmma_tiles.hpp"
#include "shared/wgmma_legality.hpp"

#include <algorithm>
#include <span>
#include <tuple>

namespace hotgemm {
namespace {

constexpr int kMostStages = 16;
/// With a k-tile of 128 the waits cost half as much. Larger tiles would have too few stages.
constexpr int kDeepTileExtent = 192;
constexpr int kNarrowAnchorExtent = 96;  // anchors up to this extent have a k-tile of 128

constexpr const ArchLimits& hopper() { return *find_arch_limits(90); }

constexpr WgmmaConfig tile_config(const WgmmaTiles& tiles, int other) {
  WgmmaConfig config;
  config.transposed = tiles.transposed;
  config.block_m = tiles.transposed ? other : tiles.tall;
  config.block_n = tiles.transposed ? tiles.tall : other;
  config.consumers = tiles.consumers;
  const bool splits_other = tiles.schedule == Schedule::split_n || tiles.schedule == Schedule::one_tile_split_n;
  config.split_n = config.consumers > 1 && tiles.schedule != Schedule::ping_pong && splits_other != tiles.transposed;
  config.ping_pong = tiles.schedule == Schedule::ping_pong;
  config.one_tile = tiles.schedule == Schedule::one_tile || tiles.schedule == Schedule::one_tile_split_n;
  return config;
}

template <class Visit>
constexpr void for_each_tile(const WgmmaTiles& tiles, Visit&& visit) {
  for (int other = tiles.first; other <= tiles.last; other += tiles.step) visit(tile_config(tiles, other));
}

/// False if a tile is illegal for every problem. The same code within a lambda is no constant expression for Clang 14.
constexpr bool is_legal_tile(WgmmaConfig config) {
  config.stages = 2;
  return is_legal(config, {.op_b = Op::t}, hopper());
}

/// False if the menu has a mistake: a tile that is illegal for every problem.
constexpr bool are_legal(const auto& lines) {
  bool are = true;
  for (const WgmmaTiles& tiles : lines)
    for_each_tile(tiles, [&](const WgmmaConfig& config) { are = are && is_legal_tile(config); });
  return are;
}
static_assert(are_legal(kWgmmaTiles) && are_legal(kTransposedTiles) && are_legal(kWgmmaAnchors) &&
                  are_legal(kSplitTiles) && are_legal(kSplitAnchors) && are_legal(kSharingAnchors) &&
                  are_legal(kThreadTiles) && are_legal(kThreadAnchors) && are_legal(kLoadedTiles) &&
                  are_legal(kLoadedAnchors),
              "a tile of this menu is legal for no problem: see is_legal in templates/shared/wgmma_legality.hpp");

/// The largest number of stages that fits into shared memory; 0 if `config` is illegal with any number.
int deepest(WgmmaConfig config, const GemmTraits& traits) {
  config.stages = std::min(kMostStages, hopper().smem_per_sm_bytes / config.blocks_per_sm / config.stage_bytes(traits));
  while (config.stages > 0 && !is_legal(config, traits, hopper())) --config.stages;
  return config.stages;
}

/// A number of stages below `deepest` that is worth a trial: it leaves room for more buffers of D, or drops stages
/// that no problem fills.
int shallower(int deepest) { return deepest > 6 ? deepest * 3 / 4 : deepest - 1; }

/// True if there are enough stages. With fewer, products wait for copies.
bool is_deep_enough(const WgmmaConfig& c, const GemmTraits& traits) {
  const bool is_large = c.block_m * c.block_n >= 128 * 192;
  const int slabs = c.stages * c.block_k * size_bytes(traits.element) / 128;
  return slabs >= 3 && slabs * c.blocks_per_sm >= (is_large ? 3 : 4);
}

struct Cluster {
  int m, n;
};
/// The clusters of the menu. Problems of pays_for_cluster (candidates.hpp) take those of four blocks too.
constexpr Cluster kClusters[] = {{1, 1}, {2, 1}, {1, 2}, {4, 1}, {1, 4}, {2, 2}};

bool takes_clusters_of_four(const WgmmaConfig& c) { return c.block_m * c.block_n >= 64 * 64 && c.blocks_per_sm == 1; }

/// Makes a tile that is too small for clusters of four as wide as they demand: four blocks that share an operand of
/// short rows read it in next to no time (docs/notebook/search.md, 31).
void widen_for_four(WgmmaConfig& c) {
  if (!takes_clusters_of_four(c)) (c.transposed ? c.block_m : c.block_n) = 64;
}

void append_clusters(WgmmaConfig config, bool is_deepest, const GemmTraits& traits, std::vector<WgmmaConfig>& menu) {
  const bool takes_four = is_deepest && takes_clusters_of_four(config);
  for (const auto& [m, n] : kClusters) {
    config.cluster_m = m;
    config.cluster_n = n;
    if (config.cluster() > 2 && !takes_four) continue;
    if (is_legal(config, traits, hopper())) menu.push_back(config);
  }
}

void append_pipelines(const WgmmaConfig& base, const GemmTraits& traits, std::vector<WgmmaConfig>& menu) {
  for (const int block_k : {64, 128}) {
    if (block_k == 128 && base.block_m + base.block_n > kDeepTileExtent) continue;
    WgmmaConfig config = base;
    config.block_k = block_k;
    config = typed(config, traits);
    if (config.block_k != typed_block_k(block_k, traits.element)) continue;  // its k-tile has one length
    for (config.blocks_per_sm = 1; config.blocks_per_sm <= (config.transposed ? 2 : 4); ++config.blocks_per_sm) {
      const int most = deepest(config, traits);
      for (const int stages : {most, shallower(most)}) {
        if (config.split_k && stages != most) continue;                                 // D has no buffers there
        if (config.transposed && config.blocks_per_sm > 1 && stages != most) continue;  // to keep the menu short
        config.stages = stages;
        if (is_deep_enough(config, traits)) append_clusters(config, stages == most, traits, menu);
      }
    }
  }
}

/// The stages of configs whose threads load. Registers hold the loads in flight, so that few stages suffice. The rest
/// of shared memory serves as L1, which keeps a line from one load of it to the next.
constexpr int kThreadStages = 4;

void append_thread_loads(WgmmaConfig config, const GemmTraits& traits, std::vector<WgmmaConfig>& menu) {
  for (config.loaders = 1; config.loaders <= 2; ++config.loaders) {
    for (config.blocks_per_sm = 1; config.blocks_per_sm <= 3; ++config.blocks_per_sm) {
      for (config.stages = kThreadStages; config.stages <= kThreadStages + 2; config.stages += 2) {
        if (is_legal(config, traits, hopper())) menu.push_back(config);
      }
    }
  }
}

/// The traits whose buffers decide the stages of an anchor. All traits of one type of 16 bits
/// share the anchors, but for groups.
GemmTraits staged_traits(const GemmTraits& traits) {
  return traits.is_uniform() && size_bytes(traits.element) == 2 ? GemmTraits{} : traits;
}

/// The config for the elements of `traits`, with as many stages as fit.
WgmmaConfig with_stages(WgmmaConfig config, const GemmTraits& traits) {
  config = typed(config, traits);
  config.stages = deepest(config, staged_traits(traits));
  return config;
}

/// True if lanes load the rows of transposed products.
bool loads_rows_of_b(const GemmTraits& traits) { return WgmmaConfig{.transposed = true}.loads_rows(traits); }

std::span<const WgmmaTiles> lines_for(const WgmmaConfig& c) {
  if (c.split_k) return kSplitTiles;
  if (c.transposed) return kTransposedTiles;
  return kWgmmaTiles;
}

/// The fields that tile_config sets.
constexpr auto tile_of(const WgmmaConfig& c) {
  return std::tuple(c.transposed, c.block_m, c.block_n, c.consumers, c.split_n, c.ping_pong, c.one_tile);
}

bool has_tile(const WgmmaTiles& tiles, const WgmmaConfig& config) {
  const int other = tiles.transposed ? config.block_m : config.block_n;
  const bool is_in_line = other >= tiles.first && other <= tiles.last && (other - tiles.first) % tiles.step == 0;
  return is_in_line && tile_of(tile_config(tiles, other)) == tile_of(config);
}

bool is_in_menu(const WgmmaConfig& config, const GemmTraits& traits) {
  const auto is_in = [&](std::span<const WgmmaTiles> lines) {
    return std::ranges::any_of(lines, [&](const WgmmaTiles& tiles) { return has_tile(tiles, config); });
  };
  return is_in(lines_for(config)) || (!config.split_k && loads_rows_of_b(traits) && is_in(kLoadedTiles));
}

/// True if one-tile blocks are illegal: a producer brings scales of blocks, and only blocks that stay learn how many
/// tiles groups have.
bool needs_producer(const GemmTraits& traits) { return traits.epilogue.has_block_scales() || traits.grouped; }

/// Adds `config`. If blocks need a producer, adds its tile with one, or nothing if the menu lacks that. Larger tiles
/// are anchors also in clusters of two blocks that share the longer side.
void append_anchor(WgmmaConfig config, const GemmTraits& traits, std::vector<WgmmaConfig>& anchors) {
  if (config.one_tile && needs_producer(traits)) {
    config.one_tile = false;
    if (!is_in_menu(config, traits)) return;
  }
  config = with_stages(config, traits);
  if (std::ranges::find(anchors, config) != anchors.end()) return;
  anchors.push_back(config);
  (config.block_m > config.block_n ? config.cluster_n : config.cluster_m) = 2;
  if (config.block_m * config.block_n >= 64 * 128 && is_legal(config, staged_traits(traits), hopper())) {
    anchors.push_back(config);
  }
}

/// The next wider and the next narrower tile of the menu that are legal for `traits`. Also the tile of `config` in
/// blocks that stay, if those of `config` end, and the reverse.
std::vector<WgmmaConfig> near_tiles(const WgmmaConfig& config, const GemmTraits& traits) {
  constexpr int kStep = 8, kWidestStep = 64;  // of the lines of the menu
  std::vector<WgmmaConfig> near;
  for (const int direction : {-1, 1}) {
    for (int step = kStep; step <= kWidestStep; step += kStep) {
      WgmmaConfig other = config;
      (config.transposed ? other.block_m : other.block_n) += direction * step;
      if (!is_in_menu(other, traits) || deepest(other, traits) == 0) continue;
      near.push_back(other);
      break;
    }
  }
  WgmmaConfig staying = config;
  staying.one_tile = !config.one_tile;
  if (is_in_menu(staying, traits)) near.push_back(staying);
  return near;
}

}  // namespace

std::vector<WgmmaConfig> wgmma_menu(const GemmTraits& traits) {
  std::vector<WgmmaConfig> menu;
  if (!has_wgmma_types(traits)) return menu;
  const auto append = [&](const auto& lines, bool split_k) {
    for (const WgmmaTiles& tiles : lines) {
      for_each_tile(tiles, [&](WgmmaConfig config) {
        config.split_k = split_k;
        append_pipelines(config, traits, menu);
      });
    }
  };
  if (!has_aligned_rows(traits)) {
    for (const WgmmaTiles& tiles : kThreadTiles) {
      for_each_tile(tiles, [&](const WgmmaConfig& config) { append_thread_loads(config, traits, menu); });
    }
    return menu;
  }
  append(kWgmmaTiles, false);
  append(kTransposedTiles, false);
  if (loads_rows_of_b(traits)) append(kLoadedTiles, false);
  append(kSplitTiles, true);
  return menu;
}

std::vector<WgmmaConfig> wgmma_anchors(const GemmTraits& traits) {
  std::vector<WgmmaConfig> anchors;
  if (!has_wgmma_types(traits)) return anchors;
  for (const WgmmaTiles& tiles : kWgmmaAnchors) {
    for_each_tile(tiles, [&](WgmmaConfig config) {
      if (config.block_m + config.block_n <= kNarrowAnchorExtent) config.block_k = 128;
      append_anchor(config, traits, anchors);
    });
  }
  if (loads_rows_of_b(traits)) {
    for (const WgmmaTiles& tiles : kLoadedAnchors)
      for_each_tile(tiles, [&](const WgmmaConfig& config) { append_anchor(config, traits, anchors); });
  }
  for (const WgmmaTiles& tiles : kThreadAnchors) {
    for_each_tile(tiles, [&](WgmmaConfig config) {
      for (config.loaders = 1; config.loaders <= 2; ++config.loaders) anchors.push_back(config);
    });
  }
  for (const WgmmaTiles& tiles : kSplitAnchors) {
    for_each_tile(tiles, [&](WgmmaConfig config) {
      config.split_k = true;
      if (config.block_m + config.block_n <= kDeepTileExtent) config.block_k = 128;
      append_anchor(config, traits, anchors);
    });
  }
  for (const WgmmaSharingTiles& sharing : kSharingAnchors) {
    for_each_tile(sharing, [&](WgmmaConfig config) {
      config.block_k = sharing.block_k;
      config.blocks_per_sm = sharing.blocks_per_sm;
      config.cluster_m = sharing.cluster_m;
      config.cluster_n = sharing.cluster_n;
      config.split_k = sharing.split_k;
      anchors.push_back(with_stages(config, traits));
    });
  }
  return anchors;
}

std::vector<WgmmaConfig> wgmma_variants(const WgmmaConfig& config, const GemmTraits& traits) {
  std::vector<WgmmaConfig> variants;
  if (config.loaders > 0 || config.blocks_per_sm > 1 || !is_in_menu(config, traits)) return variants;
  const int short_k = typed_block_k(64, traits.element), long_k = typed_block_k(128, traits.element);
  const auto append = [&](WgmmaConfig variant) {
    const bool is_too_large = variant.block_m + variant.block_n > kDeepTileExtent;
    if (variant.block_k == long_k && is_too_large) return;
    if (variant.cluster() > 2 && !takes_clusters_of_four(variant)) return;
    variant.stages = config.stages;
    if (variant == config) return;
    variant.stages = deepest(variant, traits);
    if (variant.stages > 0 && is_deep_enough(variant, traits)) variants.push_back(variant);
  };
  for (const WgmmaConfig& tile : near_tiles(config, traits)) append(tile);
  WgmmaConfig variant = config;
  variant.block_k = config.block_k == long_k ? short_k : long_k;
  append(variant);
  for (const auto& [m, n] : kClusters) {
    variant = config;
    variant.cluster_m = m;
    variant.cluster_n = n;
    if (variant.cluster() > 2 && !variant.split_k) widen_for_four(variant);
    if (is_in_menu(variant, traits)) append(variant);
  }
  return variants;
}

}  // namespace hotgemm
