#pragma once

// The schedules of family `wgmma`: the work items of a block, and their order.
//
// A schedule is a class with the members of WholeTiles. The producer and each consumer iterate over the same items, so
// that they need no communication to agree on the work.

#include "ptx/index.hpp"
#include "row_groups.cuh"
#include "shared/gemm_args.hpp"
#include "shared/tile_order.hpp"
#include "shared/wgmma_config.hpp"
#include "wgmma_batch.cuh"

namespace hotgemm {

/// A tile of D, and the k-tiles whose products are added up for it.
struct WorkItem {
  int m;  ///< first row of the tile
  int n;  ///< first column
  int first_k_tile;
  int k_tiles;      ///< at least 1; if k is 0, it is 0 in every item. An item of a divided k may have none
  u32 turn;         ///< number of items that this block has taken before
  u32 product = 0;  ///< number of the product in a batch
  // If blocks divide k (wgmma_split.cuh):
  u32 tile = 0;    ///< number of the tile in raster order, over all products of a batch
  u32 split = 0;   ///< number of the range of k-tiles
  u32 splits = 1;  ///< ranges of each tile
};

/// A work item of a grouped product. Its `m` and `product` are those of the group.
template <bool kMasked>
struct GroupItem : WorkItem {
  RowGroup group;
};
/// The same for groups along k. Its k-tiles are those of the group, which may have none.
struct KGroupItem : WorkItem {
  KGroup group;
};

/// How an item says which product it belongs to (ProductOf), which matrices loads read, and which rows of A.
HOTGEMM_DEVICE u32 product_of(const WorkItem& item) { return item.product; }
template <bool kMasked>
HOTGEMM_DEVICE RowGroup product_of(const GroupItem<kMasked>& item) {
  return item.group;
}
HOTGEMM_DEVICE KGroup product_of(const KGroupItem& item) { return item.group; }
HOTGEMM_DEVICE u32 matrix_of(const WorkItem& item) { return item.product; }
HOTGEMM_DEVICE KGroup matrix_of(const KGroupItem& item) { return item.group; }
HOTGEMM_DEVICE int row_of_a(const WorkItem& item) { return item.m; }
HOTGEMM_DEVICE int row_of_a(const GroupItem<false>& item) { return item.group.begin + item.m; }

/// Each item is a whole tile with all of k. Clusters take their tiles in raster order, product by product.
template <WgmmaConfig kConfig, bool kBatched>
class WholeTiles {
 public:
  using Item = WorkItem;

  /// `rank` is the rank of this block in its cluster.
  HOTGEMM_DEVICE WholeTiles(const WgmmaArgs& args, u32 rank)
      : parameter_(args),
        args_(args.gemm),
        rank_(rank),
        k_tiles_((args_.k + kConfig.block_k - 1) / kConfig.block_k),
        tiles_m_(tiles(args_.m, kConfig.block_m * kConfig.cluster_m)),
        tiles_n_(tiles(args_.n, kConfig.block_n * kConfig.cluster_n)) {}

  /// True if there are products to compute, that is, if k is not 0.
  HOTGEMM_DEVICE bool has_products() const { return k_tiles_ > 0; }

  /// Calls use(item) for each item of this block. If the tiles of a cluster extend beyond D, an item may lie outside
  /// D; the sinks store nothing of it.
  template <class Use>
  HOTGEMM_DEVICE void for_each_item(Use&& use) const {
    const u32 of_product = tiles_m_ * tiles_n_, count = of_product * products_of<kBatched>(parameter_);
    const u32 step = ptx::grid_size() / kConfig.cluster();
    u32 cluster_tile = ptx::block_index() / kConfig.cluster();
    for (u32 turn = 0; cluster_tile < count; ++turn, cluster_tile += step) {
      const u32 product = kBatched ? cluster_tile / of_product : 0;
      const TileCoord at = tile_at(cluster_tile - product * of_product, tiles_m_, tiles_n_,
                                   static_cast<u32>(args_.raster_width), args_.raster_along_n != 0);
      const int rank = static_cast<int>(rank_);
      use(WorkItem{.m = (at.m * kConfig.cluster_m + rank % kConfig.cluster_m) * kConfig.block_m,
                   .n = (at.n * kConfig.cluster_n + rank / kConfig.cluster_m) * kConfig.block_n,
                   .first_k_tile = 0,
                   .k_tiles = k_tiles_,
                   .turn = turn,
                   .product = product});
      if constexpr (kConfig.one_tile) return;
    }
  }

 private:
  static HOTGEMM_DEVICE u32 tiles(int extent, int tile) { return static_cast<u32>((extent - 1) / tile + 1); }

  const WgmmaArgs& parameter_;
  const GemmArgs& args_;
  u32 rank_;
  int k_tiles_;
  u32 tiles_m_, tiles_n_;  // counted in tiles of a whole cluster
};

/// The same for the groups of a grouped product, whose sizes the kernel reads. Clusters go through the tiles of all
/// groups in turns, so that their work is balanced however the rows are divided.
template <WgmmaConfig kConfig, bool kMasked>
class GroupTiles {
 public:
  using Item = GroupItem<kMasked>;

  HOTGEMM_DEVICE GroupTiles(const WgmmaArgs& args, u32 rank)
      : parameter_(args), args_(args.gemm), rank_(static_cast<int>(rank)) {}

  HOTGEMM_DEVICE bool has_products() const { return args_.k > 0; }

  /// All lanes of a warp call it.
  template <class Use>
  HOTGEMM_DEVICE void for_each_item(Use&& use) const {
    constexpr int kClusterRows = kConfig.block_m * kConfig.cluster_m,
                  kClusterCols = kConfig.block_n * kConfig.cluster_n;
    u32 turn = 0;
    for_each_group_tile<kMasked>(
        args_, groups_of(parameter_), batch_of(parameter_).count, kClusterRows, kClusterCols,
        ptx::block_index() / kConfig.cluster(), ptx::grid_size() / kConfig.cluster(), [&](const GroupTile& tile) {
          use(Item{{.m = (tile.at.m * kConfig.cluster_m + rank_ % kConfig.cluster_m) * kConfig.block_m,
                    .n = (tile.at.n * kConfig.cluster_n + rank_ / kConfig.cluster_m) * kConfig.block_n,
                    .first_k_tile = 0,
                    .k_tiles = (args_.k + kConfig.block_k - 1) / kConfig.block_k,
                    .turn = turn,
                    .product = static_cast<u32>(tile.group.number)},
                   tile.group});
          ++turn;
        });
  }

 private:
  const WgmmaArgs& parameter_;
  const GemmArgs& args_;
  int rank_;
};

/// The same for groups along k: the tiles of their products, each with the k-tiles of its group.
template <WgmmaConfig kConfig>
class KGroupTiles {
 public:
  using Item = KGroupItem;

  HOTGEMM_DEVICE KGroupTiles(const WgmmaArgs& args, u32 rank) : args_(args), tiles_(args, rank) {}

  HOTGEMM_DEVICE bool has_products() const { return tiles_.has_products(); }

  template <class Use>
  HOTGEMM_DEVICE void for_each_item(Use&& use) const {
    tiles_.for_each_item([&](const WorkItem& tile) {
      KGroupItem item{tile, k_group_at(groups_of(args_), tile.product, args_.gemm.k)};
      item.k_tiles = (item.group.k + kConfig.block_k - 1) / kConfig.block_k;
      use(item);
    });
  }

 private:
  const WgmmaArgs& args_;
  WholeTiles<kConfig, true> tiles_;
};

/// The schedule of whole tiles for a kernel.
template <WgmmaConfig kConfig, GemmTraits kTraits, bool kCountsRows = kTraits.counts_rows(),
          bool kAlongK = kTraits.along_k>
struct ScheduleOf {
  using Type = WholeTiles<kConfig, kTraits.batched>;
};
template <WgmmaConfig kConfig, GemmTraits kTraits>
struct ScheduleOf<kConfig, kTraits, true, false> {
  using Type = GroupTiles<kConfig, kTraits.masked>;
};
template <WgmmaConfig kConfig, GemmTraits kTraits>
struct ScheduleOf<kConfig, kTraits, false, true> {
  using Type = KGroupTiles<kConfig>;
};

}  // namespace hotgemm
