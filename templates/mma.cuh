#pragma once

// Family `mma`: tensor cores by mma.sync, sm_80 and later: m16n8k16, or for elements of 8 and 32 bits the instruction
// with as many bytes of k. The picture is in docs/kernels/mma.md.
//
//   global ──cp.async──▶ shared, `stages` deep ──ldmatrix──▶ registers ──mma.sync──▶ accumulators ──▶ D

#include "batch.cuh"
#include "fused_sum.cuh"
#include "gated_sums.cuh"
#include "mma_accumulator.cuh"
#include "mma_result.cuh"
#include "mma_totals.cuh"
#include "operand_tile.cuh"
#include "pair_access.cuh"
#include "ptx/barrier.hpp"
#include "ptx/convert.hpp"
#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/mma.hpp"
#include "ptx/warp.hpp"
#include "recomputed_copy.cuh"
#include "shared/gemm_args.hpp"
#include "shared/mma_config.hpp"
#include "shared/tile_order.hpp"
#include "word_exchange.cuh"

namespace hotgemm {

template <GemmTraits kTraits, MmaConfig kConfig>
class MmaGemm {
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kBlocksM = kConfig.warp_m() / 16;       // 16×16 blocks of A per warp and k-step
  static constexpr int kLoadColumns = kConfig.b_matrices / 2;  // 8-wide columns of accumulators per ldmatrix of B
  static constexpr int kBlocksN = kConfig.warp_n() / kConfig.load_n();  // loads of B per warp and k-step
  static constexpr int kColumns = kBlocksN * kLoadColumns;
  static constexpr int kKSteps = kConfig.block_k / MmaConfig::instruction_k(kTraits);
  static constexpr int kElementBytes = size_bytes(kTraits.element);
  static constexpr int kStages = kConfig.stages;
  static constexpr TileLayout kTileA = kConfig.a_tile(kTraits);
  static constexpr TileLayout kTileB = kConfig.b_tile(kTraits);
  static constexpr TileLayout kTileD = kConfig.d_tile(kTraits);
  static constexpr int kStageBytes = kConfig.stage_bytes(kTraits);
  static constexpr Epilogue kEpilogue = kTraits.epilogue;
  static constexpr bool kHasHalves = kEpilogue.gate == Gate::halves;

  template <TileLayout kTile, bool kKMajor, int kVec, bool kHalves = false>
  using Copy = typename StageCopyOf<kConfig.recomputes, kTile, kKMajor, kVec, kThreads, kConfig.async_copy,
                                    kElementBytes, kHalves>::Type;
  using CopyA = Copy<kTileA, kTraits.a_is_k_major(), kTraits.vec_a>;
  using CopyB = Copy<kTileB, kTraits.b_is_k_major(), kTraits.vec_b, kHasHalves>;
  using SourceA = FragmentSource<kTileA, kTraits.a_is_k_major(), 16, 16 * kConfig.warps_m, 4, kElementBytes, true>;
  using SourceB = FragmentSource<kTileB, kTraits.b_is_k_major(), kConfig.b_warp_step(), kConfig.b_load_step(),
                                 kConfig.b_matrices, kElementBytes>;

  using Result = MmaResult<kTraits>;
  /// The lanes of a quad have neighbours at once, unless a block's halves are its even and its odd columns.
  using Op = typename OpOf<kTraits, kTileB.read == TileRead::byte_pairs ? Neighbours::none : Neighbours::across>::Type;
  using Accumulator = MmaAccumulator<kTraits.accumulator>;
  static constexpr bool kScaled = kTraits.epilogue.has_block_scales();

  struct Fragments {
    u32 a[kBlocksM][4];
    u32 b[kBlocksN][kConfig.b_matrices];
  };

 public:
  HOTGEMM_DEVICE MmaGemm(const GemmArgs& args, TileCoord tile, int thread)
      : args_(args),
        thread_(thread),
        lane_(thread % kWarpSize),
        block_m_(tile.m * kConfig.block_m),
        block_n_(tile.n * kConfig.block_n),
        warp_m_(thread / kWarpSize % kConfig.warps_m),
        warp_n_(thread / kWarpSize / kConfig.warps_m),
        shared_(ptx::dynamic_shared_base()) {}

  HOTGEMM_DEVICE void run() {
    accumulate();
    if constexpr (kScaled) totals_.take(accumulators_);
    if constexpr (kConfig.store == kStagedStore) {
      store_staged();
    } else if constexpr (kConfig.store == kShuffledStore) {
      store_shuffled();
    } else {
      store_direct();
    }
  }

 private:
  // ---- main loop ----

  HOTGEMM_DEVICE void accumulate() {
    CopyA copy_a(args_.a, args_.lda, block_m_, args_.m, args_.k, thread_);
    CopyB copy_b(args_.b, args_.ldb, first_copied(), copied_columns(), args_.k, thread_);
    const SourceA source_a(source_lane(kTileA.read, lane_, ldmatrix_a_lane(lane_, kTraits.a_is_k_major())), warp_m_);
    const SourceB source_b(source_lane(kTileB.read, lane_,
                                       kConfig.b_matrices == 4 ? ldmatrix_b_lane(lane_, kTraits.b_is_k_major())
                                                               : ldmatrix_x2_b_lane(lane_, kTraits.b_is_k_major())),
                           warp_n_);
    const int k_tiles = (args_.k + kConfig.block_k - 1) / kConfig.block_k;
    const bool is_inside = CopyA::is_inside(block_m_, args_.m) && CopyB::is_inside(first_copied(), copied_columns());
    int whole_tiles = is_inside ? args_.k / kConfig.block_k : 0;  // whole tiles that are still to be copied
    if constexpr (kStages == 1) {
      accumulate_in_turn(copy_a, copy_b, source_a, source_b, k_tiles, whole_tiles);
    } else {
      accumulate_overlapped(copy_a, copy_b, source_a, source_b, k_tiles, whole_tiles);
    }
  }

  /// The first column of B that the tile copies, and the columns of B. With a gate in halves, both count the first half
  /// alone: the copies of the second half follow them.
  HOTGEMM_DEVICE int first_copied() const { return kHasHalves ? block_n_ / 2 : block_n_; }
  HOTGEMM_DEVICE int copied_columns() const { return kHasHalves ? args_.n / 2 : args_.n; }

  /// The loop for one stage: a tile is copied, then multiplied; the two never overlap.
  HOTGEMM_DEVICE void accumulate_in_turn(CopyA& copy_a, CopyB& copy_b, const SourceA& source_a, const SourceB& source_b,
                                         int k_tiles, int& whole_tiles) {
    for (int tile = 0; tile < k_tiles; ++tile) {
      issue_tile(copy_a, copy_b, shared_, whole_tiles);
      if constexpr (kConfig.async_copy) ptx::cp_async_wait_group<0>();
      ptx::bar_sync();  // the tile is there for every thread
#pragma unroll
      for (int step = 0; step < kKSteps; ++step) multiply_step(source_a, source_b, shared_, step);
      if constexpr (kScaled) promote(tile, k_tiles);
      ptx::bar_sync();  // and no longer read
    }
  }

  /// Tile t lies in stage t % stages. At the start of iteration t, its copies have landed and every warp knows this.
  /// The stage of tile t-1 is then free and receives the copies of tile t+stages-1. Copies beyond the last tile write
  /// zeros.
  HOTGEMM_DEVICE void accumulate_overlapped(CopyA& copy_a, CopyB& copy_b, const SourceA& source_a,
                                            const SourceB& source_b, int k_tiles, int& whole_tiles) {
#pragma unroll 1
    for (int stage = 0; stage < kStages - 1; ++stage) {
      issue_tile(copy_a, copy_b, shared_ + stage * kStageBytes, whole_tiles);
    }
    u32 read = shared_;
    u32 write = shared_ + (kStages - 1) * kStageBytes;
    await_tile();

    if constexpr (kConfig.fragment_buffers == 1) {
      for (int tile = 0; tile < k_tiles; ++tile) {
        issue_tile(copy_a, copy_b, write, whole_tiles);
#pragma unroll
        for (int step = 0; step < kKSteps; ++step) multiply_step(source_a, source_b, read, step);
        if constexpr (kScaled) promote(tile, k_tiles);
        await_tile();
        read = next_stage(read);
        write = next_stage(write);
      }
    } else {
      Fragments fragments[2];
      load(fragments[0], source_a, source_b, read, 0);
      for (int tile = 0; tile < k_tiles; ++tile) {
        iterate<0>(fragments, copy_a, copy_b, source_a, source_b, read, write, whole_tiles);
        if constexpr (kScaled) promote(tile, k_tiles);
      }
    }
    ptx::cp_async_wait_group<0>();
    ptx::bar_sync();  // the epilogue reuses the stages
  }

  /// One k-step: loads the fragments of the next step, multiplies those of this step.
  ///
  /// All copies are issued in the first step. If they were spread over the steps, they would end just before the
  /// barrier. The barrier would then move to the end of the tile and leave no products to hide the loads behind it
  /// (docs/notebook/mma.md).
  template <int kStep>
  HOTGEMM_DEVICE void iterate(Fragments (&fragments)[2], CopyA& copy_a, CopyB& copy_b, const SourceA& source_a,
                              const SourceB& source_b, u32& read, u32& write, int& whole_tiles) {
    constexpr bool kLast = kStep == kKSteps - 1;
    constexpr int kNow = kKSteps % 2 == 0 ? kStep % 2 : 0;
    if constexpr (kLast) {
      await_tile();
      read = next_stage(read);
      write = next_stage(write);
    }
    load(fragments[kNow ^ 1], source_a, source_b, read, kLast ? 0 : kStep + 1);
    if constexpr (kStep == 0) issue_tile(copy_a, copy_b, write, whole_tiles);
    multiply(fragments[kNow]);
    if constexpr (kKSteps % 2 != 0) fragments[0] = fragments[1];
    if constexpr (!kLast) iterate<kStep + 1>(fragments, copy_a, copy_b, source_a, source_b, read, write, whole_tiles);
  }

  /// Issues the copies of the next k-tile, as one group. Predicates take more instructions than the copies themselves,
  /// so tiles that lie inside both matrices are copied without them.
  static HOTGEMM_DEVICE void issue_tile(CopyA& copy_a, CopyB& copy_b, u32 stage, int& whole_tiles) {
    if (whole_tiles > 0) {
      copy_a.issue_whole(stage);
      copy_b.issue_whole(stage + kTileA.bytes());
    } else {
      copy_a.issue_partial(stage);
      copy_b.issue_partial(stage + kTileA.bytes());
    }
    --whole_tiles;
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

  static HOTGEMM_DEVICE void load(Fragments& f, const SourceA& source_a, const SourceB& source_b, u32 stage, int step) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) load_fragment(source_a, f.a[i], stage, i, step);
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) load_fragment(source_b, f.b[j], stage + kTileA.bytes(), j, step);
  }

  /// Loads a fragment. Tensor cores leave out the last bits of an f32, so it is rounded before.
  template <class Source, int kRegisters>
  static HOTGEMM_DEVICE void load_fragment(const Source& source, u32 (&registers)[kRegisters], u32 stage, int block,
                                           int step) {
    source.load(registers, stage, block, step);
    if constexpr (kTraits.element == DType::tf32) {
#pragma unroll
      for (u32& bits : registers) bits = ptx::cvt_rna_tf32(bits);
    }
  }

  static HOTGEMM_DEVICE void multiply_fragments(Accumulator& accumulator, const u32 (&a)[4], u32 b0, u32 b1) {
    if constexpr (kElementBytes == 2) {
      ptx::mma_m16n8k16<kTraits.element>(accumulator.d, a, b0, b1);
    } else {
      ptx::mma_32_bytes<kTraits.element, kTraits.element_b>(accumulator.d, a, b0, b1);
    }
  }

  /// A k-step that loads its fragments when it needs them.
  HOTGEMM_DEVICE void multiply_step(const SourceA& source_a, const SourceB& source_b, u32 stage, int step) {
    if constexpr (kConfig.streams_b()) {
      multiply_streaming(source_a, source_b, stage, step);
    } else {
      Fragments fragments;
      load(fragments, source_a, source_b, stage, step);
      multiply(fragments);
    }
  }

  /// Columns are visited back and forth, so that neighbouring instructions share an operand; or always forward.
  HOTGEMM_DEVICE void multiply(const Fragments& f) {
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int s = 0; s < kColumns; ++s) {
        const int j = !kConfig.serpentine || i % 2 == 0 ? s : kColumns - 1 - s;
        const u32(&b)[kConfig.b_matrices] = f.b[j / kLoadColumns];
        multiply_fragments(accumulators_[i][j], f.a[i], b[j % kLoadColumns * 2], b[j % kLoadColumns * 2 + 1]);
      }
    }
  }

  /// Column by column, with B loaded one ldmatrix ahead of its use; this needs the fewest registers.
  HOTGEMM_DEVICE void multiply_streaming(const SourceA& source_a, const SourceB& source_b, u32 stage, int step) {
    u32 a[kBlocksM][4];
    u32 b[2][kConfig.b_matrices];
    load_fragment(source_b, b[0], stage + kTileA.bytes(), 0, step);
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) load_fragment(source_a, a[i], stage, i, step);
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
      const u32(&now)[kConfig.b_matrices] = b[j % 2];
      if (j + 1 < kBlocksN) load_fragment(source_b, b[(j + 1) % 2], stage + kTileA.bytes(), j + 1, step);
#pragma unroll
      for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
        for (int c = 0; c < kLoadColumns; ++c) {
          multiply_fragments(accumulators_[i][j * kLoadColumns + c], a[i], now[2 * c], now[2 * c + 1]);
        }
      }
    }
  }

  /// If a block of k that has scales ends with tile `tile`, adds its sums to those in front. The columns of an
  /// instruction, or of two that share theirs, lie in one block of columns.
  HOTGEMM_DEVICE void promote(int tile, int k_tiles) {
    constexpr int kTiles = kScaleBlock / kConfig.block_k;
    if ((tile + 1) % kTiles != 0 && tile + 1 < k_tiles) return;
    totals_.add(
        accumulators_, BlockScales(args_, args_), tile / kTiles,
        [&](int i, int half) { return block_m_ + sum_row(i, half); },
        [&](int j) {
          return product_column(kEpilogue.gate, block_n_, accumulator_col(j), kConfig.block_n, args_.n) / kScaleBlock;
        });
  }

  // ---- epilogue ----

  /// The row of the block's tile at which the i-th accumulator of the warp begins, and the column of the j-th.
  HOTGEMM_DEVICE int accumulator_row(int i) const { return (warp_m_ + i * kConfig.warps_m) * 16; }
  HOTGEMM_DEVICE int accumulator_col(int j) const {
    return warp_n_ * kConfig.b_warp_step() + j / kLoadColumns * kConfig.b_load_step() + j % kLoadColumns * 8;
  }

  /// The row of this thread's sums of the i-th accumulator: of the first two, or of the others.
  HOTGEMM_DEVICE int sum_row(int i, int half) const {
    constexpr bool kOddRows = kTileA.read == TileRead::byte_pairs;
    const int first = accumulator_element(lane_, 0).row;
    return accumulator_row(i) + (kOddRows ? half + 2 * first : half * 8 + first);
  }

  /// Calls use(row, col, low, high) for each pair of neighbouring sums of this thread; row and col are relative to the
  /// tile. Of halves, low and high are GatedSums for two neighbours in D. Operands of which a block's halves are its
  /// even and its odd rows, or columns, give results in this order.
  template <class Use>
  HOTGEMM_DEVICE void for_each_pair(Use&& use) const {
    constexpr bool kOddColumns = kTileB.read == TileRead::byte_pairs;
    const Element2d first = accumulator_element(lane_, 0);
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = sum_row(i, half);
#pragma unroll
        for (int j = 0; j < kStoredColumns; ++j) {
          if constexpr (kOddColumns) {
            const int even = j / 2 * 2, sum = half * 2 + j % 2;
            const int col = accumulator_col(even) + 2 * first.col + j % 2 * 2;
            use(row, col, this->sum(i, even, sum), this->sum(i, even + 1, sum));
          } else {
            const int col = accumulator_col(j) + first.col;
            use(row, col, this->sum(i, j, half * 2), this->sum(i, j, half * 2 + 1));
          }
        }
      }
    }
  }
  /// Columns of accumulators that for_each_pair walks: of halves, those of the gate.
  static constexpr int kStoredColumns = kHasHalves ? kColumns / 2 : kColumns;
  /// A sum of this thread, or of halves the sums of an element of D.
  HOTGEMM_DEVICE auto sum(int i, int j, int index) const {
    if constexpr (kHasHalves) {
      return GatedSums{accumulators_[i][j].get(index), accumulators_[i][j + kStoredColumns].get(index)};
    } else {
      return accumulators_[i][j].get(index);
    }
  }
  /// The pair of results from such sums.
  template <class Sum>
  HOTGEMM_DEVICE u32 result_pair(const Op& op, int row, int col, Sum low, Sum high) const {
    return Result::pair(args_of_d<kTraits>(args_), op, low, high, block_m_ + row, first_col_of_d() + col);
  }
  /// The column of D at which the block's results begin.
  HOTGEMM_DEVICE int first_col_of_d() const { return kEpilogue.columns_of_d(block_n_); }
  /// The place in D, and the result, of the neighbours `gate` and `other` of an interleaved product.
  template <class Sum>
  HOTGEMM_DEVICE float interleaved(const Op& op, Element2d at, Sum gate, Sum other) const {
    return op.value(args_of_d<kTraits>(args_), GatedSums{gate, other}, 0, at);
  }

  HOTGEMM_DEVICE void store_direct() const {
    const Op op(args_, typename Op::Source(args_));
    const GemmArgs& args = args_of_d<kTraits>(args_);
    for_each_pair([&](int row, int col, auto low, auto high) {
      if constexpr (kEpilogue.gate == Gate::interleaved) {
        const Element2d at = {block_m_ + row, first_col_of_d() + col / 2};
        if (at.row >= args.m || at.col >= args.n) return;
        store_element<kTraits.element_d>(args.d, at.row * args.ldd + at.col, interleaved(op, at, low, high));
      } else if constexpr (kElementBytes == 2) {
        Result::store_pair(args, result_pair(op, row, col, low, high), block_m_ + row, first_col_of_d() + col);
      } else {
        store_result_pair<kTraits>(args, op, {block_m_ + row, first_col_of_d() + col}, low, high);
      }
    });
  }

  HOTGEMM_DEVICE void store_staged() const {
    constexpr int kStride = kTileD.row_stride_bytes();
    const Op op(args_, typename Op::Source(args_));
    const GemmArgs& args = args_of_d<kTraits>(args_);
    for_each_pair([&](int row, int col, auto low, auto high) {
      if constexpr (kEpilogue.gate == Gate::interleaved) {
        const float value = interleaved(op, {block_m_ + row, first_col_of_d() + col / 2}, low, high);
        ptx::st_shared_b16(shared_ + row * kStride + col / 2 * 2, ptx::narrow<kTraits.element_d>(value));
      } else {
        ptx::st_shared_b32(shared_ + row * kStride + col * 2, result_pair(op, row, col, low, high));
      }
    });
    ptx::bar_sync();
    constexpr int kChunks = kConfig.block_m * kTileD.row_chunks;
    for (int index = thread_; index < kChunks; index += kThreads) {
      const int row = index / kTileD.row_chunks;
      const int chunk = index % kTileD.row_chunks;
      if (block_m_ + row < args_.m) {
        Result::store_chunk(args, shared_ + row * kStride + chunk * kChunkBytes, block_m_ + row,
                            first_col_of_d() + chunk * 8);
      }
    }
  }

  /// Stores four of the warp's rows of 8 results at a time; each lane of a quad stores one of them. All lanes take part
  /// in each exchange. If fewer than four rows are left, the last lanes store nothing.
  HOTGEMM_DEVICE void store_shuffled() const {
    constexpr int kRows = kBlocksM * 2 * kStoredColumns;
    const Op op(args_, typename Op::Source(args_));
#pragma unroll
    for (int first = 0; first < kRows; first += 4) {
      u32 words[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) words[w] = first + w < kRows ? result_word(op, first + w) : 0;
      exchange<1>(words, lane_);
      exchange<2>(words, lane_);
      if constexpr (Op::kMayReadD) ptx::bar_warp_sync(~0u);  // other lanes have read these rows of D
      const int index = first + lane_ % 4;
      if (first + 4 > kRows && index >= kRows) continue;
      const ResultRow at = result_row(index, kStoredColumns);
      Result::store_row(args_of_d<kTraits>(args_), words,
                        block_m_ + accumulator_row(at.block) + at.half * 8 + lane_ / 4,
                        first_col_of_d() + accumulator_col(at.column));
    }
  }

  /// This lane's pair in the warp's `index`-th row of 8 results.
  HOTGEMM_DEVICE u32 result_word(const Op& op, int index) const {
    const ResultRow at = result_row(index, kStoredColumns);
    const Element2d place = accumulator_element(lane_, at.half * 2);
    return result_pair(op, accumulator_row(at.block) + place.row, accumulator_col(at.column) + place.col,
                       sum(at.block, at.column, at.half * 2), sum(at.block, at.column, at.half * 2 + 1));
  }

  const GemmArgs& args_;
  int thread_, lane_;
  int block_m_, block_n_;  // first row and column of this block's tile in D
  int warp_m_, warp_n_;    // position of this warp among warps_m × warps_n
  u32 shared_;
  Accumulator accumulators_[kBlocksM][kColumns];
  [[no_unique_address]] MmaTotals<Accumulator, kBlocksM, kColumns, kScaled> totals_;
};

/// One block computes one tile; the grid has ceil(m / block_m) * ceil(n / block_n) blocks for each product.
template <GemmTraits kTraits, MmaConfig kConfig>
HOTGEMM_DEVICE void mma_gemm(const GemmArgs& args) {
#if defined(__CUDA_ARCH__)
  static_assert(is_legal(kConfig, kTraits, *nearest_arch_limits(__CUDA_ARCH__ / 10)));
#endif
  run_block<MmaGemm<kTraits, kConfig>, kTraits>(args, kConfig.block_m, kConfig.block_n);
}

}  // namespace hotgemm
