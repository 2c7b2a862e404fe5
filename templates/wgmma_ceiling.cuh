#pragma once

// Measures the rate of wgmma.m64n256 from shared memory, which is the limit of family `wgmma` if all loads were free.
// sm_90a.

#include "check.cuh"
#include "ptx/barrier.hpp"
#include "ptx/bulk_copy.hpp"
#include "ptx/element.hpp"
#include "ptx/wgmma.hpp"
#include "shared/ceiling_args.hpp"
#include "wgmma_epilogue.cuh"

namespace hotgemm {

/// Four bytes of normal variables, each times `sign`.
template <DType kElement>
HOTGEMM_DEVICE u32 normal_word(u32 seed, u32 at, float sign) {
  const auto number = [&](u32 byte) { return sign * normal_at(seed, ptx::block_index(), at + byte); };
  if constexpr (size_bytes(kElement) == 4) {
    return ptx::bits_of(number(0));
  } else if constexpr (size_bytes(kElement) == 2) {
    return ptx::narrow_pair<kElement>(number(0), number(2));
  } else {
    u32 word = 0;
#pragma unroll
    for (u32 byte = 0; byte < 4; ++byte) {
      const float x = kElement == DType::s8 ? quantized_normal(number(byte)) : number(byte);
      word |= byte_of<kElement>(x) << 8 * byte;
    }
    return word;
  }
}

/// Fills the tiles. Power, and with it the clock, depends on the bits of the operands, so they are normal variables as
/// in a measured GEMM. Their order does not matter.
template <DType kElement>
HOTGEMM_DEVICE void fill_ceiling_tiles(u32 shared, u32 seed) {
  constexpr u32 kBytesA = kCeilingTileA.slab_bytes(), kBytesB = kCeilingTileB.bytes();
  const u32 first = static_cast<u32>(ptx::thread_index()) * 4;
  for (u32 at = first; at < kBytesA; at += kCeilingThreads * 4) {
    ptx::st_shared_b32(shared + at, normal_word<kElement>(seed, at, 1));
    ptx::st_shared_b32(shared + kBytesA + at, normal_word<kElement>(seed, at, -1));
  }
  for (u32 at = first; at < kBytesB; at += kCeilingThreads * 4) {
    ptx::st_shared_b32(shared + kCeilingTileA.bytes() + at, normal_word<kElement>(seed + 1, at, 1));
  }
  ptx::fence_proxy_async();
  ptx::bar_sync();
}

/// `Instruction` is the struct that wgmma_text (src/config/wgmma_instruction.hpp) has rendered for m64n256 and the two
/// types.
template <DType kElement, DType kAccumulator, class Instruction>
HOTGEMM_DEVICE void wgmma_ceiling(const CeilingArgs& args) {
  const u32 shared = ptx::dynamic_shared_base();
  const auto thread = static_cast<u32>(ptx::thread_index());
  fill_ceiling_tiles<kElement>(shared, args.seed);

  // The shuffle tells the compiler that the value is the same in all lanes, so that descriptors are computed once per
  // warp.
  const u32 warpgroup = ptx::shfl_sync_idx_b32(thread / kWarpgroupThreads, 0, 31, ~0u);
  const u64 a = kCeilingTileA.descriptor(shared) + descriptor_step(kCeilingTileA.offset_bytes(kWgmmaM, 0)) * warpgroup;
  const u64 b = kCeilingTileB.descriptor(shared + kCeilingTileA.bytes());
  WgmmaAccumulator<kAccumulator, kCeilingTileB.outer> accumulator;
  const auto pin = [&] {  // by index: over a range the compiler does not unroll 128 turns
#pragma unroll
    for (int r = 0; r < static_cast<int>(sizeof accumulator.d / 4); ++r) ptx::pin(accumulator.d[r]);
  };
  pin();
#pragma unroll 1
  for (int iteration = 0; iteration < args.iterations; ++iteration) {
    // The next iteration subtracts what this one has added, so that f16 accumulators neither overflow nor stay
    // constant.
    const u64 signed_a = a + descriptor_step(kCeilingTileA.slab_bytes()) * static_cast<u64>(iteration % 2);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kCeilingTileB.k_steps(); ++step) {
      Instruction::mma_async(accumulator.d, signed_a + descriptor_step(kCeilingTileA.offset_bytes(0, step)),
                             b + descriptor_step(kCeilingTileB.offset_bytes(0, step)), true);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
  }
  ptx::wgmma_wait_group<0>();
  pin();

  float sum = 0;
#pragma unroll
  for (int i = 0; i < kCeilingTileB.outer / 2; ++i) sum += static_cast<float>(accumulator.get(i));
  ptx::st_global_b32(args.results + u64{ptx::block_index() * kCeilingThreads + thread} * 4, ptx::bits_of(sum));
}

}  // namespace hotgemm
