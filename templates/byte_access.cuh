#pragma once

// Bytes of words, for the repack kernel.

#include "ptx/math.hpp"
#include "ptx/memory.hpp"

namespace hotgemm {

/// `word` without the bytes behind the first `bytes`.
HOTGEMM_DEVICE u32 clipped(u32 word, int bytes) {
  return bytes >= 4 ? word : bytes <= 0 ? 0 : word & ~0u >> (32 - 8 * bytes);
}

/// The first `bytes` of the four at `address`, and zeros.
HOTGEMM_DEVICE u32 load_bytes(u64 address, int bytes) {
  u32 word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) word |= (i < bytes ? ptx::ld_global_u8(address + static_cast<u64>(i)) : 0u) << 8 * i;
  return word;
}

/// Four words as rows of bytes, transposed: byte j of each becomes word j.
HOTGEMM_DEVICE ptx::Vec4 transposed_bytes(u32 a, u32 b, u32 c, u32 d) {
  const u32 ab_low = ptx::prmt_b32(a, b, 0x5140), ab_high = ptx::prmt_b32(a, b, 0x7362);
  const u32 cd_low = ptx::prmt_b32(c, d, 0x5140), cd_high = ptx::prmt_b32(c, d, 0x7362);
  return {ptx::prmt_b32(ab_low, cd_low, 0x5410), ptx::prmt_b32(ab_low, cd_low, 0x7632),
          ptx::prmt_b32(ab_high, cd_high, 0x5410), ptx::prmt_b32(ab_high, cd_high, 0x7632)};
}

}  // namespace hotgemm
