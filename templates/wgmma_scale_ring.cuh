#pragma once

// The ring of slots in shared memory by which warps of a producer bring the scales of blocks to the consumers.

#include "batch.cuh"
#include "block_scales.cuh"
#include "ptx/element.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "wgmma_cursor.cuh"
#include "wgmma_promotion.cuh"
#include "wgmma_schedule.cuh"

namespace hotgemm {

/// The scales of an item's product.
template <GemmTraits kTraits, class Item>
HOTGEMM_DEVICE BlockScales block_scales_of(const WgmmaArgs& args, const Item& item) {
  if constexpr (!kTraits.batched) return {args, args.gemm};
  const ExtraArgs& extras = static_cast<const WithExtras<WgmmaArgs>&>(args).extras;
  GemmArgs gemm = args.gemm;
  if constexpr (kTraits.counts_rows()) gemm.m = item.group.rows;
  const EpilogueArgs& all = static_cast<const Fused<WgmmaArgs>&>(args).epilogue;
  return {with_scales_of<kTraits>(all, extras, product_of(item)), extras, gemm};
}

/// Brings the factors of a tile's rows to the slots of shared memory: for each block of k and of columns those of all
/// rows. A lane has every kLanes-th row. The scales of kAhead blocks of k are on their way at once: a small tile is
/// multiplied in less time than a load takes. Rows, columns and blocks beyond the edges have factors of 0.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class ScaleWriter {
  using Tile = TileScales<kTraits, kConfig>;
  static constexpr int kLanes = WgmmaConfig::kScaleWarps * kWarpSize;
  static constexpr int kRows = div_up(kConfig.block_m, kLanes);

  struct Scales {
    float of_rows[kRows];
    float of_columns[Tile::kHalves][Tile::kBlocks];
  };
  static constexpr int kIntervals = kConfig.intervals();

 public:
  static constexpr int kAhead = kConfig.scales_ahead(kTraits);

  /// Begins to load the scales of the item's first blocks of k.
  template <class Item>
  HOTGEMM_DEVICE ScaleWriter(const WgmmaArgs& args, const Item& item, int lane) : lane_(lane), blocks_(item.k_tiles) {
    const BlockScales scales = block_scales_of<kTraits>(args, item);
    const int row = item.m + lane, columns = item.n / Tile::kHalves / kScaleBlock;
    const int first_block = item.first_k_tile * kIntervals;
    if constexpr (kIntervals > 1) blocks_ = min_of(blocks_ * kIntervals, scales.last_block() + 1 - first_block);
    rows_ = scales.address_of_row(row, first_block);
    rows_below_ = scales.last_row() - row;
    columns_ = scales.address_of_columns(columns, first_block);
    columns_behind_ = scales.last_columns() - columns;
    block_bytes_ = scales.row_block_bytes();
    column_bytes_ = scales.column_bytes();
    blocks_of_half_ = args.gemm.n / 2 / kScaleBlock;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) load(i);
  }

  /// Stores the factors of the next block of k, whose scales are in scales_[i], at `slot`.
  HOTGEMM_DEVICE void store(int i, u32 slot) const {
    const Scales& scales = scales_[i];
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      const int row = lane_ + j * kLanes;
      if (kConfig.block_m % kLanes != 0 && row >= kConfig.block_m) break;
#pragma unroll
      for (int half = 0; half < Tile::kHalves; ++half) {
#pragma unroll
        for (int block = 0; block < Tile::kBlocks; ++block)
          ptx::st_shared_f32(slot + Tile::place(half, block, row),
                             ptx::mul_rn(scales.of_rows[j], scales.of_columns[half][block]));
      }
    }
  }

  /// Begins to load the scales of the next block of k into scales_[i], if the item has one more.
  HOTGEMM_DEVICE void load(int i) {
    Scales& scales = scales_[i];
    const bool is_there = --blocks_ >= 0;
#pragma unroll
    for (int j = 0; j < kRows; ++j)
      scales.of_rows[j] = number(rows_ + j * kLanes * sizeof(float), is_there && j * kLanes <= rows_below_);
#pragma unroll
    for (int half = 0; half < Tile::kHalves; ++half) {
#pragma unroll
      for (int block = 0; block < Tile::kBlocks; ++block) {
        const int behind = half * blocks_of_half_ + block;
        const u64 at = columns_ + static_cast<u64>(behind * column_bytes_);
        scales.of_columns[half][block] = number(at, is_there && behind <= columns_behind_);
      }
    }
    rows_ += static_cast<u64>(block_bytes_);
    columns_ += sizeof(float);
  }

 private:
  static HOTGEMM_DEVICE float number(u64 address, bool is_there) {
    return ptx::float_of(ptx::ld_global_b32_if(address, is_there));
  }

  int lane_, blocks_;   // of k that are not loaded yet
  u64 rows_, columns_;  // of the next block of k: the lane's first row, and the tile's first block of columns
  int rows_below_;      // that the product has below the lane's first row
  int columns_behind_;  // blocks of columns behind the tile's first
  i64 block_bytes_;     // from a block of k to the next one, of rows
  i64 column_bytes_;    // from a block of columns to the next one
  int blocks_of_half_;  // of a gated B
  Scales scales_[kAhead];
};

/// Each stage has a slot for the factors of its k-tile. A stage is full when they are there too, and is given back with
/// its slot. Without scales there are no slots, and nothing is done.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class ScaleRing {
 public:
  static constexpr bool kExists = kTraits.epilogue.has_block_scales();
  static constexpr int kWriters = kExists ? WgmmaConfig::kScaleWarps : 0;  // warps that arrive for a stage

  /// `shared` is the shared memory of the block.
  explicit HOTGEMM_DEVICE ScaleRing(u32 shared) : slots_(shared + kConfig.scale_offset(kTraits)) {}

  /// Called by the warps beside the one that copies; `thread` counts theirs. The first of them bring the factors.
  /// `await_empty` waits until a stage is no longer read, and `arrive` arrives for it.
  template <class Schedule, class Await, class Arrive>
  HOTGEMM_DEVICE void produce(const WgmmaArgs& args, const Schedule& schedule, int thread, const Await& await_empty,
                              const Arrive& arrive) const {
    if constexpr (kExists) {
      if (thread >= WgmmaConfig::kScaleWarps * kWarpSize) return;
      StageCursor<kConfig.stages> cursor;
      schedule.for_each_item([&](const typename Schedule::Item& item) {
        if (item.k_tiles == 0) return;
        using Writer = ScaleWriter<kTraits, kConfig>;
        Writer writer(args, item, thread);
        for (int first = 0; first < item.k_tiles; first += Writer::kAhead / kIntervals) {
#pragma unroll
          for (int i = 0; i < Writer::kAhead; i += kIntervals, cursor.advance()) {
            if (first + i / kIntervals >= item.k_tiles) break;
            await_empty(cursor);
#pragma unroll
            for (int interval = 0; interval < kIntervals; ++interval)
              writer.store(i + interval, factors(cursor.stage, interval));
            ptx::bar_warp_sync(~0u);  // all lanes have stored
            if (thread % kWarpSize == 0) arrive(cursor.stage);
#pragma unroll
            for (int interval = 0; interval < kIntervals; ++interval) writer.load(i + interval);
          }
        }
      });
    }
  }

  /// The address of the factors of a stage for an interval of its k-tile.
  HOTGEMM_DEVICE u32 factors(u32 stage, int interval) const {
    return slots_ + stage * kSlotBytes + interval * (kSlotBytes / kIntervals);
  }

 private:
  static constexpr int kIntervals = kConfig.intervals();
  static constexpr u32 kSlotBytes = kConfig.scale_slot_bytes(kTraits);

  u32 slots_;
};

}  // namespace hotgemm
