#pragma once

// Family `fma`: CUDA cores with packed accesses, any architecture. The picture is in docs/kernels/fma.md.
//
//   global ──cp.async, or through registers──▶ shared, rows along k, `stages` deep ──▶ fragments ──fma──▶ D

#include "batch.cuh"
#include "fma_copy.cuh"
#include "fma_fragment.cuh"
#include "fused_sum.cuh"
#include "ptx/barrier.hpp"
#include "ptx/convert.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "shared/fma_config.hpp"
#include "shared/gemm_args.hpp"
#include "shared/tile_order.hpp"
#include "vector_access.cuh"

namespace hotgemm {

template <GemmTraits kTraits, FmaConfig kConfig>
class FmaGemm {
  static constexpr DType kElement = kTraits.element, kResult = kTraits.element_d;
  static constexpr DType kFactor = FmaConfig::factor_type(kElement);
  using Result = typename NumberOf<kResult>::type;
  using Op = typename OpOf<kTraits>::Type;
  static constexpr int kRows = kConfig.thread_m, kCols = kConfig.thread_n;
  static constexpr ThreadTile kThreadTile = kConfig.thread_tile(kElement);
  static constexpr FmaTile kTileA = kConfig.a_tile(kTraits);
  static constexpr FmaTile kTileB = kConfig.b_tile(kTraits);
  static constexpr bool kAsyncA = kConfig.copies_async(kTraits.a_is_k_major(), kElement);
  static constexpr bool kAsyncB = kConfig.copies_async(kTraits.b_is_k_major(), kElement);
  static constexpr int kStages = kConfig.stages;
  static constexpr int kStageBytes = kConfig.stage_bytes(kTraits);
  static constexpr int kAhead = kStages > 1 ? kStages - 1 : 1;  // k-tiles copied before the first product
  static constexpr int kStepFactors = kConfig.step_factors();
  // The number of steps of k that are unrolled: a body of about a thousand products compiles within a second.
  static constexpr int kSteps = kConfig.unrolled_steps(kTraits);
  static constexpr int kChunks = kConfig.slice_steps(kElement) / kSteps;
  static constexpr int kSliceThreads = kConfig.slice_threads();

  using CopyA = FmaCopy<kTileA, kElement, kAsyncA>;
  using CopyB = FmaCopy<kTileB, kElement, kAsyncB>;

  struct Fragments {
    FmaFragment<kFactor, kConfig.packed && !kTileA.along_k, kRows, kThreadTile.group_m,
                kThreadTile.lanes_m * kThreadTile.group_m, kTileA.outer_step_bytes()>
        a;
    FmaFragment<kFactor, kConfig.packed, kCols, kThreadTile.group_n, kThreadTile.lanes_n * kThreadTile.group_n,
                kTileB.outer_step_bytes()>
        b;
    template <class Accumulators>
    HOTGEMM_DEVICE void add_to(Accumulators& sums) const {
      sums.add(a, b);
    }
  };
  /// Fragments of quads. A thread's rows are lanes_m apart, and its columns lanes_n.
  struct QuadFragments {
    FmaQuads<kRows, kThreadTile.lanes_m * kTileA.outer_step_bytes()> a;
    FmaQuads<kCols, kThreadTile.lanes_n * kTileB.outer_step_bytes()> b;
    template <class Accumulators>
    HOTGEMM_DEVICE void add_to(Accumulators& sums) const {
#pragma unroll
      for (int k = 0; k < 4; ++k) sums.add(a.at(k), b.at(k));
    }
  };
  using StepFragments = typename Conditional<kConfig.quads, QuadFragments, Fragments>::Type;
  /// The start of this thread's elements in the current rows of shared memory.
  struct Rows {
    u32 a, b;
  };

 public:
  HOTGEMM_DEVICE FmaGemm(const GemmArgs& args, TileCoord tile, int thread)
      : args_(args),
        thread_(thread),
        block_m_(tile.m * kConfig.block_m),
        block_n_(tile.n * kConfig.block_n),
        slice_(kConfig.slices > 1 ? thread / kSliceThreads : 0),
        place_(kThreadTile.place(kConfig.slices > 1 ? thread % kSliceThreads : thread)),
        shared_(ptx::dynamic_shared_base()) {}

  HOTGEMM_DEVICE void run() {
    if constexpr (kStages == 0) {
      accumulate_from_global();
    } else {
      accumulate();
    }
    if constexpr (kConfig.slices > 1) add_slices();
    if (slice_ == 0) store();
  }

 private:
  // ---- main loop ----

  /// Tile t lies in stage t % stages. At the start of iteration t, its copies have landed and every thread knows this.
  /// The stage of tile t-1 is then free and receives tile t+stages-1. Copies beyond the last tile write zeros.
  HOTGEMM_DEVICE void accumulate() {
    CopyA copy_a(args_.a, args_.lda, block_m_, args_.m, args_.k, thread_);
    CopyB copy_b(args_.b, args_.ldb, block_n_, args_.n, args_.k, thread_);
    const int k_tiles = (args_.k + kConfig.block_k - 1) / kConfig.block_k;
    const bool is_inside = args_.m - block_m_ >= kConfig.block_m && args_.n - block_n_ >= kConfig.block_n;
    whole_tiles_ = is_inside ? args_.k / kConfig.block_k : 0;

    read_ = shared_;
    write_ = shared_;
#pragma unroll 1
    for (int stage = 0; stage < kAhead; ++stage) {
      begin_copy(copy_a, copy_b);
      end_copy(copy_a, copy_b);
    }
    await_tile();

    StepFragments fragments[2];
    Rows rows = first_rows();
    load(fragments[0], rows, 0);
#pragma unroll 1
    for (int tile = 0; tile < k_tiles; ++tile) {
#pragma unroll 1
      for (int chunk = 0; chunk < kChunks; ++chunk) iterate<0>(fragments, copy_a, copy_b, rows, chunk);
    }
    if constexpr (kConfig.async_copy) ptx::cp_async_wait_group<0>();
  }

  /// One step of k: loads the fragments of the next step, multiplies those of this step. The copies of a tile begin in
  /// the first step of a k-tile and end in the last.
  template <int kStep>
  HOTGEMM_DEVICE void iterate(StepFragments (&fragments)[2], CopyA& copy_a, CopyB& copy_b, Rows& rows, int chunk) {
    constexpr bool kLast = kStep == kSteps - 1;
    constexpr int kNow = kSteps % 2 == 0 ? kStep % 2 : 0;
    if constexpr (kLast) {
      if (chunk == kChunks - 1) {
        next_tile(copy_a, copy_b);
        rows = first_rows();
      } else {
        rows = {rows.a + kTileA.offset_bytes(0, kSteps * kStepFactors),
                rows.b + kTileB.offset_bytes(0, kSteps * kStepFactors)};
      }
    }
    load(fragments[kNow ^ 1], rows, kLast ? 0 : kStep + 1);
    if constexpr (kStep == 0 && kStages > 1) {
      if (chunk == 0) begin_copy(copy_a, copy_b);
    }
    fragments[kNow].add_to(accumulators_);
    if constexpr (kSteps % 2 != 0) fragments[0] = fragments[1];
    if constexpr (!kLast) iterate<kStep + 1>(fragments, copy_a, copy_b, rows, chunk);
  }

  /// Makes the next tile available in read_ for all threads. A single stage is copied here, between two barriers.
  HOTGEMM_DEVICE void next_tile(CopyA& copy_a, CopyB& copy_b) {
    if constexpr (kStages == 1) {
      ptx::bar_sync();
      begin_copy(copy_a, copy_b);
    }
    end_copy(copy_a, copy_b);
    await_tile();
    read_ = next_stage(read_);
  }

  HOTGEMM_DEVICE void begin_copy(CopyA& copy_a, CopyB& copy_b) {
    const bool is_whole = whole_tiles_-- > 0;
    copy_a.begin(write_, is_whole);
    copy_b.begin(write_ + kTileA.bytes(), is_whole);
    if constexpr (kConfig.async_copy) ptx::cp_async_commit_group();
  }
  HOTGEMM_DEVICE void end_copy(const CopyA& copy_a, const CopyB& copy_b) {
    copy_a.end(write_);
    copy_b.end(write_ + kTileA.bytes());
    write_ = next_stage(write_);
  }

  /// Waits until the oldest tile in flight has landed for every thread and the stage before it is no longer read.
  static HOTGEMM_DEVICE void await_tile() {
    if constexpr (kConfig.async_copy) ptx::cp_async_wait_group<kAhead - 1>();
    ptx::bar_sync();
  }

  HOTGEMM_DEVICE u32 next_stage(u32 stage) const {
    const u32 next = stage + kStageBytes;
    return next == shared_ + kStages * kStageBytes ? shared_ : next;
  }

  HOTGEMM_DEVICE Rows first_rows() const {
    const int k = slice_ * kConfig.slice_steps(kElement) * kStepFactors;
    return {read_ + kTileA.offset_bytes(place_.m, k), read_ + kTileA.bytes() + kTileB.offset_bytes(place_.n, k)};
  }
  static HOTGEMM_DEVICE void load(StepFragments& f, const Rows& rows, int step) {
    f.a.load(rows.a + kTileA.offset_bytes(0, step * kStepFactors));
    f.b.load(rows.b + kTileB.offset_bytes(0, step * kStepFactors));
  }

  /// The main loop without shared memory: each thread reads its own rows of A and columns of B.
  HOTGEMM_DEVICE void accumulate_from_global() {
    const i64 step_a = kTraits.a_is_k_major() ? 1 : args_.lda, step_b = kTraits.b_is_k_major() ? 1 : args_.ldb;
    const i64 row_stride = kTraits.a_is_k_major() ? args_.lda : 1, col_stride = kTraits.b_is_k_major() ? args_.ldb : 1;
    Fragments f;
#pragma unroll 4
    for (int k = 0; k < args_.k; ++k) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        f.a.set(i, row(i) < args_.m ? load_factor(args_.a, row(i) * row_stride + k * step_a) : 0);
      }
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
        f.b.set(j, col(j) < args_.n ? load_factor(args_.b, col(j) * col_stride + k * step_b) : 0);
      }
      accumulators_.add(f.a, f.b);
    }
  }

  /// Adds the sums of the other slices to those of the first, one slice after another. They take the place of the
  /// stages, which nobody reads any more behind the barrier.
  HOTGEMM_DEVICE void add_slices() {
    constexpr DType kSum = kTraits.accumulator;
    const u32 own = shared_ + static_cast<u32>(thread_ % kSliceThreads) * 4;
    const auto place = [&](int slice, int i, int j) {
      return own + static_cast<u32>((((slice - 1) * kRows + i) * kCols + j) * kSliceThreads) * 4;
    };
    const auto for_each_sum = [](auto&& use) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kCols; ++j) use(i, j);
      }
    };
    ptx::bar_sync();
    if (slice_ > 0) {
      for_each_sum(
          [&](int i, int j) { ptx::st_shared_b32(place(slice_, i, j), bits_of_number(accumulators_.get(i, j))); });
    }
    ptx::bar_sync();
    if (slice_ > 0) return;
#pragma unroll 1
    for (int slice = 1; slice < kConfig.slices; ++slice) {
      for_each_sum(
          [&](int i, int j) { accumulators_.add(i, j, number_of<kSum>(ptx::ld_shared_b32(place(slice, i, j)))); });
    }
  }

  // ---- epilogue ----

  HOTGEMM_DEVICE int row(int i) const { return block_m_ + place_.m + kThreadTile.row_step(i); }
  HOTGEMM_DEVICE int col(int j) const { return block_n_ + place_.n + kThreadTile.col_step(j); }

  HOTGEMM_DEVICE void store() const {
    constexpr int kWidth = min_of(kTraits.vec_d, kThreadTile.group_n);
    const Op op(args_, typename Op::Source(args_));
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (row(i) >= args_.m) continue;
#pragma unroll
      for (int j = 0; j < kCols; j += kWidth) {
        if (col(j) + kWidth <= args_.n) {
          store_results<kWidth>(op, i, j);
        } else {
#pragma unroll
          for (int e = 0; e < kWidth - 1; ++e) {
            if (col(j + e) < args_.n) store_results<1>(op, i, j + e);
          }
        }
      }
    }
  }

  /// Stores kWidth neighbouring results, rounded.
  template <int kWidth>
  HOTGEMM_DEVICE void store_results(const Op& op, int i, int j) const {
    constexpr int kResultBytes = size_bytes(kResult), kBytes = kWidth * kResultBytes;
    u32 words[kWordsOf<kBytes>];
    if constexpr (kTraits.reads_c) {
      load_global<kBytes>(words, element_address<kResultBytes>(args_.c, row(i) * args_.ldc + col(j)));
    }
    Result values[kWidth];
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      Result c = 0;
      if constexpr (kTraits.reads_c) c = as_number(element_bits<kResultBytes>(words, e));
      values[e] = op.value(args_, accumulators_.get(i, j + e), c, {row(i), col(j + e)});
    }
    pack(words, values);
    store_global<kBytes>(element_address<kResultBytes>(args_.d, row(i) * args_.ldd + col(j)), words);
  }

  template <int kWords, int kWidth>
  static HOTGEMM_DEVICE void pack(u32 (&words)[kWords], const Result (&values)[kWidth]) {
    if constexpr (size_bytes(kResult) == 4) {
#pragma unroll
      for (int e = 0; e < kWidth; ++e) words[e] = bits_of_number(values[e]);
    } else if constexpr (kWidth == 1) {
      words[0] = ptx::narrow<kResult>(values[0]);
    } else {
#pragma unroll
      for (int e = 0; e < kWidth; e += 2) {
        // Packs halves instead of using narrow_pair, which sm_75 lacks for bf16.
        words[e / 2] = ptx::mov_b32_b16(ptx::narrow<kResult>(values[e]), ptx::narrow<kResult>(values[e + 1]));
      }
    }
  }

  static HOTGEMM_DEVICE Result as_number(u32 bits) {
    if constexpr (size_bytes(kResult) == 4) {
      return number_of<kResult>(bits);
    } else {
      return ptx::widen<kResult>(static_cast<u16>(bits));
    }
  }
  template <int kBytes>
  static HOTGEMM_DEVICE u64 element_address(u64 matrix, i64 index) {
    return matrix + static_cast<u64>(index) * kBytes;
  }
  static HOTGEMM_DEVICE u32 load_factor(u64 matrix, i64 index) {
    u32 words[1];
    load_global<size_bytes(kElement)>(words, element_address<size_bytes(kElement)>(matrix, index));
    return multiplied_bits<kElement>(words[0]);
  }

  const GemmArgs& args_;
  int thread_;
  int block_m_, block_n_;  // first row and column of this block's tile in D
  int slice_;              // of this thread
  ThreadPlace place_;      // first row and column of this thread in the tile
  int whole_tiles_;        // tiles inside the matrices that are still to be copied
  u32 shared_;
  u32 read_, write_;  // addresses of stages
  FmaAccumulators<kTraits.accumulator, kConfig.packed, kRows, kCols> accumulators_;
};

/// One block computes one tile; the grid has ceil(m / block_m) * ceil(n / block_n) blocks for each product.
template <GemmTraits kTraits, FmaConfig kConfig>
HOTGEMM_DEVICE void fma_gemm(const GemmArgs& args) {
#if defined(__CUDA_ARCH__)
  static_assert(is_legal(kConfig, kTraits, *nearest_arch_limits(__CUDA_ARCH__ / 10)));
#endif
  run_block<FmaGemm<kTraits, kConfig>, kTraits>(args, kConfig.block_m, kConfig.block_n);
}

}  // namespace hotgemm
