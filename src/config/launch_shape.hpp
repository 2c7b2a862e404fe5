#pragma once

#include "config/kernel_config.hpp"
#include "config/launch_config.hpp"
#include "config/max_size.hpp"
#include "config/sm_limit.hpp"
#include "shared/row_groups.hpp"

#include <compare>
#include <cstdint>

namespace hotgemm {

/// The SMs that clusters of so many blocks reach. The SMs of some parts of a GPU are no multiple of four: an H200 holds
/// 30 to 32 clusters of four, and 120 of its 132 SMs count.
constexpr int sms_of_clusters(int sm_count, int cluster) { return cluster <= 2 ? sm_count : sm_count - sm_count / 11; }

/// The values that all launches of a config's kernel share.
struct LaunchShape {
  int tile_m;             ///< rows of D that a cluster computes at a time, or a block without a cluster
  int tile_n;             ///< columns, likewise
  int cluster;            ///< blocks in a cluster; 1 without clusters
  int threads;            ///< threads of a block
  int smem_bytes;         ///< dynamic shared memory of a block
  int blocks_per_sm;      ///< number of persistent blocks per SM, which take tile after tile; 0 if each block takes one
  bool splits_k = false;  ///< several blocks compute a tile, each a part of k: LaunchConfig::splits of them
  bool divides_rows = true;  ///< groups have rows of one D; false: each has a D of m rows, as the products of a batch

  friend auto operator<=>(const LaunchShape&, const LaunchShape&) = default;

  /// The number of tiles of one D. m and n are at least 1.
  constexpr std::int64_t tiles(std::int64_t m, std::int64_t n) const {
    return ((m - 1) / tile_m + 1) * ((n - 1) / tile_n + 1);
  }
  /// The tiles of `batch` products, or the most that `groups` groups can have. More than a grid can have are counted as
  /// 2^38, so that products of the result fit.
  constexpr std::int64_t tiles(std::int64_t m, std::int64_t n, std::int64_t batch, std::int64_t groups = 0) const {
    constexpr std::int64_t kMany = std::int64_t{1} << 38;
    if (groups > 0 && divides_rows) {
      const std::int64_t rows = most_tile_rows(m, groups, tile_m), columns = (n - 1) / tile_n + 1;
      return rows > kMany / columns ? kMany : rows * columns;
    }
    const std::int64_t of_one = tiles(m, n), products = groups > 0 ? groups : batch;
    return products > 1 && of_one > kMany / products ? kMany : of_one * products;
  }
  /// True if a grid can have a block for each tile of `batch` products or of the groups, and no size is above kMaxSize.
  constexpr bool fits(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1,
                      std::int64_t groups = 0) const {
    constexpr std::int64_t kMostBlocks = 0x7fffffff;
    const std::int64_t most = kMostBlocks / (splits_k ? kMostSplits : 1);
    return m <= kMaxSize && n <= kMaxSize && k <= kMaxSize && batch <= kMaxSize &&
           tiles(m, n, batch, groups) * cluster <= most;
  }
  /// The number of blocks of a grid on a GPU with `sm_count` SMs. Persistent blocks stay within `sm_limit`, the SM
  /// limit of the problem, if they can; a GPU places each block on an SM of its own while it has one, so that they are
  /// at most as many as the SMs.
  constexpr std::int64_t blocks(std::int64_t m, std::int64_t n, int sm_count, int splits = 1, int sm_limit = 0,
                                std::int64_t batch = 1, std::int64_t groups = 0) const {
    std::int64_t clusters = tiles(m, n, batch, groups) * (splits_k ? splits : 1);
    if (blocks_per_sm > 0) {
      const std::int64_t sms = sms_of_clusters(sm_count, cluster);
      const std::int64_t limited = sm_limit < sms ? sm_limit : sms;
      const std::int64_t at_once = leaves_out_sms(sm_limit, sm_count) ? limited : sms * blocks_per_sm;
      const std::int64_t resident = at_once / cluster;
      if (clusters > resident) clusters = resident > 0 ? resident : 1;
    }
    return clusters * cluster;
  }
};

LaunchShape launch_shape(const KernelConfig& config, const GemmTraits& traits);

/// The alpha that kernels get if k or alpha is zero. Kernels multiply it with a sum of zero and add beta * C, so the
/// caller's alpha cannot be used: infinity times zero is NaN. Negative zero plus beta * C is beta * C, even if that is
/// negative zero. If beta is zero, D must be positive zero.
constexpr float empty_alpha(float beta) { return beta == 0 ? 0.0f : -0.0f; }

}  // namespace hotgemm
