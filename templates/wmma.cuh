#pragma once

// Family `wmma`: tensor cores by wmma.load, wmma.mma and wmma.store, sm_80 and later. The picture is in
// docs/kernels/wmma.md.
//
//   global ──cp.async──▶ shared, `stages` deep ──wmma.load──▶ fragments ──wmma.mma──▶ accumulators ──wmma.store──▶
//   shared ──▶ D

#include "batch.cuh"
#include "operand_tile.cuh"
#include "ptx/barrier.hpp"
#include "ptx/convert.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "ptx/wmma.hpp"
#include "result_chunk.cuh"
#include "shared/gemm_args.hpp"
#include "shared/tile_order.hpp"
#include "shared/wmma_config.hpp"

namespace hotgemm {

/// A thread's part of the 256 sums of one product. The architecture decides which sums these are.
template <DType kType>
struct WmmaAccumulator {
  static_assert(kType == DType::f32);
  float d[8] = {0, 0, 0, 0, 0, 0, 0, 0};
};
template <>
struct WmmaAccumulator<DType::f16> {
  u32 d[4] = {0, 0, 0, 0};
};

template <GemmTraits kTraits, WmmaConfig kConfig>
class WmmaGemm {
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kM = kConfig.fragment_m;
  static constexpr int kN = kConfig.fragment_n();
  static constexpr int kFragmentsM = kConfig.warp_m() / kM;
  static constexpr int kFragmentsN = kConfig.warp_n() / kN;
  static constexpr int kKSteps = kConfig.block_k / kWmmaK;
  static constexpr int kStages = kConfig.stages;
  static constexpr TileLayout kTileA = kConfig.a_tile(kTraits);
  static constexpr TileLayout kTileB = kConfig.b_tile(kTraits);
  static constexpr int kStageBytes = kConfig.stage_bytes(kTraits);
  // A's tile is stored by rows of A or by columns, and B's likewise; wmma supports both.
  static constexpr bool kRowA = kTraits.a_is_k_major();
  static constexpr bool kRowB = !kTraits.b_is_k_major();

  using CopyA = TileCopy<kTileA, kTraits.a_is_k_major(), kTraits.vec_a, kThreads, kConfig.async_copy>;
  using CopyB = TileCopy<kTileB, kTraits.b_is_k_major(), kTraits.vec_b, kThreads, kConfig.async_copy>;
  using Accumulator = WmmaAccumulator<kTraits.accumulator>;

  struct Fragments {
    u32 a[kFragmentsM][wmma_operand_registers(kTraits.element, kM)];
    u32 b[kFragmentsN][wmma_operand_registers(kTraits.element, kN)];
  };

 public:
  HOTGEMM_DEVICE WmmaGemm(const GemmArgs& args, TileCoord tile, int thread)
      : args_(args),
        thread_(thread),
        block_m_(tile.m * kConfig.block_m),
        block_n_(tile.n * kConfig.block_n),
        warp_m_(thread / kWarpSize % kConfig.warps_m * kConfig.warp_m()),
        warp_n_(thread / kWarpSize / kConfig.warps_m * kConfig.warp_n()),
        shared_(ptx::dynamic_shared_base()),
        warp_a_(element_offset<kTileA>(!kRowA, warp_m_, 0)),
        warp_b_(kTileA.bytes() + element_offset<kTileB>(kRowB, warp_n_, 0)) {}

  HOTGEMM_DEVICE void run() {
    if constexpr (kStages == 0) {
      accumulate_from_global();
    } else {
      CopyA copy_a(args_.a, args_.lda, block_m_, args_.m, args_.k, thread_);
      CopyB copy_b(args_.b, args_.ldb, block_n_, args_.n, args_.k, thread_);
      if constexpr (kStages == 1) {
        accumulate_by_turns(copy_a, copy_b, whole_tiles(), k_tiles());
      } else {
        accumulate(copy_a, copy_b);
      }
    }
    store();
  }

 private:
  // ---- main loop ----

  HOTGEMM_DEVICE int k_tiles() const { return (args_.k + kConfig.block_k - 1) / kConfig.block_k; }
  /// The number of k-tiles that lie inside both matrices: the first ones, or none.
  HOTGEMM_DEVICE int whole_tiles() const {
    const bool is_inside = CopyA::is_inside(block_m_, args_.m) && CopyB::is_inside(block_n_, args_.n);
    return is_inside ? args_.k / kConfig.block_k : 0;
  }

  /// The loop without a stage. wmma.load has no predicate for each element, so a tile that crosses an edge goes through
  /// shared memory; so do all tiles of a matrix that wmma.load cannot read where it lies.
  HOTGEMM_DEVICE void accumulate_from_global() {
    const int direct = is_loadable(args_.a, args_.lda) && is_loadable(args_.b, args_.ldb) ? whole_tiles() : 0;
    const u64 step_a = bytes_of(!kRowA, args_.lda, kConfig.block_k);
    const u64 step_b = bytes_of(kRowB, args_.ldb, kConfig.block_k);
    u64 a = args_.a + bytes_of(kRowA, args_.lda, block_m_ + warp_m_);
    u64 b = args_.b + bytes_of(!kRowB, args_.ldb, block_n_ + warp_n_);
#pragma unroll 1
    for (int tile = 0; tile < direct; ++tile) {
#pragma unroll
      for (int step = 0; step < kKSteps; ++step) {
        Fragments fragments;
        load_from_global(fragments, a, b, step);
        multiply(fragments);
      }
      a += step_a;
      b += step_b;
    }
    const int done = direct * kConfig.block_k;
    CopyA copy_a(args_.a, args_.lda, block_m_, args_.m, args_.k, thread_, done);
    CopyB copy_b(args_.b, args_.ldb, block_n_, args_.n, args_.k, thread_, done);
    accumulate_by_turns(copy_a, copy_b, 0, k_tiles() - direct);
  }

  static HOTGEMM_DEVICE bool is_loadable(u64 matrix, i64 ld) { return matrix % 32 == 0 && ld <= 0x7fffffff; }

  /// The loop for one stage: the block copies, then it multiplies.
  HOTGEMM_DEVICE void accumulate_by_turns(CopyA& copy_a, CopyB& copy_b, int whole, const int tiles) {
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
      ptx::bar_sync();  // the tile before has been read
      issue_tile(copy_a, copy_b, shared_, whole);
      if constexpr (kConfig.async_copy) ptx::cp_async_wait_group<0>();
      ptx::bar_sync();
      multiply_tile(shared_);
    }
    ptx::bar_sync();  // the epilogue reuses the stage
  }

  /// Tile t lies in stage t % stages. At the start of iteration t, its copies have landed and every warp knows this.
  /// The stage of tile t-1 is then free and receives the copies of tile t+stages-1. Copies beyond the last tile write
  /// zeros.
  HOTGEMM_DEVICE void accumulate(CopyA& copy_a, CopyB& copy_b) {
    int whole = whole_tiles();  // whole tiles that are still to be copied
    const int tiles = k_tiles();
#pragma unroll 1
    for (int stage = 0; stage < kStages - 1; ++stage) {
      issue_tile(copy_a, copy_b, shared_ + stage * kStageBytes, whole);
    }
    u32 read = shared_;
    u32 write = shared_ + (kStages - 1) * kStageBytes;
    await_tile();

    if constexpr (kConfig.buffers_fragments(kTraits)) {
      Fragments fragments[2];
      load(fragments[0], read, 0);
#pragma unroll 1
      for (int tile = 0; tile < tiles; ++tile) {
        iterate<0>(fragments, copy_a, copy_b, read, write, whole);
      }
    } else {
#pragma unroll 1
      for (int tile = 0; tile < tiles; ++tile) {
        issue_tile(copy_a, copy_b, write, whole);
        multiply_tile(read);
        await_tile();
        read = next_stage(read);
        write = next_stage(write);
      }
    }
    ptx::cp_async_wait_group<0>();
    ptx::bar_sync();  // the epilogue reuses the stages
  }

  /// One k-step: loads the fragments of the next step, multiplies those of this step. As in family mma, all copies are
  /// issued in the first step, and the barrier stands before the products of the last step.
  template <int kStep>
  HOTGEMM_DEVICE void iterate(Fragments (&fragments)[2], CopyA& copy_a, CopyB& copy_b, u32& read, u32& write,
                              int& whole) {
    constexpr bool kLast = kStep == kKSteps - 1;
    if constexpr (kLast) {
      await_tile();
      read = next_stage(read);
      write = next_stage(write);
    }
    load(fragments[kStep % 2 ^ 1], read, kLast ? 0 : kStep + 1);
    if constexpr (kStep == 0) issue_tile(copy_a, copy_b, write, whole);
    multiply(fragments[kStep % 2]);
    if constexpr (!kLast) iterate<kStep + 1>(fragments, copy_a, copy_b, read, write, whole);
  }

  /// Issues the copies of the next k-tile, as one group. Tiles inside both matrices are copied without predicates.
  static HOTGEMM_DEVICE void issue_tile(CopyA& copy_a, CopyB& copy_b, u32 stage, int& whole) {
    if (whole > 0) {
      copy_a.issue_whole(stage);
      copy_b.issue_whole(stage + kTileA.bytes());
    } else {
      copy_a.issue_partial(stage);
      copy_b.issue_partial(stage + kTileA.bytes());
    }
    --whole;
    copy_a.advance();
    copy_b.advance();
    if constexpr (kConfig.async_copy) ptx::cp_async_commit_group();
  }

  /// Waits until the oldest tile in flight has landed for every thread and the stage before it is no longer read.
  static HOTGEMM_DEVICE void await_tile() {
    ptx::cp_async_wait_group<kStages - 2>();
    ptx::bar_sync();
  }

  HOTGEMM_DEVICE u32 next_stage(u32 stage) const {
    const u32 next = stage + kStageBytes;
    return next == shared_ + kStages * kStageBytes ? shared_ : next;
  }

  // ---- fragments ----

  /// Bytes from the start of a tile to the element at `outer` (a row of A, a column of B) and `k`.
  template <TileLayout kTile>
  static HOTGEMM_DEVICE int element_offset(bool k_outermost, int outer, int k) {
    const int row = k_outermost ? k : outer, col = k_outermost ? outer : k;
    return row * kTile.row_stride_bytes() + col * 2;
  }

  HOTGEMM_DEVICE void load(Fragments& f, u32 stage, int step) const {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      const u32 address = stage + warp_a_ + element_offset<kTileA>(!kRowA, i * kM, step * kWmmaK);
      ptx::wmma_load_a<kM, kTraits.element, kRowA>(f.a[i], address, kTileA.row_stride_bytes() / 2);
    }
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j) {
      const u32 address = stage + warp_b_ + element_offset<kTileB>(kRowB, j * kN, step * kWmmaK);
      ptx::wmma_load_b<kM, kTraits.element, kRowB>(f.b[j], address, kTileB.row_stride_bytes() / 2);
    }
  }

  /// Bytes that `count` rows of a matrix in memory take, or else `count` elements of a row.
  static HOTGEMM_DEVICE u64 bytes_of(bool rows, i64 ld, int count) {
    return static_cast<u64>(rows ? count * ld : count) * 2;
  }
  HOTGEMM_DEVICE void load_from_global(Fragments& f, u64 a, u64 b, int step) const {
    const int lda = static_cast<int>(args_.lda), ldb = static_cast<int>(args_.ldb);
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      const u64 address = a + bytes_of(kRowA, lda, i * kM) + bytes_of(!kRowA, lda, step * kWmmaK);
      ptx::wmma_load_a_global<kTraits.element, kRowA>(f.a[i], address, lda);
    }
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j) {
      const u64 address = b + bytes_of(!kRowB, ldb, j * kN) + bytes_of(kRowB, ldb, step * kWmmaK);
      ptx::wmma_load_b_global<kTraits.element, kRowB>(f.b[j], address, ldb);
    }
  }

  /// Columns are visited back and forth, so that neighbouring products share an operand.
  HOTGEMM_DEVICE void multiply(const Fragments& f) {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
#pragma unroll
      for (int s = 0; s < kFragmentsN; ++s) {
        const int j = i % 2 == 0 ? s : kFragmentsN - 1 - s;
        ptx::wmma_mma<kM, kTraits.element, kRowA, kRowB>(accumulators_[i][j].d, f.a[i], f.b[j]);
      }
    }
  }

  HOTGEMM_DEVICE void multiply_tile(u32 stage) {
#pragma unroll
    for (int step = 0; step < kKSteps; ++step) {
      Fragments fragments;
      load(fragments, stage, step);
      multiply(fragments);
    }
  }

  // ---- epilogue ----

  /// Each warp stores its part alone. It stores kM rows of its sums to its own buffer; then each lane stores eight
  /// neighbouring results from there to D.
  HOTGEMM_DEVICE void store() const {
    constexpr int kStride = kConfig.sum_stride_bytes(kTraits);
    constexpr int kSumBytes = size_bytes(kTraits.accumulator);
    constexpr int kChunksPerRow = kConfig.warp_n() / 8;
    const int lane = thread_ % kWarpSize;
    const u32 buffer = shared_ + thread_ / kWarpSize * kConfig.sum_buffer_bytes(kTraits);
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i) {
      if (i > 0) ptx::bar_warp_sync(~0u);  // the rows before have been read
#pragma unroll
      for (int j = 0; j < kFragmentsN; ++j) {
        ptx::wmma_store_d<kM>(buffer + j * kN * kSumBytes, accumulators_[i][j].d, kStride / kSumBytes);
      }
      ptx::bar_warp_sync(~0u);
#pragma unroll 1
      for (int index = lane; index < kM * kChunksPerRow; index += kWarpSize) {
        const int row = index / kChunksPerRow, chunk = index % kChunksPerRow;
        float sums[8];
        load_sums(sums, buffer + row * kStride + chunk * 8 * kSumBytes);
        ResultChunk<kTraits>(args_, block_m_ + warp_m_ + i * kM + row, block_n_ + warp_n_ + chunk * 8).store(sums);
      }
    }
  }

  static HOTGEMM_DEVICE void load_sums(float (&sums)[8], u32 shared) {
    const ptx::Vec4 first = ptx::ld_shared_v4_b32(shared);
    if constexpr (kTraits.accumulator == DType::f16) {
      const u32 pairs[4] = {first.x, first.y, first.z, first.w};
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[e] = ptx::cvt_f32_f16(static_cast<u16>(pairs[e / 2] >> (e % 2 * 16)));
    } else {
      const ptx::Vec4 second = ptx::ld_shared_v4_b32(shared + 16);
      const u32 bits[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
#pragma unroll
      for (int e = 0; e < 8; ++e) sums[e] = ptx::float_of(bits[e]);
    }
  }

  const GemmArgs& args_;
  int thread_;
  int block_m_, block_n_;  // first row and column of this block's tile in D
  int warp_m_, warp_n_;    // first row and column of this warp's part of the tile
  u32 shared_;
  u32 warp_a_, warp_b_;  // from a stage's start to this warp's first row of A and column of B
  Accumulator accumulators_[kFragmentsM][kFragmentsN];
};

/// One block computes one tile; the grid has ceil(m / block_m) * ceil(n / block_n) blocks for each product.
template <GemmTraits kTraits, WmmaConfig kConfig>
HOTGEMM_DEVICE void wmma_gemm(const GemmArgs& args) {
#if defined(__CUDA_ARCH__)
  static_assert(is_legal(kConfig, kTraits, *nearest_arch_limits(__CUDA_ARCH__ / 10)));
#endif
  run_block<WmmaGemm<kTraits, kConfig>, kTraits>(args, kConfig.block_m, kConfig.block_n);
}

}  // namespace hotgemm
