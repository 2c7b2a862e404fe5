#include "plan/wgmma_menu.hpp"

#include <iterator>
#include <utility>

namespace hotgemm {
namespace {

struct WgmmaMenuTile {
  int block_m, block_n, block_k, consumers;
};

// clang-format off
constexpr WgmmaMenuTile kTiles[] = {
    {64,  16,  64, 1}, {64,  32,  64, 1}, {64,  64,  64, 1}, {64,  128, 64, 1}, {64, 256, 64, 1},
    {64,  16, 128, 1}, {64,  32, 128, 1}, {64,  64, 128, 1},
    {128, 32,  64, 2}, {128, 64,  64, 2}, {128, 96,  64, 2}, {128, 128, 64, 2}, {128, 160, 64, 2}, {128, 192, 64, 2},
    {128, 256, 64, 2}, {128, 64, 128, 2},
    {256, 64,  64, 2}, {256, 128, 64, 2}, {256, 192, 64, 2},
    {192, 128, 64, 3}, {192, 160, 64, 3},
};

constexpr WgmmaConfig kAnchors[] = {
    {.block_m = 64,  .block_n = 64,  .consumers = 1, .stages = 4},
    {.block_m = 64,  .block_n = 128, .consumers = 1, .stages = 4},
    {.block_m = 128, .block_n = 128, .consumers = 2, .stages = 4},
    {.block_m = 128, .block_n = 256, .consumers = 2, .stages = 4},
    {.block_m = 128, .block_n = 256, .consumers = 2, .stages = 4, .cluster_m = 2},
    {.block_m = 256, .block_n = 128, .consumers = 2, .stages = 4, .cluster_n = 2},
};
// clang-format on

}  // namespace

std::vector<WgmmaConfig> wgmma_menu(const GemmTraits&) {
  std::vector<WgmmaConfig> configs;
  for (const WgmmaMenuTile& tile : kTiles) {
    for (const int stages : {3, 4, 6, 8}) {
      for (const auto& [cluster_m, cluster_n] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2)}) {
        for (const int blocks_per_sm : {1, 2}) {
          configs.push_back({.block_m = tile.block_m,
                             .block_n = tile.block_n,
                             .block_k = tile.block_k,
                             .consumers = tile.consumers,
                             .stages = stages,
                             .cluster_m = cluster_m,
                             .cluster_n = cluster_n,
                             .blocks_per_sm = blocks_per_sm});
        }
      }
    }
  }
  return configs;
}

std::vector<WgmmaConfig> wgmma_anchors() { return {std::begin(kAnchors), std::end(kAnchors)}; }

}  // namespace hotgemm
