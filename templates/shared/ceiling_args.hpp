#pragma once

#include "shared/fragment.hpp"
#include "shared/gemm_types.hpp"
#include "shared/wgmma_descriptor.hpp"

namespace hotgemm {

// The ceiling kernels: as many products per second as the tensor cores can do, with nothing to load. One block per SM
// keeps every tensor core busy:
//
//   mma    mma.sync.m16n8k16 from registers. Each warp has kCeilingFragments² accumulators, none of which waits for
//          another.
//   wgmma  wgmma.mma_async.m64n256k16 from shared memory, where all operands stay. Two warpgroups take turns.

enum class CeilingInstruction : unsigned char { mma, wgmma };

/// What a ceiling kernel is rendered for.
struct CeilingKind {
  CeilingInstruction instruction = CeilingInstruction::mma;
  DType element = DType::f16;      ///< f16 or bf16
  DType accumulator = DType::f32;  ///< f32, or f16 for f16 elements
};

inline constexpr int kCeilingThreads = 8 * kWarpSize;  // two warpgroups
inline constexpr int kCeilingFragments = 4;            // of A, and of B, per warp

/// A of both warpgroups, and behind it the same A negated: its two slabs.
inline constexpr WgmmaTile kCeilingTileA{.outer = kCeilingThreads / kWarpgroupThreads * kWgmmaM,
                                         .block_k = 128,
                                         .k_major = true,
                                         .swizzle_bytes = 128,
                                         .element_bytes = size_bytes(DType::f16)};
inline constexpr WgmmaTile kCeilingTileB{
    .outer = 256, .block_k = 64, .k_major = true, .swizzle_bytes = 128, .element_bytes = size_bytes(DType::f16)};

/// Parameter of the ceiling kernels, for blocks of kCeilingThreads threads.
struct CeilingArgs {
  unsigned long long results;  ///< ceiling_result_bytes of device memory
  int iterations;
  unsigned seed;
};

/// One f32 per thread.
constexpr long long ceiling_result_bytes(int blocks) { return static_cast<long long>(blocks) * kCeilingThreads * 4; }

/// Dynamic shared memory of a block.
constexpr int ceiling_shared_bytes(CeilingInstruction instruction) {
  return instruction == CeilingInstruction::wgmma ? kCeilingTileA.bytes() + kCeilingTileB.bytes() : 0;
}

/// Of a launch that is measured: some milliseconds.
constexpr int ceiling_iterations(CeilingInstruction instruction) {
  return instruction == CeilingInstruction::wgmma ? 8192 : 16384;
}

/// What one launch of `blocks` blocks computes. Per iteration and warp, mma: every pair of fragments once per fragment;
/// per iteration, wgmma: all of A and B, not negated or negated.
constexpr double ceiling_flops(CeilingInstruction instruction, int blocks, int iterations) {
  const double mma = 2.0 * kMmaM * kMmaN * kMmaK * kCeilingFragments * kCeilingFragments * kCeilingFragments *
                     (kCeilingThreads / kWarpSize);
  const double wgmma = 2.0 * kCeilingTileA.outer * kCeilingTileB.outer * kCeilingTileB.block_k;
  return (instruction == CeilingInstruction::wgmma ? wgmma : mma) * iterations * blocks;
}

}  // namespace hotgemm
