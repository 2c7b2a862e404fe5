#pragma once

// The epilogue of family `mma`: results from sums, and their stores to D.

#include "pair_access.cuh"
#include "ptx/convert.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"
#include "vector_access.cuh"

namespace hotgemm {

/// Computes and stores results, at rows and columns of the whole matrix. Elements outside the matrix are neither read
/// nor written. The functions are static, because a reference held in an object moves instructions of tuned kernels.
template <GemmTraits kTraits>
struct MmaResult {
  static constexpr int kWidestStore = max_of(kTraits.vec_d, 2) * 2;  // bytes of the widest store, of several results

  /// The results at `row`, `col` and `col + 1`, rounded; elements outside the matrix are not read.
  template <class Op, class Sum>
  static HOTGEMM_DEVICE u32 pair(const GemmArgs& args, const Op& op, Sum low, Sum high, int row, int col) {
    if constexpr (kTraits.is_fused()) {
      u32 c = 0;
      if constexpr (Op::kReadsC) {
        const u64 pair = address(args.c, args.ldc, row, col);
        if (row < args.m && col < args.n) c = load_pair_bits<kTraits>(pair, col + 1 < args.n);
      }
      return op.pair(args, low, high, c, {row, col});
    } else {
      return scaled_pair(args, low, high, row, col);
    }
  }
  /// The same without an epilogue.
  static HOTGEMM_DEVICE u32 scaled_pair(const GemmArgs& args, float low, float high, int row, int col) {
    low *= args.alpha;
    high *= args.alpha;
    if constexpr (kTraits.reads_c) {
      const u64 c = address(args.c, args.ldc, row, col);
      if (row < args.m && col + 1 < args.n && kTraits.vec_d >= 2) {
        const u32 both = ptx::ld_global_b32(c);
        low = ptx::fma_rn(args.beta, ptx::widen<kTraits.element>(static_cast<u16>(both)), low);
        high = ptx::fma_rn(args.beta, ptx::widen<kTraits.element>(static_cast<u16>(both >> 16)), high);
      } else if (row < args.m) {
        if (col < args.n) low = ptx::fma_rn(args.beta, ptx::widen<kTraits.element>(ptx::ld_global_b16(c)), low);
        if (col + 1 < args.n)
          high = ptx::fma_rn(args.beta, ptx::widen<kTraits.element>(ptx::ld_global_b16(c + 2)), high);
      }
    }
    return ptx::narrow_pair<kTraits.element>(low, high);
  }

  static HOTGEMM_DEVICE void store_pair(const GemmArgs& args, u32 pair, int row, int col) {
    if (row >= args.m) return;
    const u64 d = address(args.d, args.ldd, row, col);
    if (kTraits.vec_d >= 2 && col + 1 < args.n) {
      ptx::st_global_b32(d, pair);
    } else {
      if (col < args.n) ptx::st_global_b16(d, static_cast<u16>(pair));
      if (col + 1 < args.n) ptx::st_global_b16(d + 2, static_cast<u16>(pair >> 16));
    }
  }

  /// Stores eight results from shared memory; `row` lies inside the matrix.
  static HOTGEMM_DEVICE void store_chunk(const GemmArgs& args, u32 shared, int row, int col) {
    const u64 d = address(args.d, args.ldd, row, col);
    if (kTraits.vec_d >= 2 && col + 8 <= args.n) {
      store_global_aligned<kWidestStore>(d, ptx::ld_shared_v4_b32(shared));
    } else {
      for (int e = 0; e < 8 && col + e < args.n; ++e) ptx::st_global_b16(d + e * 2, ptx::ld_shared_b16(shared + e * 2));
    }
  }

  /// Stores eight results from registers.
  static HOTGEMM_DEVICE void store_row(const GemmArgs& args, const u32 (&words)[4], int row, int col) {
    if (row >= args.m) return;
    const u64 d = address(args.d, args.ldd, row, col);
    if (kTraits.vec_d >= 2 && col + 8 <= args.n) {
      store_global_aligned<kWidestStore>(d, {words[0], words[1], words[2], words[3]});
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        if (col + e < args.n) ptx::st_global_b16(d + e * 2, static_cast<u16>(words[e / 2] >> (e % 2 * 16)));
      }
    }
  }

 private:
  static HOTGEMM_DEVICE u64 address(u64 matrix, i64 ld, int row, int col) {
    return matrix + static_cast<u64>(row * ld + col) * 2;
  }
};

}  // namespace hotgemm
