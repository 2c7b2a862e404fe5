#pragma once

// The sum of the parts of a tile in family `wgmma`, if blocks divide k among them.
//
//   block of split s:  products of its k-tiles ──▶ slot s of the tile ──▶ arrives
//   owner o:           waits until all have arrived, for a while ──▶ adds its units over all slots, in order ──▶ D
//
// A slot holds the f32 sums of one split, a tile has a slot for each split. A unit is what one warp holds of 16 rows
// and 8 columns: 512 bytes of a slot, 16 bytes of each lane. Each of the first blocks of a tile owns some of its units,
// so that all of them reduce at once and each reads about as much as it has written.
//
// No block relies on another block being resident. An owner waits for a limited number of polls only, and then leaves;
// the last to arrive reduces the units of the owners that have left. All that blocks decide about a tile goes through
// one word, so that its order is the same for all: who arrives last, and whether an owner left before that. The sums do
// not depend on who reduces, since the order of the additions is fixed by the number of splits.

#include "pair_access.cuh"
#include "ptx/atomic.hpp"
#include "ptx/convert.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/named_barrier.hpp"
#include "shared/even_share.hpp"
#include "shared/split_slots.hpp"
#include "shared/workspace_args.hpp"
#include "wgmma_batch.cuh"
#include "wgmma_epilogue.cuh"
#include "wgmma_schedule.cuh"

namespace hotgemm {

/// Each block has one item: a tile, and a part of its k. The blocks of a cluster have the same part of neighbouring
/// tiles, and neighbouring clusters have the other parts of these tiles. Without clusters, neighbouring blocks have
/// neighbouring tiles and the same part of k: they read the same rows at the same time, which L2 reads once. The grid
/// has the same number of blocks for each tile.
template <WgmmaConfig kConfig, bool kBatched>
class SplitTiles {
 public:
  using Item = WorkItem;

  HOTGEMM_DEVICE SplitTiles(const WgmmaArgs& args, u32 rank)
      : args_(args.gemm),
        rank_(rank),
        k_tiles_((args_.k + kConfig.block_k - 1) / kConfig.block_k),
        products_(products_of<kBatched>(args)) {}

  HOTGEMM_DEVICE bool has_products() const { return k_tiles_ > 0; }

  /// A tile of a cluster may lie outside D. Its sums are computed and added, and not stored.
  template <class Use>
  HOTGEMM_DEVICE void for_each_item(Use&& use) const {
    constexpr u32 kCluster = kConfig.cluster();
    const u32 groups_m = groups(args_.m, kConfig.block_m * kConfig.cluster_m);
    const u32 groups_n = groups(args_.n, kConfig.block_n * kConfig.cluster_n);
    const u32 splits = ptx::grid_size() / (groups_m * groups_n * products_ * kCluster);
    u32 group = ptx::block_index() / kCluster / splits, split = ptx::block_index() / kCluster % splits;
    if constexpr (kCluster == 1) {
      const u32 all = groups_m * groups_n * products_;
      group = ptx::block_index() % all;
      split = ptx::block_index() / all;
    }
    const u32 product = kBatched ? group / (groups_m * groups_n) : 0;
    const TileCoord at = tile_at(group - product * (groups_m * groups_n), groups_m, groups_n,
                                 static_cast<u32>(args_.raster_width), args_.raster_along_n != 0);
    const int rank = static_cast<int>(rank_);
    const ItemRange range = even_share(k_tiles_, static_cast<int>(split), static_cast<int>(splits));
    use(WorkItem{.m = (at.m * kConfig.cluster_m + rank % kConfig.cluster_m) * kConfig.block_m,
                 .n = (at.n * kConfig.cluster_n + rank / kConfig.cluster_m) * kConfig.block_n,
                 .first_k_tile = range.first,
                 .k_tiles = range.count,
                 .turn = 0,
                 .product = product,
                 .tile = group * kCluster + rank_,
                 .split = split,
                 .splits = splits});
  }

 private:
  /// `size` counts the rows, or columns, of all tiles of a cluster.
  static HOTGEMM_DEVICE u32 groups(int extent, int size) { return static_cast<u32>((extent - 1) / size + 1); }

  const GemmArgs& args_;
  u32 rank_;
  int k_tiles_;
  u32 products_;
};

/// Adds the parts of a tile, and stores what this block owns of the sum. All methods are called by all consumers.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op>
class SplitSum {
  using Slots = SplitSlots<kConfig>;
  static constexpr int kBlocks = kConfig.consumer_m() / kWgmmaM;
  static constexpr int kWarps = kConfig.consumers * 4;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kBarrier = 1;
  /// Loads in flight of a lane. With a producer, large tiles take longer to compile, and registers are few. They are
  /// fewest if two blocks share an SM and the kernel needs some for promotion, or for a D of other than 16 bits.
  static constexpr bool kIsTight =
      kConfig.consumer_registers() <= 128 && (kConfig.promote || size_bytes(kTraits.element_d) != 2);
  static constexpr int kBatch = kConfig.one_tile && kConfig.consumer_registers() >= 208 ? 36 : kIsTight ? 16 : 20;
  static constexpr int kMostUnits = 4;  // that a warp adds at once

  // The word of a tile. Its lower half counts the blocks that have arrived, and after the last of them the owners whose
  // units somebody reduces, until it is set to zero. Its upper half counts the owners that have left.
  static constexpr u32 kOne = 1;
  static constexpr u32 kGone = 1u << 16;
  static HOTGEMM_DEVICE u32 lower(u32 word) { return word & (kGone - 1); }
  /// Polls by which an owner waits: some tens of microseconds, much longer than blocks that run at the same time
  /// differ.
  static constexpr int kPolls = 64;

 public:
  using Accumulator = WgmmaAccumulator<kTraits.accumulator, kConfig.consumer_n()>;
  /// There is no other sink: the lanes store to D.
  using Sink = SplitSum;
  static HOTGEMM_DEVICE void prefetch_maps(const WgmmaArgs& args) { static_cast<void>(args); }
  static HOTGEMM_DEVICE void drain() {}

  /// `thread` is counted from the first consumer's. `shared` is the address of kConfig's buffers of D.
  HOTGEMM_DEVICE SplitSum(const WgmmaArgs& args, u32 product, const WorkspaceArgs& workspace, int thread, u32 shared)
      : args_(product_args<kTraits>(args, product)),
        source_(args, product),
        workspace_(workspace),
        thread_(thread),
        shared_(shared) {}

  HOTGEMM_DEVICE void store(const Accumulator (&accumulators)[kBlocks], const WorkItem& item) const {
    fill_slot(accumulators, item);
    ptx::bar_sync(kBarrier, kThreads);  // all of the slot is written
    Turn turn;
    if (thread_ == 0) turn = arrive(item);
    const u32 state = broadcast(turn.state);
    if (turn.count > 0) turn.counted = lower(ptx::atom_relaxed_gpu_add_u32(word(item), turn.count));
    bool own = lower(state) != 0 && item.split < owners(item);
    // One call of reduce, which is most of the code: two would take too long to compile.
#pragma unroll 1
    for (u32 left = state / kGone + (own ? 1 : 0); left > 0; --left) {
      reduce(item, own ? item.split : broadcast(thread_ == 0 ? take_gone(item) : 0));
      own = false;
    }
    // Nobody looks at the word any more when all owners are counted. The result of the count is needed only here, so
    // that no load waits for it.
    if (turn.counted + turn.count == item.splits + owners(item)) ptx::st_relaxed_gpu_b32(word(item), 0);
  }

 private:
  /// The result of an arrival: kOne if all slots are full, so that the block reduces what it owns, and kGone for each
  /// owner whose units it is to reduce besides. `count` is the number of all these owners, and `counted` the number of
  /// arrivals and owners that were counted before.
  struct Turn {
    u32 state = 0;
    u32 count = 0;
    u32 counted = 0;
  };

  HOTGEMM_DEVICE int warp() const { return thread_ / kWarpSize; }
  HOTGEMM_DEVICE int lane() const { return thread_ % kWarpSize; }
  static HOTGEMM_DEVICE u32 owners(const WorkItem& item) {
    return item.splits < Slots::kUnits ? item.splits : Slots::kUnits;
  }
  HOTGEMM_DEVICE u64 slot(const WorkItem& item, u32 split) const {
    return workspace_.scratch + (static_cast<u64>(item.tile) * item.splits + split) * Slots::kBytes;
  }
  HOTGEMM_DEVICE u64 word(const WorkItem& item) const {
    return workspace_.counters + static_cast<u64>(item.tile) * Slots::counters(item.splits) * sizeof(u32);
  }
  /// 1 if the owner has left; its units are not reduced.
  HOTGEMM_DEVICE u64 has_left(const WorkItem& item, u32 owner) const { return word(item) + (1 + owner) * sizeof(u32); }

  HOTGEMM_DEVICE void fill_slot(const Accumulator (&accumulators)[kBlocks], const WorkItem& item) const {
    const u64 mine = slot(item, item.split) + static_cast<u64>(lane() * kChunkBytes);
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int group = 0; group < Slots::kGroups; ++group) {
        const Accumulator& sums = accumulators[i];
        ptx::st_global_v4_b32(mine + static_cast<u64>(Slots::unit(warp(), i, group)) * Slots::kUnitBytes,
                              {ptx::bits_of(sums.get(group * 4)), ptx::bits_of(sums.get(group * 4 + 1)),
                               ptx::bits_of(sums.get(group * 4 + 2)), ptx::bits_of(sums.get(group * 4 + 3))});
      }
    }
  }

  /// The value of thread 0, for all consumers.
  HOTGEMM_DEVICE u32 broadcast(u32 value) const {
    const u32 shared_word = shared_ + kWarps * Slots::kUnitBytes;  // behind the sums of the warps
    if (thread_ == 0) ptx::st_shared_b32(shared_word, value);
    ptx::bar_sync(kBarrier, kThreads);
    const u32 result = ptx::ld_shared_b32(shared_word);
    ptx::bar_sync(kBarrier, kThreads);  // the word is read before it is written again
    return result;
  }

  /// Counts this block, and waits for the others if it is an owner.
  HOTGEMM_DEVICE Turn arrive(const WorkItem& item) const {
    const bool is_owner = item.split < owners(item);
    const u32 before = ptx::atom_acq_rel_gpu_add_u32(word(item), kOne);
    u32 gone = 0;
    if (lower(before) + 1 == item.splits) {
      gone = before / kGone;
    } else if (!is_owner || !await(item)) {
      return {};
    }
    return {.state = kOne + gone * kGone, .count = gone + (is_owner ? 1 : 0)};
  }

  /// Waits for the last to arrive. False if this owner leaves before that.
  HOTGEMM_DEVICE bool await(const WorkItem& item) const {
    for (int poll = 0; poll < kPolls; ++poll) {
      if (lower(ptx::ld_acquire_gpu_b32(word(item))) >= item.splits) return true;
    }
    if (lower(ptx::atom_acq_rel_gpu_add_u32(word(item), kGone)) >= item.splits) return true;
    ptx::atom_acq_rel_gpu_exch_b32(has_left(item, item.split), 1);
    return false;
  }

  /// Finds an owner that has left. There is one: it counted itself before the last to arrive, and at once says who it
  /// is.
  HOTGEMM_DEVICE u32 take_gone(const WorkItem& item) const {
    u32 owner = 0;
    while (ptx::ld_acquire_gpu_b32(has_left(item, owner)) == 0) owner = owner + 1 == owners(item) ? 0 : owner + 1;
    ptx::st_global_b32(has_left(item, owner), 0);
    return owner;
  }

  /// A lane's part of a unit.
  struct Sums {
    float d[4] = {};
    HOTGEMM_DEVICE void add(const ptx::Vec4& v) {
      d[0] += ptx::float_of(v.x);
      d[1] += ptx::float_of(v.y);
      d[2] += ptx::float_of(v.z);
      d[3] += ptx::float_of(v.w);
    }
  };
  template <int kUnits>
  struct SumsOf {
    Sums of[kUnits];
  };

  /// Adds and stores the units of `owner`. If an owner has fewer units than a block has warps, several warps share a
  /// unit: each adds some slots, and the first of them adds their sums. All have passed a barrier since the call
  /// before.
  HOTGEMM_DEVICE void reduce(const WorkItem& item, u32 owner) const {
    const ItemRange units = even_share(Slots::kUnits, static_cast<int>(owner), static_cast<int>(owners(item)));
    int sharers = 1;
    while (2 * sharers * units.count <= kWarps) sharers *= 2;
    const int sharer = warp() % sharers;
    const ItemRange slots = even_share(static_cast<int>(item.splits), sharer, sharers);
    if (sharers == 1 && waits_less(units.count, static_cast<int>(item.splits))) return reduce_at_once(item, units);
    for (int i = warp() / sharers; i < units.count; i += kWarps / sharers) {
      const Sums sums = add_slots<1>(item, units.first + i, 1, slots).of[0];
      if (sharers > 1) put(sums);
      if (sharers == 1) store_unit(item, units.first + i, sums);
    }
    if (sharers == 1) return;
    ptx::bar_sync(kBarrier, kThreads);  // all sums are put
    if (sharer == 0 && warp() / sharers < units.count) {
      Sums sums = {};
      for (int other = 0; other < sharers; ++other) sums.add(get(warp() + other));
      store_unit(item, units.first + warp() / sharers, sums);
    }
  }

  /// True if a warp that adds kMostUnits of its `units` at once waits less often for loads than one that adds them one
  /// by one.
  static HOTGEMM_DEVICE bool waits_less(int units, int splits) {
    const int of_warp = rounds(units, kWarps);
    return rounds(of_warp, kMostUnits) * rounds(splits, kBatch / kMostUnits) < of_warp * rounds(splits, kBatch);
  }
  static HOTGEMM_DEVICE int rounds(int items, int at_once) { return (items + at_once - 1) / at_once; }

  /// Adds and stores `units`. Each warp takes every kWarps-th of them, and kMostUnits of these at once.
  HOTGEMM_DEVICE void reduce_at_once(const WorkItem& item, const ItemRange& units) const {
    const ItemRange slots{0, static_cast<int>(item.splits)};
    for (int i = warp(); i < units.count; i += kMostUnits * kWarps) {
      const int count = rounds(units.count - i, kWarps);
      const SumsOf<kMostUnits> sums = add_slots<kMostUnits>(item, units.first + i, count, slots);
#pragma unroll
      for (int unit = 0; unit < kMostUnits; ++unit) {
        if (unit < count) store_unit(item, units.first + i + unit * kWarps, sums.of[unit]);
      }
    }
  }

  /// The sums over `range` of the slots, in order: of `unit`, and of `count` - 1 units behind it in steps of kWarps,
  /// but at most of kUnits.
  template <int kUnits>
  HOTGEMM_DEVICE SumsOf<kUnits> add_slots(const WorkItem& item, int unit, int count, const ItemRange& range) const {
    constexpr int kSlots = kBatch / kUnits;
    const u64 first = slot(item, static_cast<u32>(range.first)) + static_cast<u64>(unit) * Slots::kUnitBytes +
                      static_cast<u64>(lane() * kChunkBytes);
    SumsOf<kUnits> sums;
#pragma unroll 1
    for (int batch = 0; batch < range.count; batch += kSlots) {
      ptx::Vec4 values[kUnits][kSlots] = {};
      const u64 from = first + static_cast<u64>(batch) * Slots::kBytes;
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
#pragma unroll
        for (int i = 0; i < kSlots; ++i) {
          if (u < count && batch + i < range.count)
            values[u][i] = ptx::ld_global_v4_b32(from + static_cast<u64>(i) * Slots::kBytes +
                                                 static_cast<u64>(u * kWarps) * Slots::kUnitBytes);
        }
      }
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
#pragma unroll
        for (int i = 0; i < kSlots; ++i) sums.of[u].add(values[u][i]);
      }
    }
    return sums;
  }

  HOTGEMM_DEVICE u32 shared_sums(int warp) const {
    return shared_ + static_cast<u32>(warp * Slots::kUnitBytes + lane() * kChunkBytes);
  }
  HOTGEMM_DEVICE void put(const Sums& sums) const {
    ptx::st_shared_v4_b32(shared_sums(warp()), {ptx::bits_of(sums.d[0]), ptx::bits_of(sums.d[1]),
                                                ptx::bits_of(sums.d[2]), ptx::bits_of(sums.d[3])});
  }
  HOTGEMM_DEVICE ptx::Vec4 get(int warp) const { return ptx::ld_shared_v4_b32(shared_sums(warp)); }

  // ---- from sums to D ----

  HOTGEMM_DEVICE void store_unit(const WorkItem& item, int unit, const Sums& sums) const {
    const Op op(args_, source_);
    const SplitUnit at = Slots::place(unit);
    const int consumer = at.warp / 4;
    const int row = item.m + kConfig.first_row(consumer) + at.block * kWgmmaM + at.warp % 4 * WgmmaConfig::kStoreRows;
    const int col = item.n + kConfig.first_col(consumer) + at.group * 8;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Element2d in_unit = accumulator_element(lane(), half * 2);
      store_result_pair<kTraits>(args_, op, {row + in_unit.row, col + in_unit.col}, sums.d[half * 2],
                                 sums.d[half * 2 + 1]);
    }
  }

  HeldGemm<kTraits> args_;
  typename Op::Source source_;
  WorkspaceArgs workspace_;
  int thread_;
  u32 shared_;
};

}  // namespace hotgemm
