#pragma once

// How a consumer of family `wgmma` adds products of which the tensor cores keep few bits to sums in f32.

#include "ptx/wgmma.hpp"
#include "shared/wgmma_config.hpp"
#include "wgmma_cursor.cuh"
#include "wgmma_epilogue.cuh"
#include "wgmma_scale_ring.cuh"

namespace hotgemm {

/// The sums of an item. The instructions for each kPromotedK products along k sum them in a part. Then the part is
/// promoted: it is added to the sums.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Products, class Promotion, class Accumulator>
class PromotedSums {
  using Cursor = StageCursor<kConfig.stages>;
  static constexpr int kInstructions = kConfig.instructions();
  static constexpr int kIntervals = kConfig.intervals();

 public:
  /// The sums begin with 0. `shared` is the shared memory of the block.
  HOTGEMM_DEVICE PromotedSums(Accumulator (&sums)[kInstructions], Products& products, const Promotion& promotion,
                              u32 shared)
      : sums_(sums), products_(products), promotion_(promotion), scales_(shared) {
#pragma unroll
    for (Accumulator& sum : sums) sum = {};
  }

  /// Adds the products of `k_tiles`, the first of which is at the cursor. `await_full` waits for the stage at a cursor,
  /// and `give_back` gives back the stage of a k-tile, all of whose products have ended.
  template <class AwaitFull, class GiveBack>
  HOTGEMM_DEVICE void add(Cursor& cursor, int k_tiles, const AwaitFull& await_full, const GiveBack& give_back) {
    if constexpr (kConfig.adds_late(kTraits)) {
      add_late(cursor, k_tiles, await_full, give_back);
    } else {
      add_at_once(cursor, k_tiles, await_full, give_back);
    }
  }

 private:
  /// Waits for each part before the next products begin. Another consumer keeps the tensor cores busy meanwhile.
  template <class AwaitFull, class GiveBack>
  HOTGEMM_DEVICE void add_at_once(Cursor& cursor, int k_tiles, const AwaitFull& await_full, const GiveBack& give_back) {
    Accumulator part;
    for (int tile = 0; tile < k_tiles; ++tile) {
      await_full(cursor);
#pragma unroll
      for (int interval = 0; interval < kIntervals; ++interval) {
#pragma unroll
        for (int i = 0; i < kInstructions; ++i) {
          products_.multiply_part(part, i, interval, cursor.stage);
          promotion_.prepare(i, scales_.factors(cursor.stage, interval));
          ptx::wgmma_wait_group<0>();
          promote(part, i);
        }
      }
      products_.meet();
      give_back(cursor, tile);
      cursor.advance();
    }
  }

  /// Adds a part while the products of the next one are in flight, so a stage is given back one k-tile late. There is
  /// only one instruction.
  template <class AwaitFull, class GiveBack>
  HOTGEMM_DEVICE void add_late(Cursor& cursor, int k_tiles, const AwaitFull& await_full, const GiveBack& give_back) {
    if (k_tiles == 0) return;
    Accumulator parts[2];
    int tile = 0;
    const auto begin = [&](Accumulator& part, int interval) {
      if (interval == 0) await_full(cursor);
      products_.multiply_part(part, 0, interval, cursor.stage);
    };
    const auto step = [&](Accumulator& part, Accumulator& next, int next_interval) {
      const Cursor place = cursor;
      const bool ends_k_tile = next_interval == 0;
      if (ends_k_tile) cursor.advance();
      begin(next, next_interval);
      promotion_.prepare(0, scales_.factors(place.stage, ends_k_tile ? kIntervals - 1 : next_interval - 1));
      ptx::wgmma_wait_group<1>();
      promote(part, 0);
      if (!ends_k_tile) return;
      products_.meet();
      give_back(place, tile++);
    };
    const auto finish = [&](Accumulator& part) {
      promotion_.prepare(0, scales_.factors(cursor.stage, kIntervals - 1));
      ptx::wgmma_wait_group<0>();
      promote(part, 0);
      products_.meet();
      give_back(cursor, tile);
      cursor.advance();
    };
    // Two parts at a time, since registers have no index. In other forms of this loop the compiler serialised products.
    begin(parts[0], 0);
    for (;;) {
      if (kIntervals == 1 && tile == k_tiles - 1) return finish(parts[0]);
      step(parts[0], parts[1], 1 % kIntervals);
      if (tile == k_tiles - 1) return finish(parts[1]);
      step(parts[1], parts[0], 0);
    }
  }

  HOTGEMM_DEVICE void promote(Accumulator& part, int i) {
    pin(part);
    promotion_.add(sums_[i], part);
  }

  Accumulator (&sums_)[kInstructions];
  Products& products_;
  Promotion promotion_;
  ScaleRing<kTraits, kConfig> scales_;
};

}  // namespace hotgemm
