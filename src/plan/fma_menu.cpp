#include "plan/fma_menu.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

// clang-format off
/// The menu for f32. For TF32 its rows without cp.async are legal. For s8 k-tiles have as many bytes, and rows with slices
/// and those that spill are left out. The first kAnchors rows are anchors: they spill on no architecture, for no layout
/// and no access width.
constexpr FmaConfig kMenu[] = {
    {.block_m = 32,  .block_n = 32,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 2},
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 2},
    {.block_m = 16,  .block_n = 64,  .block_k = 32, .thread_m = 4,  .thread_n = 4,  .stages = 3, .async_copy = true},
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 4,  .thread_n = 8,  .stages = 3, .async_copy = true},
    {.block_m = 128, .block_n = 128, .block_k = 8,  .thread_m = 8,  .thread_n = 8,  .stages = 2},
    {.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 3, .async_copy = true},
    {.block_m = 256, .block_n = 128, .block_k = 16, .thread_m = 16, .thread_n = 8,  .stages = 3, .async_copy = true},
    {.block_m = 1,   .block_n = 32,  .block_k = 128, .thread_m = 1,  .thread_n = 1,  .stages = 4, .packed = false, .async_copy = true, .slices = 4},
    {.block_m = 32,  .block_n = 1,   .block_k = 128, .thread_m = 1,  .thread_n = 1,  .stages = 4, .packed = false, .async_copy = true, .slices = 4},
    {.block_m = 4,   .block_n = 32,  .block_k = 128, .thread_m = 2,  .thread_n = 2,  .stages = 4, .packed = false, .async_copy = true, .slices = 4},
    {.block_m = 32,  .block_n = 4,   .block_k = 128, .thread_m = 2,  .thread_n = 2,  .stages = 4, .packed = false, .async_copy = true, .slices = 4},
    {.block_m = 8,   .block_n = 32,  .block_k = 128, .thread_m = 4,  .thread_n = 2,  .stages = 3, .packed = false, .async_copy = true, .slices = 4},
    {.block_m = 32,  .block_n = 8,   .block_k = 128, .thread_m = 2,  .thread_n = 4,  .stages = 3, .packed = false, .async_copy = true, .slices = 4},
    // few rows or columns
    {.block_m = 1,   .block_n = 128, .block_k = 32,  .thread_m = 1,  .thread_n = 4,  .stages = 4, .packed = false, .async_copy = true, .slices = 8},
    {.block_m = 128, .block_n = 1,   .block_k = 32,  .thread_m = 4,  .thread_n = 1,  .stages = 4, .packed = false, .async_copy = true, .slices = 8},
    {.block_m = 8,   .block_n = 128, .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 128, .block_n = 8,   .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 64,  .block_n = 16,  .block_k = 32, .thread_m = 4,  .thread_n = 4,  .stages = 3, .async_copy = true},
    {.block_m = 16,  .block_n = 128, .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 32,  .block_n = 32,  .block_k = 32, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 32,  .block_n = 64,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 64,  .block_n = 32,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 16,  .block_n = 32,  .block_k = 128, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true, .slices = 8},
    {.block_m = 32,  .block_n = 16,  .block_k = 128, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true, .slices = 8},
    {.block_m = 32,  .block_n = 32,  .block_k = 64,  .thread_m = 8,  .thread_n = 4,  .stages = 4, .async_copy = true, .slices = 4},
    {.block_m = 32,  .block_n = 64,  .block_k = 32,  .thread_m = 8,  .thread_n = 8,  .stages = 4, .async_copy = true, .slices = 4},
    {.block_m = 64,  .block_n = 32,  .block_k = 32,  .thread_m = 8,  .thread_n = 8,  .stages = 4, .async_copy = true, .slices = 4},
    // squares and their neighbours
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 8,  .thread_n = 4,  .stages = 3, .async_copy = true},
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 4, .async_copy = true},
    {.block_m = 64,  .block_n = 128, .block_k = 8,  .thread_m = 8,  .thread_n = 8,  .stages = 2},
    {.block_m = 128, .block_n = 64,  .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 3, .async_copy = true},
    {.block_m = 64,  .block_n = 128, .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 3, .async_copy = true},
    {.block_m = 96,  .block_n = 128, .block_k = 16, .thread_m = 12, .thread_n = 8,  .stages = 3, .async_copy = true},
    {.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 2},
    {.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 2, .async_copy = true, .blocks_per_sm = 2},
    {.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 3, .async_copy = true, .blocks_per_sm = 2},
    {.block_m = 128, .block_n = 128, .block_k = 8,  .thread_m = 8,  .thread_n = 8,  .stages = 4, .async_copy = true, .blocks_per_sm = 2},
    {.block_m = 128, .block_n = 128, .block_k = 8,  .thread_m = 16, .thread_n = 8,  .stages = 2, .blocks_per_sm = 2},
    {.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 16, .thread_n = 8,  .stages = 3, .async_copy = true, .blocks_per_sm = 2},
    {.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8,  .thread_n = 16, .stages = 3, .async_copy = true, .blocks_per_sm = 2},
    // large
    {.block_m = 256, .block_n = 128, .block_k = 8,  .thread_m = 16, .thread_n = 8,  .stages = 2},
    {.block_m = 256, .block_n = 128, .block_k = 16, .thread_m = 16, .thread_n = 8,  .stages = 2},
    {.block_m = 256, .block_n = 128, .block_k = 8,  .thread_m = 16, .thread_n = 8,  .stages = 4, .async_copy = true},
    {.block_m = 256, .block_n = 128, .block_k = 32, .thread_m = 16, .thread_n = 8,  .stages = 2, .async_copy = true},
    {.block_m = 128, .block_n = 256, .block_k = 8,  .thread_m = 8,  .thread_n = 16, .stages = 2},
    {.block_m = 128, .block_n = 256, .block_k = 16, .thread_m = 8,  .thread_n = 16, .stages = 2},
    {.block_m = 128, .block_n = 256, .block_k = 8,  .thread_m = 8,  .thread_n = 16, .stages = 4, .async_copy = true},
    {.block_m = 128, .block_n = 256, .block_k = 16, .thread_m = 8,  .thread_n = 16, .stages = 3, .async_copy = true},
};
constexpr std::size_t kAnchors = 13;

/// A tile whose threads read quads.
struct QuadTile {
  int block_m, block_n, block_k, thread_m, thread_n, stages, slices;
};
/// The tiles for f32 in layout nt that follow those of kMenu, each also with m and n exchanged. The first kQuadAnchors
/// are anchors.
constexpr QuadTile kQuadTiles[] = {
    {1,  32,  128, 1, 1, 4, 8},
    {2,  16,  256, 2, 1, 4, 16},
    {4,  32,  256, 2, 2, 3, 8},
    {8,  32,  128, 4, 2, 4, 8},
    {16, 32,  128, 4, 4, 4, 8},
    {32, 32,  128, 4, 4, 4, 4},
    {32, 64,  32,  8, 8, 4, 4},
    {64, 64,  32,  8, 8, 4, 2},
    // not anchors
    {1,  8,   256, 1, 1, 4, 16},
    {1,  64,  128, 1, 1, 4, 4},
    {32, 64,  32,  8, 8, 4, 2},
    {32, 64,  32,  8, 4, 4, 2},
    {64, 128, 32,  8, 8, 3, 1},
};
constexpr std::size_t kQuadAnchors = 8;
// clang-format on

/// The configs of the first `count` tiles for f32 in layout nt; none for other types and layouts.
std::vector<FmaConfig> of_quads(std::size_t count, const GemmTraits& traits) {
  std::vector<FmaConfig> configs;
  if (traits.element != DType::f32 || !traits.a_is_k_major() || !traits.b_is_k_major()) return configs;
  for (const QuadTile& tile : std::span(kQuadTiles).first(count)) {
    FmaConfig config{.block_m = tile.block_m,
                     .block_n = tile.block_n,
                     .block_k = tile.block_k,
                     .thread_m = tile.thread_m,
                     .thread_n = tile.thread_n,
                     .stages = tile.stages,
                     .packed = false,
                     .async_copy = true,
                     .transposed = false,
                     .slices = tile.slices,
                     .quads = true};
    configs.push_back(config);
    std::swap(config.block_m, config.block_n);
    std::swap(config.thread_m, config.thread_n);
    if (config.block_m != config.block_n) configs.push_back(config);
  }
  return configs;
}

/// The configs with the access width of the operands.
std::vector<FmaConfig> with_access(std::vector<FmaConfig> configs, const GemmTraits& traits) {
  const bool has_menu = traits.element == DType::f32 || traits.element == DType::tf32 || traits.element == DType::s8;
  if (!has_menu) return {};
  const int bytes = size_bytes(traits.element);
  for (FmaConfig& config : configs) {
    config.block_k = config.block_k * 4 / bytes;
    config.access = std::min({traits.vec_a, traits.vec_b, 16 / bytes});
    // A tile of one row or column may be stored along it.
    while (config.access > 1 && !has_whole_accesses(config, traits)) config.access /= 2;
  }
  // Slices were not timed with s8. Its copies that cross the edge within a word need more registers.
  const auto is_left_out = [&](const FmaConfig& c) {
    return c.slices > 1 || (c.thread_m * c.thread_n > 64 && c.staging_registers(traits) > 16);
  };
  if (traits.element == DType::s8) std::erase_if(configs, is_left_out);
  return configs;
}

/// The first `rows` of kMenu and `quads` of kQuadTiles.
std::vector<FmaConfig> first_of(std::size_t rows, std::size_t quads, const GemmTraits& traits) {
  std::vector<FmaConfig> configs(kMenu, kMenu + rows);
  std::ranges::copy(of_quads(quads, traits), std::back_inserter(configs));
  return with_access(std::move(configs), traits);
}

}  // namespace

std::vector<FmaConfig> fma_menu(const GemmTraits& traits) {
  return first_of(std::size(kMenu), std::size(kQuadTiles), traits);
}

std::vector<FmaConfig> fma_anchors(const GemmTraits& traits) { return first_of(kAnchors, kQuadAnchors, traits); }

}  // namespace hotgemm
