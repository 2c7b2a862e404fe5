#pragma once

// Accesses of 2, 4, 8 or 16 bytes, and loads of single bytes, under one name. A value is held in 32-bit words; a value
// of 1 or 2 bytes fills the lower part of a word.

#include "ptx/memory.hpp"

namespace hotgemm {

template <int kBytes>
inline constexpr int kWordsOf = kBytes < 4 ? 1 : kBytes / 4;

template <int kBytes>
HOTGEMM_DEVICE void load_global(u32 (&words)[kWordsOf<kBytes>], u64 address) {
  static_assert(kBytes == 1 || kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 1) {
    words[0] = ptx::ld_global_u8(address);
  } else if constexpr (kBytes == 2) {
    words[0] = ptx::ld_global_b16(address);
  } else if constexpr (kBytes == 4) {
    words[0] = ptx::ld_global_b32(address);
  } else if constexpr (kBytes == 8) {
    const ptx::Vec2 v = ptx::ld_global_v2_b32(address);
    words[0] = v.x, words[1] = v.y;
  } else {
    const ptx::Vec4 v = ptx::ld_global_v4_b32(address);
    words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
  }
}

template <int kBytes>
HOTGEMM_DEVICE void store_global(u64 address, const u32 (&words)[kWordsOf<kBytes>]) {
  static_assert(kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 2) {
    ptx::st_global_b16(address, static_cast<u16>(words[0]));
  } else if constexpr (kBytes == 4) {
    ptx::st_global_b32(address, words[0]);
  } else if constexpr (kBytes == 8) {
    ptx::st_global_v2_b32(address, words[0], words[1]);
  } else {
    ptx::st_global_v4_b32(address, {words[0], words[1], words[2], words[3]});
  }
}

/// Stores 16 bytes, with the widest stores that an alignment of kBytes (at least 4) allows.
template <int kBytes>
HOTGEMM_DEVICE void store_global_aligned(u64 address, const ptx::Vec4& v) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 16) {
    ptx::st_global_v4_b32(address, v);
  } else if constexpr (kBytes == 8) {
    ptx::st_global_v2_b32(address, v.x, v.y);
    ptx::st_global_v2_b32(address + 8, v.z, v.w);
  } else {
    ptx::st_global_b32(address, v.x);
    ptx::st_global_b32(address + 4, v.y);
    ptx::st_global_b32(address + 8, v.z);
    ptx::st_global_b32(address + 12, v.w);
  }
}

template <int kBytes>
HOTGEMM_DEVICE void store_shared(u32 address, const u32 (&words)[kWordsOf<kBytes>]) {
  static_assert(kBytes == 2 || kBytes == 4 || kBytes == 8 || kBytes == 16);
  if constexpr (kBytes == 2) {
    ptx::st_shared_b16(address, static_cast<u16>(words[0]));
  } else if constexpr (kBytes == 4) {
    ptx::st_shared_b32(address, words[0]);
  } else if constexpr (kBytes == 8) {
    ptx::st_shared_v2_b32(address, {words[0], words[1]});
  } else {
    ptx::st_shared_v4_b32(address, {words[0], words[1], words[2], words[3]});
  }
}

/// The bits of element `i` in `words`.
template <int kElementBytes, int kWords>
HOTGEMM_DEVICE u32 element_bits(const u32 (&words)[kWords], int i) {
  if constexpr (kElementBytes == 4) {
    return words[i];
  } else {
    return static_cast<u16>(words[i / 2] >> (i % 2 * 16));
  }
}

}  // namespace hotgemm
