#pragma once

#include "shared/fragment.hpp"
#include "shared/gemm_types.hpp"
#include "shared/wgmma_descriptor.hpp"

namespace hotgemm {

// The ceiling kernels measure how many products per second the tensor cores compute when nothing is loaded. One block
// per SM keeps every tensor core busy:
//
//   mma    mma.sync.m16n8k16 from registers. Each warp has kCeilingFragments² accumulators, none of which waits for
//          another.
//   wgmma  wgmma.mma_async.m64n256 of any type from shared memory, where all operands stay. Two warpgroups take turns.

enum class CeilingInstruction : unsigned char { mma, wgmma };

/// The parameters for which a ceiling kernel is rendered.
struct CeilingKind {
  CeilingInstruction instruction = CeilingInstruction::mma;
  DType element = DType::f16;      ///< of A and B: f16 or bf16; for wgmma also tf32, s8, e4m3 or e5m2
  DType accumulator = DType::f32;  ///< f32, f16 for f16 elements, or s32 for s8
};

inline constexpr int kCeilingThreads = 8 * kWarpSize;  // two warpgroups
inline constexpr int kCeilingFragments = 4;            // fragments of A, and of B, per warp

/// The first slab is A of both warpgroups, the second slab is the same A negated. Elements of other types lie in as
/// many bytes as those of 16 bits that are counted here: instructions of all types read 32 bytes of a row.
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

/// The number of iterations of a measured launch, which takes some milliseconds.
constexpr int ceiling_iterations(CeilingInstruction instruction) {
  return instruction == CeilingInstruction::wgmma ? 8192 : 16384;
}

/// The operations of one launch of `blocks` blocks. In each iteration, a warp of mma multiplies every pair of fragments
/// once per fragment; wgmma multiplies all of A and B once, with A either negated or not.
constexpr double ceiling_flops(CeilingInstruction instruction, DType element, int blocks, int iterations) {
  const double mma = 2.0 * kMmaM * kMmaN * kMmaK * kCeilingFragments * kCeilingFragments * kCeilingFragments *
                     (kCeilingThreads / kWarpSize);
  const double wgmma = 2.0 * kCeilingTileA.outer * kCeilingTileB.outer * kCeilingTileB.block_k *
                       size_bytes(DType::f16) / size_bytes(element);
  return (instruction == CeilingInstruction::wgmma ? wgmma : mma) * iterations * blocks;
}

}  // namespace hotgemm
