#pragma once

// Family `simt`: CUDA cores, any architecture, any shape and alignment. It is the reference and the fallback, so the
// code is simple rather than fast. The picture is in docs/kernels/simt.md.
//
//   global ──element by element, widened──▶ shared (f32 or s32) ──▶ registers ──fma──▶ D

#include "batch.cuh"
#include "block_scales.cuh"
#include "element_access.cuh"
#include "fused_sum.cuh"
#include "gated_sums.cuh"
#include "ptx/barrier.hpp"
#include "ptx/index.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "shared/gemm_args.hpp"
#include "shared/simt_config.hpp"
#include "shared/tile_order.hpp"

namespace hotgemm {

template <GemmTraits kTraits, SimtConfig kConfig>
class SimtGemm {
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kThreadCols = kConfig.block_n / kConfig.thread_n;
  static constexpr int kThreadRows = kConfig.block_m / kConfig.thread_m;
  static constexpr int kRowA = kConfig.block_m + 1;  // rows run along k; padding avoids bank conflicts
  static constexpr int kRowB = kConfig.block_n + 1;
  /// The type of elements in shared memory, of products and of sums.
  using Number = typename NumberOf<kTraits.accumulator>::type;
  using Op = typename OpOf<kTraits>::Type;
  static constexpr Epilogue kEpilogue = kTraits.epilogue;

 public:
  HOTGEMM_DEVICE SimtGemm(const GemmArgs& args, TileCoord tile, int thread)
      : args_(args),
        thread_(thread),
        block_m_(tile.m * kConfig.block_m),
        block_n_(tile.n * kConfig.block_n),
        thread_m_(thread / kThreadCols),
        thread_n_(thread % kThreadCols),
        shared_a_(ptx::dynamic_shared_base()),
        shared_b_(shared_a_ + kConfig.block_k * kRowA * 4) {}

  HOTGEMM_DEVICE void run() {
    for (int k0 = 0; k0 < args_.k; k0 += kConfig.block_k) {
      load_tile<true, kTraits.element, kRowA, kConfig.block_m, kTraits.a_is_k_major()>(shared_a_, args_.a, args_.lda,
                                                                                       block_m_, args_.m, k0);
      load_tile<false, kTraits.element_b, kRowB, kConfig.block_n, kTraits.b_is_k_major(), kEpilogue.gate>(
          shared_b_, args_.b, args_.ldb, block_n_, args_.n, k0);
      ptx::bar_sync();
      multiply_tile();
      ptx::bar_sync();
    }
    store();
  }

 private:
  /// shared[k][outer] = matrix(outer0 + outer, k0 + k), or zero beyond the matrix. Neighbouring threads read
  /// neighbouring addresses for both ways of storing the operand. With a gate, the first half of the tile has its
  /// columns, and the second half the others, of the same columns of D. With scales of blocks, elements are multiplied
  /// by them here.
  template <bool kIsA, DType kType, int kRow, int kOuter, bool kKMajor, Gate kGate = Gate::none>
  HOTGEMM_DEVICE void load_tile(u32 shared, u64 matrix, i64 ld, int outer0, int outers, int k0) const {
    for (int index = thread_; index < kOuter * kConfig.block_k; index += kThreads) {
      const int outer = kKMajor ? index / kConfig.block_k : index % kOuter;
      const int k = kKMajor ? index % kConfig.block_k : index / kOuter;
      Number value = 0;
      const int place = place_of<kGate, kOuter>(outer0, outer, outers);
      if (place < outers && k0 + k < args_.k) {
        const i64 at = kKMajor ? place * ld + (k0 + k) : (k0 + k) * ld + place;
        value = load_element<kType>(matrix, at);
        if constexpr (kTraits.epilogue.has_block_scales()) {
          const BlockScales scales(args_, args_);
          const int block = (k0 + k) / kScaleBlock;
          value =
              ptx::mul_rn(value, kIsA ? scales.of_row(place, block) : scales.of_columns(place / kScaleBlock, block));
        }
      }
      put(shared + (k * kRow + outer) * 4, value);
    }
  }

  template <Gate kGate, int kOuter>
  static HOTGEMM_DEVICE int place_of(int outer0, int outer, int outers) {
    if constexpr (kGate == Gate::none) return outer0 + outer;
    constexpr int kHalf = kOuter / 2;
    const int col = outer0 / 2 + outer % kHalf;  // of D
    if (col >= outers / 2) return outers;
    const GateColumns columns = gate_columns(kGate, col, outers / 2);
    return outer < kHalf ? columns.gate : columns.other;
  }

  /// This thread's elements are kThreadRows and kThreadCols apart, so that a warp reads neighbouring words.
  HOTGEMM_DEVICE void multiply_tile() {
#pragma unroll 4
    for (int k = 0; k < kConfig.block_k; ++k) {
      Number a[kConfig.thread_m], b[kConfig.thread_n];
#pragma unroll
      for (int i = 0; i < kConfig.thread_m; ++i) {
        get(a[i], shared_a_ + (k * kRowA + thread_m_ + i * kThreadRows) * 4);
      }
#pragma unroll
      for (int j = 0; j < kConfig.thread_n; ++j) {
        get(b[j], shared_b_ + (k * kRowB + thread_n_ + j * kThreadCols) * 4);
      }
#pragma unroll
      for (int i = 0; i < kConfig.thread_m; ++i) {
#pragma unroll
        for (int j = 0; j < kConfig.thread_n; ++j) accumulators_[i][j] = multiply_add(a[i], b[j], accumulators_[i][j]);
      }
    }
  }

  HOTGEMM_DEVICE void store() const {
    const Op op(args_, typename Op::Source(args_));
    const GemmArgs& args = args_of_d<kTraits>(args_);
    constexpr int kCols = kEpilogue.columns_of_d(kConfig.thread_n);
#pragma unroll
    for (int i = 0; i < kConfig.thread_m; ++i) {
      const int row = block_m_ + thread_m_ + i * kThreadRows;
#pragma unroll
      for (int j = 0; j < kCols; ++j) {
        const int col = kEpilogue.columns_of_d(block_n_) + thread_n_ + j * kThreadCols;
        if (row >= args.m || col >= args.n) continue;
        typename Op::Result c = 0;
        if constexpr (Op::kReadsC) c = load_result<kTraits.element_d>(args.c, row * args.ldc + col);
        store_element<kTraits.element_d>(args.d, row * args.ldd + col, op.value(args, sum(i, j), c, {row, col}));
      }
    }
  }
  /// The sum for element j of the thread's row i in D; or with a gate its sums.
  HOTGEMM_DEVICE auto sum(int i, int j) const {
    if constexpr (kEpilogue.is_gated()) {
      return GatedSums{accumulators_[i][j], accumulators_[i][j + kConfig.thread_n / 2]};
    } else {
      return accumulators_[i][j];
    }
  }

  static HOTGEMM_DEVICE void put(u32 shared, float value) { ptx::st_shared_f32(shared, value); }
  static HOTGEMM_DEVICE void put(u32 shared, int value) { ptx::st_shared_b32(shared, static_cast<u32>(value)); }
  static HOTGEMM_DEVICE void get(float& value, u32 shared) { value = ptx::ld_shared_f32(shared); }
  static HOTGEMM_DEVICE void get(int& value, u32 shared) { value = static_cast<int>(ptx::ld_shared_b32(shared)); }

  const GemmArgs& args_;
  int thread_;
  int block_m_, block_n_;    // first row and column of this block's tile in D
  int thread_m_, thread_n_;  // first row and column of this thread in the tile
  u32 shared_a_, shared_b_;
  Number accumulators_[kConfig.thread_m][kConfig.thread_n] = {};
};

/// One block computes one tile; the grid has ceil(m / block_m) * ceil(n / block_n) blocks for each product.
template <GemmTraits kTraits, SimtConfig kConfig>
HOTGEMM_DEVICE void simt_gemm(const GemmArgs& args) {
#if defined(__CUDA_ARCH__)
  static_assert(is_legal(kConfig, kTraits, *nearest_arch_limits(__CUDA_ARCH__ / 10)));
#endif
  run_block<SimtGemm<kTraits, kConfig>, kTraits>(args, kConfig.block_m, kConfig.block_n);
}

}  // namespace hotgemm
