#pragma once

// The groups of a grouped product, whose sizes are in device memory.
//
// The tiles of groups of rows follow each other, one group after another. Each warp finds the group of a tile by
// itself: every lane reads a group, and a scan over the lanes adds up the tiles.

#include "ptx/index.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_args.hpp"
#include "shared/row_groups.hpp"
#include "shared/tile_order.hpp"

namespace hotgemm {

/// The groups of a grouped product. `args` is the parameter of its kernel.
template <class Args>
HOTGEMM_DEVICE const GroupArgs& groups_of(const Args& args) {
  return static_cast<const Grouped<Args>&>(args).groups;
}

/// A tile of D: its group, and its place among the tiles of the group.
struct GroupTile {
  RowGroup group;
  TileCoord at;
};

/// Group `number` of groups along k, which have `k` together.
HOTGEMM_DEVICE KGroup k_group_at(const GroupArgs& groups, u32 number, int k) {
  const u64 offset = groups.offsets + static_cast<u64>(number) * sizeof(int);
  return k_group(static_cast<int>(number), static_cast<int>(ptx::ld_global_b32(offset)),
                 static_cast<int>(ptx::ld_global_b32(offset + sizeof(int))), k);
}

/// Calls use(tile) for the tiles with numbers `index`, `index` + `step` and so on. `rows` and `cols` are the size of a
/// tile, and `gemm` has the sizes of all groups together, or with kMasked the room of each. All lanes of a warp call
/// it.
template <bool kMasked = false, class Use>
HOTGEMM_DEVICE void for_each_group_tile(const GemmArgs& gemm, const GroupArgs& groups, u32 count, int rows, int cols,
                                        u32 index, u32 step, Use&& use) {
  const u32 lane = static_cast<u32>(ptx::thread_index() % kWarpSize);
  const u32 tiles_n = static_cast<u32>((gemm.n - 1) / cols + 1);
  u32 before = 0;  // the tiles of the groups in front of `first`
  for (u32 first = 0; first < count; first += kWarpSize) {
    RowGroup own{};
    if (kMasked && first + lane < count) {
      const u64 its_rows = groups.counts + static_cast<u64>(first + lane) * sizeof(int);
      own = masked_group(static_cast<int>(first + lane), static_cast<int>(ptx::ld_global_b32(its_rows)), gemm.m);
    } else if (first + lane < count) {
      const u64 offset = groups.offsets + static_cast<u64>(first + lane) * sizeof(int);
      own = row_group(static_cast<int>(first + lane), static_cast<int>(ptx::ld_global_b32(offset)),
                      static_cast<int>(ptx::ld_global_b32(offset + sizeof(int))), gemm.m);
    }
    const u32 tiles = tile_rows(own.rows, rows) * tiles_n;
    u32 end = tiles;  // of this lane's group, and of all in front of it
    for (u32 distance = 1; distance < kWarpSize; distance *= 2) {
      const u32 of_lower = ptx::shfl_sync_up_b32(end, distance, 0, ~0u);
      if (lane >= distance) end += of_lower;
    }
    end += before;
    before = ptx::shfl_sync_idx_b32(end, kWarpSize - 1, 31, ~0u);
    for (; index < before; index += step) {
      // The first group that ends behind the tile. Those in front end at most where the tile begins.
      const u32 owner = ptx::popc_b32(ptx::vote_sync_ballot(end <= index, ~0u));
      const auto of_owner = [&](u32 value) { return ptx::shfl_sync_idx_b32(value, owner, 31, ~0u); };
      const RowGroup group{static_cast<int>(first + owner), static_cast<int>(of_owner(static_cast<u32>(own.begin))),
                           static_cast<int>(of_owner(static_cast<u32>(own.rows)))};
      use(GroupTile{group, tile_at(index - of_owner(end - tiles), tile_rows(group.rows, rows), tiles_n,
                                   static_cast<u32>(gemm.raster_width), gemm.raster_along_n != 0)});
    }
  }
}

}  // namespace hotgemm
