#include "plan/fma_menu.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace hotgemm {
namespace {

// clang-format off
/// The menu for f32. For TF32 its rows without cp.async are legal. For s8 k-tiles have as many bytes, and rows that spill
/// are left out. The first kAnchors rows are anchors: they spill on no architecture, for no layout and no access width.
constexpr FmaConfig kMenu[] = {
    {.block_m = 32,  .block_n = 32,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 2},
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 2},
    {.block_m = 16,  .block_n = 64,  .block_k = 32, .thread_m = 4,  .thread_n = 4,  .stages = 3, .async_copy = true},
    {.block_m = 64,  .block_n = 64,  .block_k = 16, .thread_m = 4,  .thread_n = 8,  .stages = 3, .async_copy = true},
    {.block_m = 128, .block_n = 128, .block_k = 8,  .thread_m = 8,  .thread_n = 8,  .stages = 2},
    {.block_m = 128, .block_n = 128, .block_k = 16, .thread_m = 8,  .thread_n = 8,  .stages = 3, .async_copy = true},
    {.block_m = 256, .block_n = 128, .block_k = 16, .thread_m = 16, .thread_n = 8,  .stages = 3, .async_copy = true},
    // few rows or columns
    {.block_m = 8,   .block_n = 128, .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 128, .block_n = 8,   .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 64,  .block_n = 16,  .block_k = 32, .thread_m = 4,  .thread_n = 4,  .stages = 3, .async_copy = true},
    {.block_m = 16,  .block_n = 128, .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 32,  .block_n = 32,  .block_k = 32, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 32,  .block_n = 64,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
    {.block_m = 64,  .block_n = 32,  .block_k = 16, .thread_m = 4,  .thread_n = 4,  .stages = 4, .async_copy = true},
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
constexpr std::size_t kAnchors = 7;
// clang-format on

std::vector<FmaConfig> with_access(const FmaConfig* begin, const FmaConfig* end, const GemmTraits& traits) {
  const bool has_menu = traits.element == DType::f32 || traits.element == DType::tf32 || traits.element == DType::s8;
  if (!has_menu) return {};
  const int bytes = size_bytes(traits.element);
  std::vector<FmaConfig> configs(begin, end);
  for (FmaConfig& config : configs) {
    config.block_k = config.block_k * 4 / bytes;
    config.access = std::min({traits.vec_a, traits.vec_b, 16 / bytes});
  }
  // Copies of s8 that cross the edge within a word need more registers.
  const auto spills = [&](const FmaConfig& c) {
    return c.thread_m * c.thread_n > 64 && c.staging_registers(traits) > 16;
  };
  if (traits.element == DType::s8) std::erase_if(configs, spills);
  return configs;
}

}  // namespace

std::vector<FmaConfig> fma_menu(const GemmTraits& traits) {
  return with_access(std::begin(kMenu), std::end(kMenu), traits);
}

std::vector<FmaConfig> fma_anchors(const GemmTraits& traits) {
  return with_access(std::begin(kMenu), std::begin(kMenu) + kAnchors, traits);
}

}  // namespace hotgemm
