#pragma once

#include "shared/fragment.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

// The ceiling kernel: as many mma.sync.m16n8k16 per second as the GPU can do, with nothing to load. One block per SM
// keeps every tensor core busy: each warp has kCeilingFragments² accumulators, none of which waits for another.

inline constexpr int kCeilingThreads = 8 * kWarpSize;
inline constexpr int kCeilingFragments = 4;       // of A, and of B, per warp
inline constexpr int kCeilingIterations = 16384;  // 7 ms on a GPU that does 640 TFLOP/s on 132 SMs

/// Parameter of hotgemm_ceiling, for blocks of kCeilingThreads threads.
struct CeilingArgs {
  unsigned long long results;  ///< ceiling_result_bytes of device memory
  int iterations;
  unsigned seed;
  DType accumulator;  ///< f32 or f16
};

/// One f32 per thread.
constexpr long long ceiling_result_bytes(int blocks) { return static_cast<long long>(blocks) * kCeilingThreads * 4; }

/// What one launch of `blocks` blocks computes: per iteration and warp, every pair of fragments once per fragment.
constexpr double ceiling_flops(int blocks, int iterations) {
  const double per_iteration = 2.0 * kMmaM * kMmaN * kMmaK * kCeilingFragments * kCeilingFragments * kCeilingFragments;
  return per_iteration * iterations * (kCeilingThreads / kWarpSize) * blocks;
}

}  // namespace hotgemm
