#pragma once

#include "ptx/warp.hpp"
#include "shared/fragment.hpp"

namespace hotgemm {

HOTGEMM_DEVICE void swap(u32& x, u32& y) {
  const u32 old = x;
  x = y;
  y = old;
}

/// One step of the transposition in shared/fragment.hpp.
template <int kDistance>
HOTGEMM_DEVICE void exchange(u32 (&words)[4], int lane) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if ((w & kDistance) != 0) continue;
    const bool gives_first = exchanged_word(lane, w, kDistance) == w;
    u32 given = words[w + kDistance], kept = words[w];
    if (gives_first) swap(given, kept);
    u32 taken = ptx::shfl_sync_bfly_b32(given, kDistance, 0x1f, ~0u);
    if (gives_first) swap(taken, kept);
    words[w] = kept;
    words[w + kDistance] = taken;
  }
}

}  // namespace hotgemm
