#pragma once

#include "shared/fragment.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// The sums of 16 rows and 8 columns of a tile, which one warp holds: group number `group` of 8 columns of the
/// consumer's part, in 64 rows number `block` of it. Warps are counted over all consumers.
struct SplitUnit {
  int warp;
  int block;
  int group;
};

/// The layout of a slot: the f32 sums of one split of a tile, unit by unit. A warp stores and loads a unit at once.
template <WgmmaConfig kConfig>
struct SplitSlots {
  static constexpr int kWarps = kConfig.consumers * 4;
  static constexpr int kGroups = kConfig.consumer_n() / kMmaN;
  static constexpr int kUnitBytes = kMmaM * kMmaN * 4;
  static constexpr int kUnits = kConfig.block_m * kConfig.block_n / (kMmaM * kMmaN);
  static constexpr int kBytes = kUnits * kUnitBytes;

  static constexpr int unit(int warp, int block, int group) { return (block * kGroups + group) * kWarps + warp; }
  static constexpr SplitUnit place(int unit) {
    return {unit % kWarps, unit / kWarps / kGroups, unit / kWarps % kGroups};
  }
  /// The counters of a tile: one of arrivals, and one of each owner.
  static constexpr unsigned counters(unsigned splits) { return 1 + splits; }
};

}  // namespace hotgemm
