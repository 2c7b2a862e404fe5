#pragma once

// Measures the rate of mma.sync.m16n8k16 from registers, which is the limit of family `mma` if all loads were free.
// sm_80 and later.

#include "check.cuh"
#include "ptx/element.hpp"
#include "ptx/mma.hpp"
#include "shared/ceiling_args.hpp"

namespace hotgemm {

template <DType kElement, DType kAccumulator>
class MmaCeiling {
 public:
  /// Power, and with it the clock, depends on the bits of the operands, so they are normal variables as in a measured
  /// GEMM.
  HOTGEMM_DEVICE explicit MmaCeiling(u32 seed, u32 thread) {
#pragma unroll
    for (int i = 0; i < kCeilingFragments; ++i) {
#pragma unroll
      for (int r = 0; r < 4; ++r) a_[i][r] = normal_pair(seed, thread, static_cast<u32>(8 * i + 2 * r));
#pragma unroll
      for (int r = 0; r < 2; ++r) b_[i][r] = normal_pair(seed, thread, static_cast<u32>(64 + 4 * i + 2 * r));
    }
  }

  HOTGEMM_DEVICE void run(int iterations) {
#pragma unroll 1
    for (int iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
      for (int shift = 0; shift < kCeilingFragments; ++shift) {
#pragma unroll
        for (int i = 0; i < kCeilingFragments; ++i) {
#pragma unroll
          for (int j = 0; j < kCeilingFragments; ++j) {
            const int other = (i + shift) % kCeilingFragments;
            ptx::mma_m16n8k16<kElement>(accumulators_[i][j].r, a_[other], b_[j][0], b_[j][1]);
          }
        }
      }
      // The next iteration subtracts what this one has added, so that f16 accumulators neither overflow nor stay
      // constant.
#pragma unroll
      for (int j = 0; j < kCeilingFragments; ++j) {
        b_[j][0] ^= kSigns;
        b_[j][1] ^= kSigns;
      }
    }
  }

  HOTGEMM_DEVICE float sum() const {
    float total = 0;
#pragma unroll
    for (int i = 0; i < kCeilingFragments; ++i) {
#pragma unroll
      for (int j = 0; j < kCeilingFragments; ++j) total += accumulators_[i][j].sum();
    }
    return total;
  }

 private:
  static constexpr u32 kSigns = 0x80008000u;  // sign bits of two f16 or bf16

  struct AccumulatorF32 {
    float r[4] = {};
    HOTGEMM_DEVICE float sum() const { return r[0] + r[1] + r[2] + r[3]; }
  };
  struct AccumulatorF16 {
    u32 r[2] = {};
    HOTGEMM_DEVICE float sum() const {
      return ptx::cvt_f32_f16(static_cast<u16>(r[0])) + ptx::cvt_f32_f16(static_cast<u16>(r[0] >> 16)) +
             ptx::cvt_f32_f16(static_cast<u16>(r[1])) + ptx::cvt_f32_f16(static_cast<u16>(r[1] >> 16));
    }
  };
  template <DType kType, class F32, class F16>
  struct Select {
    static_assert(kType == DType::f32);
    using Type = F32;
  };
  template <class F32, class F16>
  struct Select<DType::f16, F32, F16> {
    using Type = F16;
  };
  using Accumulator = typename Select<kAccumulator, AccumulatorF32, AccumulatorF16>::Type;

  static HOTGEMM_DEVICE u32 normal_pair(u32 seed, u32 thread, u32 position) {
    const float low = normal_at(seed, thread, position), high = normal_at(seed, thread, position + 1);
    return ptx::narrow_pair<kElement>(low, high);
  }

  u32 a_[kCeilingFragments][4];
  u32 b_[kCeilingFragments][2];
  Accumulator accumulators_[kCeilingFragments][kCeilingFragments];
};

template <DType kElement, DType kAccumulator>
HOTGEMM_DEVICE void mma_ceiling(const CeilingArgs& args) {
  const u32 thread = ptx::block_index() * kCeilingThreads + static_cast<u32>(ptx::thread_index());
  MmaCeiling<kElement, kAccumulator> warp(args.seed, thread);
  warp.run(args.iterations);
  ptx::st_global_b32(args.results + u64{thread} * 4, ptx::bits_of(warp.sum()));
}

}  // namespace hotgemm
