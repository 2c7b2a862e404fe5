#pragma once

// The ring of slots in shared memory by which warps of a producer bring the scales of blocks to the consumers.

#include "ptx/mbarrier.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "wgmma_await.cuh"
#include "wgmma_cursor.cuh"
#include "wgmma_promotion.cuh"

namespace hotgemm {

/// Brings the factors of a tile's rows to the slots of shared memory: for each of its blocks of columns those of all
/// rows. A lane has every kLanes-th row. It loads the scales of the next k-tile before it waits for a slot.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class ScaleWriter {
  using Tile = TileScales<kTraits, kConfig>;
  static constexpr int kLanes = WgmmaConfig::kScaleWarps * kWarpSize;
  static constexpr int kRows = div_up(kConfig.block_m, kLanes);

 public:
  template <class Item>
  HOTGEMM_DEVICE ScaleWriter(const WgmmaArgs& args, const Item& item, int lane)
      : scales_(block_scales_of<kTraits>(args, item)),
        row_(item.m + lane),
        columns_(item.n / Tile::kHalves / kScaleBlock),
        blocks_of_half_(args.gemm.n / 2 / kScaleBlock),
        lane_(lane) {}

  /// Loads the scales of block `block` of k.
  HOTGEMM_DEVICE void load(int block) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) of_rows_[i] = scales_.of_row(row_ + i * kLanes, block);
#pragma unroll
    for (int half = 0; half < Tile::kHalves; ++half) {
#pragma unroll
      for (int j = 0; j < Tile::kBlocks; ++j)
        of_columns_[half][j] = scales_.of_columns(half * blocks_of_half_ + columns_ + j, block);
    }
  }

  HOTGEMM_DEVICE void store(u32 slot) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = lane_ + i * kLanes;
      if (kConfig.block_m % kLanes != 0 && row >= kConfig.block_m) break;
#pragma unroll
      for (int half = 0; half < Tile::kHalves; ++half) {
#pragma unroll
        for (int j = 0; j < Tile::kBlocks; ++j)
          ptx::st_shared_f32(slot + Tile::place(half, j, row), ptx::mul_rn(of_rows_[i], of_columns_[half][j]));
      }
    }
  }

 private:
  BlockScales scales_;
  int row_, columns_;   // this lane's first row, and the first block of columns of the tile
  int blocks_of_half_;  // of a gated B
  int lane_;
  float of_rows_[kRows];
  float of_columns_[Tile::kHalves][Tile::kBlocks];
};

/// Each slot has two barriers. A phase of `filled` ends when all factors of a k-tile are there, a phase of `taken` when
/// all readers have them. Without scales, or without a producer, there are no slots, and nothing is done.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class ScaleRing {
 public:
  static constexpr int kSlots = kConfig.scale_slots(kTraits);

  /// `shared` is the shared memory of the block, and `barriers` the place of the ring's own.
  HOTGEMM_DEVICE ScaleRing(u32 shared, u32 barriers)
      : slots_(shared + kConfig.scale_offset(kTraits)), barriers_(barriers) {}

  HOTGEMM_DEVICE void make_barriers() const {
    for (u32 slot = 0; slot < kSlots; ++slot) {
      ptx::mbarrier_init(filled(slot), WgmmaConfig::kScaleWarps);
      ptx::mbarrier_init(taken(slot), kConfig.readers() * (kWarpgroupThreads / kWarpSize));
    }
  }

  /// Called by the warps beside the one that copies; `thread` counts theirs. The first of them bring the factors.
  template <class Schedule>
  HOTGEMM_DEVICE void produce(const WgmmaArgs& args, const Schedule& schedule, int thread) const {
    if constexpr (kSlots > 0) {
      if (thread >= WgmmaConfig::kScaleWarps * kWarpSize) return;
      StageCursor<kSlots> slot;
      schedule.for_each_item([&](const typename Schedule::Item& item) {
        if (item.k_tiles == 0) return;
        ScaleWriter<kTraits, kConfig> writer(args, item, thread);
        writer.load(item.first_k_tile);
        for (int tile = 1; tile <= item.k_tiles; ++tile, slot.advance()) {
          hotgemm::await(taken(slot.stage), slot.parity ^ 1);
          writer.store(address(slot.stage));
          ptx::bar_warp_sync(~0u);  // all lanes have stored
          if (thread % kWarpSize == 0) ptx::mbarrier_arrive(filled(slot.stage));
          writer.load(item.first_k_tile + tile);
        }
      });
    }
  }

  /// Waits for the factors of a consumer's k-tile.
  template <class Cursor>
  HOTGEMM_DEVICE void await(const Cursor& cursor) const {
    if constexpr (kSlots > 0) hotgemm::await(filled(cursor.slot.stage), cursor.slot.parity);
  }
  template <class Cursor>
  HOTGEMM_DEVICE u32 address(const Cursor& cursor) const {
    if constexpr (kSlots > 0) return address(cursor.slot.stage);
    return 0;
  }
  /// Gives back the slot for this warp.
  template <class Cursor>
  HOTGEMM_DEVICE void release(const Cursor& cursor, int thread) const {
    if constexpr (kSlots > 0) {
      ptx::bar_warp_sync(~0u);  // all lanes have their factors
      if (thread % kWarpSize == 0) ptx::mbarrier_arrive(taken(cursor.slot.stage));
    }
  }

 private:
  HOTGEMM_DEVICE u32 address(u32 slot) const { return slots_ + slot * kConfig.scale_slot_bytes(kTraits); }
  HOTGEMM_DEVICE u32 filled(u32 slot) const { return barriers_ + slot * 8; }
  HOTGEMM_DEVICE u32 taken(u32 slot) const { return filled(kSlots) + slot * 8; }

  u32 slots_, barriers_;
};

}  // namespace hotgemm
