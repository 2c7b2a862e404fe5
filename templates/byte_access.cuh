#pragma once

// Bytes of words.

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

/// Two of the four columns of bytes that four words have as rows, each as a word: the first two, or the last two.
HOTGEMM_DEVICE ptx::Vec2 byte_columns(u32 a, u32 b, u32 c, u32 d, bool are_last) {
  const u32 bytes = are_last ? 0x7362 : 0x5140;
  const u32 ab = ptx::prmt_b32(a, b, bytes), cd = ptx::prmt_b32(c, d, bytes);
  return {ptx::prmt_b32(ab, cd, 0x5410), ptx::prmt_b32(ab, cd, 0x7632)};
}

}  // namespace hotgemm
