#pragma once

#include "shared/gemm_args.hpp"
#include "shared/row_groups.hpp"
#include "standin/kernel_symbol.hpp"
#include "standin/ledger.hpp"

#include <algorithm>

namespace hotgemm::standin {

/// The blocks that share a tile of a kernel with workspace.
inline int parts_of_tile(const GemmKernel& kernel, unsigned grid, const GemmArgs& args, long long products) {
  if (!kernel.splits_k) return kernel.splits;
  const long long rows = (args.m - 1) / kernel.block_m + 1, columns = (args.n - 1) / kernel.block_n + 1;
  return static_cast<int>(std::max(grid / (rows * columns * products), 1LL));
}

/// The blocks that a grid should have: at most as many persistent ones as the SM limit of the script allows.
inline long long expected_blocks(const Ledger& ledger, const GemmKernel& kernel, unsigned grid, const GemmArgs& args,
                                 long long products) {
  const int tile_rows = kernel.block_m * kernel.cluster_m;
  const bool grouped = kernel.traits.divides_rows();
  const long long rows = grouped ? most_tile_rows(args.m, products, tile_rows) : (args.m - 1) / tile_rows + 1;
  const long long columns = (args.n - 1) / (kernel.block_n * kernel.cluster_n) + 1;
  const int cluster = kernel.cluster_m * kernel.cluster_n;
  const int limit = ledger.script.sm_limit;
  const long long resident = (limit > 0 ? limit : Ledger::kSmCount * kernel.blocks_per_sm) / cluster;
  const long long tiles = rows * columns * (grouped ? 1 : products);
  if (kernel.splits_k) return tiles * parts_of_tile(kernel, grid, args, products);
  if (kernel.splits > 0) return tiles * kernel.splits;
  return (kernel.blocks_per_sm > 0 ? std::min(tiles, resident) : tiles) * cluster;
}

}  // namespace hotgemm::standin
