#pragma once

// Family `wgmma`: Hopper's tensor cores, which read their operands from shared memory, and its copy engine. sm_90a.
//
//   global ──bulk copies by tensor──▶ shared, `stages` deep ──wgmma──▶ registers ──stmatrix──▶ shared ──▶ D
//
// A block stays for the whole kernel and takes tile after tile. One warp of its first warpgroup, the producer, issues
// the copies; the other warpgroups, the consumers, multiply and store. Stages go from one to the other and back by two
// barriers each: `full` ends when a stage's bytes have come, `empty` when all who read it have done so. Both sides
// count k-tiles over all their tiles, so that the producer copies the next tile's operands while the consumers store.

#include "ptx/barrier.hpp"
#include "ptx/bulk_copy.hpp"
#include "ptx/cluster.hpp"
#include "ptx/convert.hpp"
#include "ptx/elect.hpp"
#include "ptx/index.hpp"
#include "ptx/mbarrier.hpp"
#include "ptx/memory.hpp"
#include "ptx/named_barrier.hpp"
#include "ptx/stmatrix.hpp"
#include "ptx/trap.hpp"
#include "ptx/warp.hpp"
#include "ptx/wgmma.hpp"
#include "shared/fragment.hpp"
#include "shared/tile_order.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// A place in the ring of stages. The parity is that of the pass through the ring.
template <int kStages>
struct StageCursor {
  u32 stage = 0;
  u32 parity = 0;
  HOTGEMM_DEVICE void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// A thread's part of 64 rows of the tile: accumulator_element's, for each eight columns.
template <DType kType, int kBlockN>
struct WgmmaAccumulator {
  float d[kBlockN / 2] = {};
  HOTGEMM_DEVICE float get(int i) const { return d[i]; }
};
template <int kBlockN>
struct WgmmaAccumulator<DType::f16, kBlockN> {
  u32 d[kBlockN / 4] = {};
  HOTGEMM_DEVICE float get(int i) const { return ptx::cvt_f32_f16(static_cast<u16>(d[i / 2] >> (i % 2 * 16))); }
};

/// `Instruction` is what wgmma_text (src/plan/wgmma_instruction.hpp) has rendered for config and traits.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Instruction>
class WgmmaGemm {
  static constexpr WgmmaTile kTileA = kConfig.a_tile(kTraits);
  static constexpr WgmmaTile kTileB = kConfig.b_tile(kTraits);
  static constexpr int kStages = kConfig.stages;
  static constexpr u32 kStageBytes = kConfig.stage_bytes();
  static constexpr int kBlocksM = kConfig.consumer_m() / kWgmmaM;  // instructions per k-step
  static constexpr int kKSteps = kConfig.block_k / kWgmmaK;
  static constexpr int kCluster = kConfig.cluster();

  using Cursor = StageCursor<kStages>;
  using Accumulator = WgmmaAccumulator<kTraits.accumulator, kConfig.block_n>;

 public:
  HOTGEMM_DEVICE WgmmaGemm(const WgmmaArgs& args, int thread)
      : args_(args),
        thread_(thread),
        rank_(kCluster == 1 ? 0 : ptx::cluster_ctarank()),
        shared_(ptx::dynamic_shared_base()),
        k_tiles_((args.gemm.k + kConfig.block_k - 1) / kConfig.block_k),
        tiles_m_(tiles(args.gemm.m, kConfig.block_m * kConfig.cluster_m)),
        tiles_n_(tiles(args.gemm.n, kConfig.block_n * kConfig.cluster_n)) {}

  HOTGEMM_DEVICE void run() {
    if (thread_ == 0) make_barriers();
    meet();
    // By a shuffle the compiler learns that it is the same for a warp, and computes descriptors once for all lanes.
    const auto warpgroup =
        static_cast<int>(ptx::shfl_sync_idx_b32(static_cast<u32>(thread_ / kWarpgroupThreads), 0, 31, ~0u));
    // One if with a branch for each role, or the compiler ignores setmaxnreg.
    if (warpgroup == 0) {
      if constexpr (kConfig.consumers > 1) ptx::setmaxnreg_dec<kConfig.producer_registers()>();
      if (thread_ < kWarpSize && ptx::elect_sync()) produce();
    } else {
      if constexpr (kConfig.consumers > 1) ptx::setmaxnreg_inc<kConfig.consumer_registers()>();
      consume(warpgroup - 1);
    }
    if constexpr (kCluster > 1) meet();  // others may still arrive at this block's barriers
  }

 private:
  static HOTGEMM_DEVICE u32 tiles(int extent, int tile) { return static_cast<u32>((extent - 1) / tile + 1); }

  // ---- barriers ----

  HOTGEMM_DEVICE u32 full(u32 stage) const { return shared_ + kConfig.barrier_offset() + stage * 8; }
  HOTGEMM_DEVICE u32 empty(u32 stage) const { return full(stage) + kStages * 8; }

  HOTGEMM_DEVICE void make_barriers() const {
    for (u32 stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);
      ptx::mbarrier_init(empty(stage), kConfig.consumers * kCluster);
    }
    ptx::fence_mbarrier_init();
    ptx::prefetch_tensormap(args_.a);
    ptx::prefetch_tensormap(args_.b);
  }

  /// All threads of block or cluster.
  static HOTGEMM_DEVICE void meet() {
    if constexpr (kCluster > 1) {
      ptx::barrier_cluster_arrive();
      ptx::barrier_cluster_wait();
    } else {
      ptx::bar_sync();
    }
  }

  static HOTGEMM_DEVICE void await(u32 barrier, u32 parity) {
#if defined(HOTGEMM_BOUNDED_WAITS)  // for kernels under development: an error instead of a GPU that hangs
    for (int tries = 0; tries < HOTGEMM_BOUNDED_WAITS; ++tries) {
      if (ptx::mbarrier_try_wait_parity(barrier, parity)) return;
    }
    ptx::trap();
#else
    while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
    }
#endif
  }

  /// Calls use(m, n) with the first row and column of each of this block's tiles. Clusters take groups of tiles in
  /// raster order; where a group reaches beyond D, so may a block's tile, and all of it is zeros that nobody stores.
  template <class Use>
  HOTGEMM_DEVICE void for_each_tile(Use&& use) const {
    const u32 groups = tiles_m_ * tiles_n_;
    const u32 step = ptx::grid_size() / kCluster;
    for (u32 group = ptx::block_index() / kCluster; group < groups; group += step) {
      const TileCoord at =
          tile_at(group, tiles_m_, tiles_n_, static_cast<u32>(args_.gemm.raster_width), args_.gemm.raster_along_n != 0);
      const int rank = static_cast<int>(rank_);
      use((at.m * kConfig.cluster_m + rank % kConfig.cluster_m) * kConfig.block_m,
          (at.n * kConfig.cluster_n + rank / kConfig.cluster_m) * kConfig.block_n);
    }
  }

  // ---- producer ----

  HOTGEMM_DEVICE void produce() const {
    Cursor cursor;
    for_each_tile([&](int m, int n) {
      for (int tile = 0; tile < k_tiles_; ++tile) {
        await(empty(cursor.stage), cursor.parity ^ 1);
        const u32 barrier = full(cursor.stage);
        ptx::mbarrier_arrive_expect_tx(barrier, kStageBytes);
        const u32 stage = shared_ + cursor.stage * kStageBytes;
        const int k = tile * kConfig.block_k;
        // Blocks beside each other share A, those below each other B.
        copy<kTileA, kConfig.cluster_n>(stage, args_.a, m, k, barrier);
        copy<kTileB, kConfig.cluster_m>(stage + kTileA.bytes(), args_.b, n, k, barrier);
        cursor.advance();
      }
    });
  }

  /// The tile that begins at `outer`, `k`; of one that kSharers blocks share, this block's part, to all of them.
  template <WgmmaTile kTile, int kSharers>
  HOTGEMM_DEVICE void copy(u32 shared, const TensorMap& map, int outer, int k, u32 barrier) const {
    constexpr int kRows = kTile.rows() / kSharers;
    constexpr int kSlabs = kTile.slabs() / kSharers;
    const int part = kSharers == 1 ? 0 : static_cast<int>(rank_);
    if constexpr (kTile.k_major) {
#pragma unroll
      for (int slab = 0; slab < kTile.slabs(); ++slab) {
        copy_box<kSharers>(shared + slab * kTile.slab_bytes() + part * kRows * kTile.swizzle_bytes, map,
                           k + slab * kTile.slab_elements(), outer + part * kRows, barrier);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kSlabs; ++i) {
        const int slab = part * kSlabs + i;
        copy_box<kSharers>(shared + slab * kTile.slab_bytes(), map, outer + slab * kTile.slab_elements(), k, barrier);
      }
    }
  }

  template <int kSharers>
  static HOTGEMM_DEVICE void copy_box(u32 shared, const TensorMap& map, int x, int y, u32 barrier) {
    if constexpr (kSharers == 1) {
      ptx::cp_async_bulk_tensor_2d_load(shared, map, x, y, barrier);
    } else {
      ptx::cp_async_bulk_tensor_2d_multicast(shared, map, x, y, barrier, (1 << kSharers) - 1);
    }
  }

  // ---- consumers ----

  HOTGEMM_DEVICE void consume(int consumer) const {
    Cursor cursor;
    Accumulator accumulators[kBlocksM];  // zeros: with k = 0 no product overwrites them
    for_each_tile([&](int m, int n) {
      multiply(accumulators, cursor, consumer);
      store(accumulators, m + consumer * kConfig.consumer_m(), n);
    });
  }

  HOTGEMM_DEVICE bool is_leader() const { return thread_ % kWarpgroupThreads == 0; }

  /// One k-tile's products are always in flight while the next one's are issued: a stage is given back one k-tile late.
  HOTGEMM_DEVICE void multiply(Accumulator (&accumulators)[kBlocksM], Cursor& cursor, int consumer) const {
    const u64 first_a =
        kTileA.descriptor(shared_) + descriptor_step(kTileA.offset_bytes(consumer * kConfig.consumer_m(), 0));
    const u64 first_b = kTileB.descriptor(shared_ + kTileA.bytes());
    u32 previous = 0;
    for (int tile = 0; tile < k_tiles_; ++tile) {
      await(full(cursor.stage), cursor.parity);
      const u64 stage = descriptor_step(kStageBytes) * cursor.stage;
      ptx::wgmma_fence();
#pragma unroll
      for (int step = 0; step < kKSteps; ++step) {
#pragma unroll
        for (int i = 0; i < kBlocksM; ++i) {
          Instruction::mma_async(accumulators[i].d,
                                 first_a + stage + descriptor_step(kTileA.offset_bytes(i * kWgmmaM, step)),
                                 first_b + stage + descriptor_step(kTileB.offset_bytes(0, step)), tile > 0 || step > 0);
        }
      }
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();
      if (tile > 0) release(previous);
      previous = cursor.stage;
      cursor.advance();
    }
    ptx::wgmma_wait_group<0>();
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (auto& d : accumulators[i].d) ptx::pin(d);
    }
    if (k_tiles_ > 0) release(previous);
  }

  /// One thread speaks for the warpgroup, to each block that copies into this one's stages.
  HOTGEMM_DEVICE void release(u32 stage) const {
    if constexpr (kCluster == 1) {
      if (is_leader()) ptx::mbarrier_arrive(empty(stage));
    } else {
      const u32 block = static_cast<u32>(thread_ % kWarpgroupThreads);
      if (block < kCluster) ptx::mbarrier_arrive_cluster(ptx::mapa(empty(stage), block));
    }
  }

  // ---- epilogue ----

  // Each warp stores its rows by itself, 64 columns at a time through one of two buffers of its own. Were the copy
  // engine to store them, they would wait behind the next tile's operands, and the consumers for them
  // (docs/notebook/wgmma.md).

  HOTGEMM_DEVICE void store(const Accumulator (&accumulators)[kBlocksM], int m, int n) const {
    const int warp = thread_ / kWarpSize - kWarpgroupThreads / kWarpSize;  // among those of all consumers
    const u32 buffers = shared_ + kConfig.store_offset() + warp * 2 * kConfig.kStoreBytes;
    const int first_row = m + warp % 4 * kConfig.kStoreRows;
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      const int row = first_row + i * kWgmmaM;
#pragma unroll
      for (int col = 0; col < kConfig.block_n; col += kConfig.kStoreCols) {
        constexpr int kPieces = div_up(kConfig.block_n, kConfig.kStoreCols);
        const u32 buffer = buffers + (i * kPieces + col / kConfig.kStoreCols) % 2 * kConfig.kStoreBytes;
        const int cols = min_of(kConfig.kStoreCols, kConfig.block_n - col);
        stage(accumulators[i], col, cols, row, n + col, buffer);
        ptx::bar_warp_sync(~0u);  // and the other buffer has been read
        store_staged(buffer, cols, row, n + col);
      }
    }
    ptx::bar_warp_sync(~0u);
  }

  /// The warp's 16 rows of `cols` columns, from `tile_col` of the tile and from `row`, `col` of D, rounded.
  HOTGEMM_DEVICE void stage(const Accumulator& accumulator, int tile_col, int cols, int row, int col,
                            u32 buffer) const {
    const int lane = thread_ % kWarpSize;
    const Element2d first = accumulator_element(lane, 0);
#pragma unroll
    for (int c = 0; c < cols; c += 16) {
      u32 pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // rows 0 to 7, 8 to 15 of eight columns, then of the next eight
        pairs[i] = result_pair(accumulator, (tile_col + c) / 8 * 4 + i * 2, row + first.row + i % 2 * 8,
                               col + c + i / 2 * 8 + first.col);
      }
      const int offset = lane % 16 * kConfig.kStoreCols * 2 + c * 2 + lane / 16 * kChunkBytes;
      ptx::stmatrix_x4(buffer + swizzled_offset(offset, kConfig.kStoreCols * 2), pairs);
    }
  }

  HOTGEMM_DEVICE void store_staged(u32 buffer, int cols, int row, int col) const {
    if (row + kConfig.kStoreRows <= args_.gemm.m && col + cols <= args_.gemm.n) {
      ptx::Vec4 chunks[kConfig.kStoreCols / 16];
#pragma unroll
      for (int pass = 0; pass < cols / 16; ++pass)
        chunks[pass] = ptx::ld_shared_v4_b32(chunk(buffer, cols, pass).shared);
#pragma unroll
      for (int pass = 0; pass < cols / 16; ++pass) {
        const Chunk at = chunk(buffer, cols, pass);
        ptx::st_global_v4_b32(element_address(args_.gemm.d, args_.gemm.ldd, row + at.row, col + at.col), chunks[pass]);
      }
    } else {
#pragma unroll 1
      for (int pass = 0; pass < cols / 16; ++pass) {
        const Chunk at = chunk(buffer, cols, pass);
        store_inside(at.shared, row + at.row, col + at.col);
      }
    }
  }

  /// Eight results that this lane moves from a buffer to D: 128 bytes of a row by as many lanes.
  struct Chunk {
    int row;
    int col;
    u32 shared;
  };
  HOTGEMM_DEVICE Chunk chunk(u32 buffer, int cols, int pass) const {
    const int index = pass * kWarpSize + thread_ % kWarpSize;
    const int row = index / (cols / 8), col = index % (cols / 8) * 8;
    const int offset = (row * kConfig.kStoreCols + col) * 2;
    return {row, col, buffer + swizzled_offset(offset, kConfig.kStoreCols * 2)};
  }

  /// Of eight results those that lie inside D.
  HOTGEMM_DEVICE void store_inside(u32 shared, int row, int col) const {
    if (row >= args_.gemm.m) return;
    const u64 d = element_address(args_.gemm.d, args_.gemm.ldd, row, col);
#pragma unroll 1
    for (int e = 0; e < 8 && col + e < args_.gemm.n; ++e)
      ptx::st_global_b16(d + e * 2, ptx::ld_shared_b16(shared + e * 2));
  }

  /// alpha * acc + beta * C of elements `i` and `i + 1` of the accumulator, which are at `row`, `col` and `col + 1`.
  HOTGEMM_DEVICE u32 result_pair(const Accumulator& accumulator, int i, int row, int col) const {
    float low = args_.gemm.alpha * accumulator.get(i);
    float high = args_.gemm.alpha * accumulator.get(i + 1);
    if constexpr (kTraits.reads_c) {
      const u64 c = element_address(args_.gemm.c, args_.gemm.ldc, row, col);
      if (row < args_.gemm.m && col + 1 < args_.gemm.n) {
        const u32 pair = ptx::ld_global_b32(c);
        low += args_.gemm.beta * ptx::widen<kTraits.element>(static_cast<u16>(pair));
        high += args_.gemm.beta * ptx::widen<kTraits.element>(static_cast<u16>(pair >> 16));
      } else if (row < args_.gemm.m && col < args_.gemm.n) {
        low += args_.gemm.beta * ptx::widen<kTraits.element>(ptx::ld_global_b16(c));
      }
    }
    return ptx::narrow_pair<kTraits.element>(low, high);
  }

  static HOTGEMM_DEVICE u64 element_address(u64 matrix, i64 ld, int row, int col) {
    return matrix + static_cast<u64>(row * ld + col) * 2;
  }

  const WgmmaArgs& args_;
  int thread_;
  u32 rank_;  // of this block in its cluster
  u32 shared_;
  int k_tiles_;
  u32 tiles_m_, tiles_n_;  // of a cluster's size
};

/// As many blocks as the GPU holds at once, or fewer: a multiple of the cluster's size.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Instruction>
HOTGEMM_DEVICE void wgmma_gemm(const WgmmaArgs& args) {
#if defined(__CUDA_ARCH__)
  static_assert(is_legal(kConfig, kTraits, *nearest_arch_limits(__CUDA_ARCH__ / 10)));
#endif
  WgmmaGemm<kTraits, kConfig, Instruction>(args, ptx::thread_index()).run();
}

}  // namespace hotgemm
