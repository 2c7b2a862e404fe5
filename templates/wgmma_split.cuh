#pragma once

// The sum of the parts of a tile in family `wgmma`, if blocks divide k among them.
//
//   block of split s:  products of its k-tiles ──▶ slot s of the tile ──▶ arrives
//   the last to arrive:                            tells every owner that all slots are full
//   owner o:           waits for that for a while ──▶ adds its units over all slots, in order ──▶ D
//
// A slot holds the f32 sums of one split, a tile has a slot for each split. A unit is what one warp holds of 16 rows
// and 8 columns: 512 bytes of a slot, 16 bytes of each lane. Each of the first blocks of a tile owns some of its units,
// so that all of them reduce at once and each reads about as much as it has written.
//
// No block relies on another block being resident. An owner waits for a limited number of polls only, and then gives
// up; the last to arrive reduces the units of the owners that have given up. Each owner has a counter of its own, which
// settles who reduces by one exchange of each side: the second one to come knows about the first. The sums do not
// depend on who reduces, since the order of the additions is fixed by the number of splits.

#include "ptx/atomic.hpp"
#include "ptx/convert.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/named_barrier.hpp"
#include "ptx/warp.hpp"
#include "shared/even_share.hpp"
#include "shared/split_slots.hpp"
#include "shared/workspace_args.hpp"
#include "wgmma_epilogue.cuh"
#include "wgmma_schedule.cuh"

namespace hotgemm {

/// The parts of k of a tile are the items of neighbouring blocks. Each block has one item. The grid has the same number
/// of blocks for each tile.
template <WgmmaConfig kConfig>
class SplitTiles {
 public:
  HOTGEMM_DEVICE SplitTiles(const GemmArgs& args, u32 rank)
      : args_(args), k_tiles_((args.k + kConfig.block_k - 1) / kConfig.block_k) {
    static_cast<void>(rank);
  }

  HOTGEMM_DEVICE bool has_products() const { return k_tiles_ > 0; }

  template <class Use>
  HOTGEMM_DEVICE void for_each_item(Use&& use) const {
    const u32 tiles_m = tiles(args_.m, kConfig.block_m), tiles_n = tiles(args_.n, kConfig.block_n);
    const u32 splits = ptx::grid_size() / (tiles_m * tiles_n);
    const u32 tile = ptx::block_index() / splits, split = ptx::block_index() % splits;
    const TileCoord at =
        tile_at(tile, tiles_m, tiles_n, static_cast<u32>(args_.raster_width), args_.raster_along_n != 0);
    const ItemRange range = even_share(k_tiles_, static_cast<int>(split), static_cast<int>(splits));
    use(WorkItem{.m = at.m * kConfig.block_m,
                 .n = at.n * kConfig.block_n,
                 .first_k_tile = range.first,
                 .k_tiles = range.count,
                 .turn = 0,
                 .tile = tile,
                 .split = split,
                 .splits = splits});
  }

 private:
  static HOTGEMM_DEVICE u32 tiles(int extent, int tile) { return static_cast<u32>((extent - 1) / tile + 1); }

  const GemmArgs& args_;
  int k_tiles_;
};

/// Adds the parts of a tile, and stores what this block owns of the sum. All methods are called by all consumers.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op>
class SplitSum {
  using Slots = SplitSlots<kConfig>;
  static constexpr int kBlocks = kConfig.consumer_m() / kWgmmaM;
  static constexpr int kWarps = kConfig.consumers * 4;
  static constexpr int kThreads = kWarps * kWarpSize;
  static constexpr int kBarrier = 1;
  static constexpr int kElementBytes = size_bytes(kTraits.element);
  static constexpr int kBatch = 20;  // loads in flight of a lane

  // The values of an owner's counter.
  static constexpr u32 kComplete = 1;  ///< all slots are full, and the owner is to reduce its units
  static constexpr u32 kGone = 2;      ///< the owner has given up
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
  HOTGEMM_DEVICE SplitSum(const WgmmaArgs& args, const WorkspaceArgs& workspace, int thread, u32 shared)
      : args_(args.gemm), workspace_(workspace), thread_(thread), shared_(shared) {}

  HOTGEMM_DEVICE void store(const Accumulator (&accumulators)[kBlocks], const WorkItem& item) const {
    fill_slot(accumulators, item);
    ptx::bar_sync(kBarrier, kThreads);  // all of the slot is written
    const bool is_last = broadcast(thread_ == 0 && arrive(item));
    bool is_owner = item.split < owners(item);
    if (is_last) {
      wake_owners(item);
    } else {
      is_owner = is_owner && broadcast(thread_ == 0 && await(item));
    }
    u32 owner = item.split;
    GoneOwners gone{.words = is_last ? masks(item) : 0};
#pragma unroll 1
    do {
      if (is_owner) reduce(item, owner);
      is_owner = true;
    } while (next(gone, owner));
  }

 private:
  HOTGEMM_DEVICE int warp() const { return thread_ / kWarpSize; }
  HOTGEMM_DEVICE int lane() const { return thread_ % kWarpSize; }
  static HOTGEMM_DEVICE u32 owners(const WorkItem& item) {
    return item.splits < Slots::kUnits ? item.splits : Slots::kUnits;
  }
  HOTGEMM_DEVICE u64 slot(const WorkItem& item, u32 split) const {
    return workspace_.scratch + (static_cast<u64>(item.tile) * item.splits + split) * Slots::kBytes;
  }
  HOTGEMM_DEVICE u64 arrivals(const WorkItem& item) const {
    return workspace_.counters + static_cast<u64>(item.tile) * Slots::counters(item.splits) * sizeof(u32);
  }
  HOTGEMM_DEVICE u64 owner_counter(const WorkItem& item, u32 owner) const {
    return arrivals(item) + (1 + owner) * sizeof(u32);
  }

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

  // Shared memory: the sums of each warp, a word to broadcast, masks.
  HOTGEMM_DEVICE u32 shared_word() const { return shared_ + kWarps * Slots::kUnitBytes; }

  /// True for all consumers if it is true for thread 0.
  HOTGEMM_DEVICE bool broadcast(bool value) const {
    if (thread_ == 0) ptx::st_shared_b32(shared_word(), value ? 1 : 0);
    ptx::bar_sync(kBarrier, kThreads);
    const bool result = ptx::ld_shared_b32(shared_word()) != 0;
    ptx::bar_sync(kBarrier, kThreads);  // the word is read before it is written again
    return result;
  }

  /// Counts this block. True if all others have arrived before.
  HOTGEMM_DEVICE bool arrive(const WorkItem& item) const {
    if (ptx::atom_acq_rel_gpu_add_u32(arrivals(item), 1) != item.splits - 1) return false;
    ptx::st_global_b32(arrivals(item), 0);  // nobody else arrives in this launch
    return true;
  }

  /// Waits for the last to arrive. False if this block gives up, true if it is to reduce its units.
  HOTGEMM_DEVICE bool await(const WorkItem& item) const {
    const u64 mine = owner_counter(item, item.split);
    bool is_complete = false;
    for (int poll = 0; poll < kPolls && !is_complete; ++poll) is_complete = ptx::ld_acquire_gpu_b32(mine) == kComplete;
    if (!is_complete) is_complete = ptx::atom_acq_rel_gpu_exch_b32(mine, kGone) == kComplete;
    if (is_complete) ptx::st_global_b32(mine, 0);
    return is_complete;
  }

  /// Tells the other owners that all slots are full, and notes those that have given up: one bit each.
  HOTGEMM_DEVICE void wake_owners(const WorkItem& item) const {
    for (u32 word = static_cast<u32>(warp()); word < masks(item); word += kWarps) {
      const u32 owner = word * kWarpSize + static_cast<u32>(lane());
      bool is_gone = false;
      if (owner < owners(item) && owner != item.split) {
        const u64 counter = owner_counter(item, owner);
        is_gone = ptx::atom_acq_rel_gpu_exch_b32(counter, kComplete) == kGone;
        if (is_gone) ptx::st_global_b32(counter, 0);
      }
      const u32 mask = ptx::vote_sync_ballot(is_gone, ~0u);
      if (lane() == 0) ptx::st_shared_b32(shared_mask(word), mask);
    }
    ptx::bar_sync(kBarrier, kThreads);  // all masks are written
  }
  /// The number of words that have a bit for each owner.
  static HOTGEMM_DEVICE u32 masks(const WorkItem& item) { return (owners(item) + kWarpSize - 1) / kWarpSize; }
  HOTGEMM_DEVICE u32 shared_mask(u32 word) const { return shared_word() + (1 + word) * sizeof(u32); }

  /// A position in the masks of the owners that have given up.
  struct GoneOwners {
    u32 words = 0;
    u32 word = 0;  ///< the next one to read
    u32 left = 0;  ///< bits of the word before that are not yet taken
  };
  /// Sets `owner` to the next owner that has given up; false if there is none.
  HOTGEMM_DEVICE bool next(GoneOwners& gone, u32& owner) const {
    while (gone.left == 0 && gone.word < gone.words) gone.left = ptx::ld_shared_b32(shared_mask(gone.word++));
    if (gone.left == 0) return false;
    for (owner = (gone.word - 1) * kWarpSize; (gone.left >> owner % kWarpSize & 1) == 0;) ++owner;
    gone.left &= gone.left - 1;
    return true;
  }

  /// Adds and stores the units of `owner`. If an owner has fewer units than a block has warps, several warps share a
  /// unit: each adds some slots, and the first of them adds their sums.
  HOTGEMM_DEVICE void reduce(const WorkItem& item, u32 owner) const {
    const ItemRange units = even_share(Slots::kUnits, static_cast<int>(owner), static_cast<int>(owners(item)));
    int sharers = 1;
    while (2 * sharers * units.count <= kWarps) sharers *= 2;
    const int sharer = warp() % sharers;
    const ItemRange slots = even_share(static_cast<int>(item.splits), sharer, sharers);
    for (int i = warp() / sharers; i < units.count; i += kWarps / sharers) {
      Sums sums = add_slots(item, units.first + i, slots);
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
    ptx::bar_sync(kBarrier, kThreads);  // they are read before they are written again
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

  /// The sum of the unit over `range` of the slots, in order.
  HOTGEMM_DEVICE Sums add_slots(const WorkItem& item, int unit, const ItemRange& range) const {
    const u64 first = slot(item, static_cast<u32>(range.first)) + static_cast<u64>(unit) * Slots::kUnitBytes +
                      static_cast<u64>(lane() * kChunkBytes);
    Sums sums;
#pragma unroll 1
    for (int batch = 0; batch < range.count; batch += kBatch) {
      ptx::Vec4 values[kBatch] = {};
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (batch + i < range.count)
          values[i] = ptx::ld_global_v4_b32(first + static_cast<u64>(batch + i) * Slots::kBytes);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) sums.add(values[i]);
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
    const SplitUnit at = Slots::place(unit);
    const int consumer = at.warp / 4;
    const int row = item.m + kConfig.first_row(consumer) + at.block * kWgmmaM + at.warp % 4 * WgmmaConfig::kStoreRows;
    const int col = item.n + kConfig.first_col(consumer) + at.group * 8;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Element2d in_unit = accumulator_element(lane(), half * 2);
      store_pair({row + in_unit.row, col + in_unit.col}, sums.d[half * 2], sums.d[half * 2 + 1]);
    }
  }

  HOTGEMM_DEVICE void store_pair(Element2d at, float low, float high) const {
    if (at.row >= args_.m || at.col >= args_.n) return;
    const bool has_both = at.col + 1 < args_.n;
    u32 c = 0;
    if constexpr (Op::kReadsC) c = load_pair(address(args_.c, args_.ldc, at), has_both);
    store_bits(address(args_.d, args_.ldd, at), Op::pair(args_, low, high, c, at), has_both);
  }
  static HOTGEMM_DEVICE u64 address(u64 matrix, i64 ld, Element2d at) {
    return matrix + static_cast<u64>(at.row * ld + at.col) * kElementBytes;
  }
  static HOTGEMM_DEVICE u32 load_pair(u64 address, bool has_both) {
    if (kTraits.vec_d > 1 && has_both) return ptx::ld_global_b32(address);
    const u32 low = ptx::ld_global_b16(address);
    return has_both ? low | static_cast<u32>(ptx::ld_global_b16(address + kElementBytes)) << 16 : low;
  }
  static HOTGEMM_DEVICE void store_bits(u64 address, u32 pair, bool has_both) {
    if (kTraits.vec_d > 1 && has_both) return ptx::st_global_b32(address, pair);
    ptx::st_global_b16(address, static_cast<u16>(pair));
    if (has_both) ptx::st_global_b16(address + kElementBytes, static_cast<u16>(pair >> 16));
  }

  const GemmArgs& args_;
  WorkspaceArgs workspace_;
  int thread_;
  u32 shared_;
};

}  // namespace hotgemm
