#pragma once

#include "ptx/convert.hpp"
#include "shared/gemm_types.hpp"

// Conversions by element type. They contain no PTX of their own, so the emulated device runs them unchanged.

namespace hotgemm::ptx {

/// Rounds to nearest even with integer arithmetic, for sm_75, which has no bf16 conversion. NaN stays NaN.
HOTGEMM_DEVICE u16 round_bf16_f32(float value) {
  const u32 bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<u16>((bits >> 16) | 0x40u);
  return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

template <DType kType>
HOTGEMM_DEVICE float widen(u16 bits) {
  if constexpr (kType == DType::f16) {
    return cvt_f32_f16(bits);
  } else {
    static_assert(kType == DType::bf16, "a 16-bit type");
    return cvt_f32_bf16(bits);
  }
}
template <DType kType>
HOTGEMM_DEVICE u16 narrow(float value) {
  if constexpr (kType == DType::f16) {
    return cvt_rn_f16_f32(value);
  } else {
    static_assert(kType == DType::bf16, "a 16-bit type");
    return round_bf16_f32(value);
  }
}
/// Packs {low, high}, rounded.
template <DType kType>
HOTGEMM_DEVICE u32 narrow_pair(float low, float high) {
  if constexpr (kType == DType::f16) {
    return cvt_rn_f16x2_f32(low, high);
  } else {
    static_assert(kType == DType::bf16, "a 16-bit type");
    return cvt_rn_bf16x2_f32(low, high);
  }
}

}  // namespace hotgemm::ptx
