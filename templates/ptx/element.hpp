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

/// The bits of an f32, rounded to the nearest TF32 and away from zero in a tie, as cvt.rna.tf32.f32 does from sm_80 on.
/// Infinity and NaN keep their bits.
HOTGEMM_DEVICE u32 round_tf32(u32 bits) {
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & 0xffffe000u;
}

/// Exact, by arithmetic, because no instruction before sm_89 converts e4m3. An exponent field of e4m3 is that of f32
/// minus 120.
HOTGEMM_DEVICE float widen_e4m3(u32 bits) {
  const u32 magnitude = bits & 0x7fu;
  const float value = magnitude == 0x7fu ? float_of(0x7fffffffu) : float_of(magnitude << 20) * 0x1p120f;
  return (bits & 0x80u) != 0 ? -value : value;
}
/// e5m2 is the upper half of f16.
HOTGEMM_DEVICE float widen_e5m2(u32 bits) { return cvt_f32_f16(static_cast<u16>(bits << 8)); }

/// The bits without sign of an FP8 number that is not subnormal, from those of the same number in f32.
template <int kFraction, int kLeast>
HOTGEMM_DEVICE u32 code_of(u32 bits_of_f32) {
  return (bits_of_f32 >> (23 - kFraction)) - (static_cast<u32>(126 + kLeast) << kFraction);
}

/// Rounds to nearest even, to 8 bits with kFraction bits of fraction and the least exponent kLeast; larger numbers
/// become `largest`, as in cvt.rn.satfinite. NaN becomes 0x7f.
template <int kFraction, int kLeast>
HOTGEMM_DEVICE u32 round_fp8(float value, float largest) {
  const u32 sign = bits_of(value) >> 24 & 0x80u, magnitude = bits_of(value) & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fu;
  if (magnitude >= bits_of(largest)) return sign | code_of<kFraction, kLeast>(bits_of(largest));
  if (magnitude < static_cast<u32>(kLeast + 127) << 23) {
    // A sum with this power of two, whose last bit is worth the smallest number, is rounded to a multiple of it.
    const float power = float_of(static_cast<u32>(kLeast - kFraction + 23 + 127) << 23);
    return sign | (bits_of(float_of(magnitude) + power) - bits_of(power));
  }
  constexpr int kShift = 23 - kFraction;
  const u32 rounded = magnitude + ((1u << (kShift - 1)) - 1) + (magnitude >> kShift & 1u);
  return sign | code_of<kFraction, kLeast>(rounded);
}
HOTGEMM_DEVICE u32 round_e4m3_f32(float value) { return round_fp8<3, -6>(value, 448); }
HOTGEMM_DEVICE u32 round_e5m2_f32(float value) { return round_fp8<2, -14>(value, 57344); }

template <DType kType>
HOTGEMM_DEVICE float widen(u16 bits) {
  if constexpr (kType == DType::f16) {
    return cvt_f32_f16(bits);
  } else {
    static_assert(kType == DType::bf16, "a 16-bit type");
    return cvt_f32_bf16(bits);
  }
}
/// The upper one of two elements.
template <DType kType>
HOTGEMM_DEVICE float widen_upper(u32 pair) {
  if constexpr (kType == DType::bf16) {
    return float_of(pair & 0xffff0000u);
  } else {
    return widen<kType>(static_cast<u16>(pair >> 16));
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
