#pragma once

// Computes D from sums: alpha * sum + beta * C, rounded once. For families whose threads store eight neighbouring
// results at a time.

#include "ptx/convert.hpp"
#include "ptx/element.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"
#include "vector_access.cuh"

namespace hotgemm {

/// Eight results of a row, starting at column `col`.
template <GemmTraits kTraits>
class ResultChunk {
 public:
  HOTGEMM_DEVICE ResultChunk(const GemmArgs& args, int row, int col) : args_(args), row_(row), col_(col) {}

  /// Stores the results of `sums`. Elements outside the matrix are neither read nor written.
  HOTGEMM_DEVICE void store(const float (&sums)[8]) const {
    if (row_ >= args_.m) return;
    if (kTraits.vec_d >= 2 && col_ + 8 <= args_.n) {
      store_whole(sums);
    } else {
      store_partial(sums);
    }
  }

 private:
  HOTGEMM_DEVICE void store_whole(const float (&sums)[8]) const {
    const u64 d = address(args_.d, args_.ldd);
    const ptx::Vec4 c = kTraits.reads_c ? load_c() : ptx::Vec4{};
    const ptx::Vec4 v{pair(sums[0], sums[1], c.x), pair(sums[2], sums[3], c.y), pair(sums[4], sums[5], c.z),
                      pair(sums[6], sums[7], c.w)};
    store_global_aligned<max_of(kTraits.vec_d, 2) * 2>(d, v);
  }

  /// Stores element by element. Unrolled, because the sums are registers.
  HOTGEMM_DEVICE void store_partial(const float (&sums)[8]) const {
    const u64 d = address(args_.d, args_.ldd);
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      if (col_ + e >= args_.n) return;
      u32 c = 0;
      if constexpr (kTraits.reads_c) c = ptx::ld_global_b16(address(args_.c, args_.ldc) + e * 2);
      ptx::st_global_b16(d + e * 2, static_cast<u16>(pair(sums[e], 0, c)));
    }
  }

  /// Loads C with the access width of D, because both have the same alignment.
  HOTGEMM_DEVICE ptx::Vec4 load_c() const {
    const u64 c = address(args_.c, args_.ldc);
    if constexpr (kTraits.vec_d == 8) {
      return ptx::ld_global_v4_b32(c);
    } else {
      return {ptx::ld_global_b32(c), ptx::ld_global_b32(c + 4), ptx::ld_global_b32(c + 8), ptx::ld_global_b32(c + 12)};
    }
  }

  /// Two results, from two sums and two elements of C.
  HOTGEMM_DEVICE u32 pair(float low, float high, u32 c) const {
    low *= args_.alpha;
    high *= args_.alpha;
    if constexpr (kTraits.reads_c) {
      low = ptx::fma_rn(args_.beta, ptx::widen<kTraits.element>(static_cast<u16>(c)), low);
      high = ptx::fma_rn(args_.beta, ptx::widen<kTraits.element>(static_cast<u16>(c >> 16)), high);
    }
    return ptx::narrow_pair<kTraits.element>(low, high);
  }

  HOTGEMM_DEVICE u64 address(u64 matrix, i64 ld) const { return matrix + static_cast<u64>(row_ * ld + col_) * 2; }

  const GemmArgs& args_;
  int row_, col_;
};

}  // namespace hotgemm
