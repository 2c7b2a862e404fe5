#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

// Floating-point numbers of 8 and 16 bits, held as bits, and the device's conversions of them.

namespace hotgemm::emulate {

inline constexpr std::uint32_t kNanF32 = 0x7fffffffu;  ///< the NaN that arithmetic produces
inline constexpr std::uint16_t kNan16 = 0x7fffu;       ///< the same for f16 and bf16

/// An exact conversion. A NaN becomes the canonical NaN.
inline float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(fraction == 0 ? sign | 0x7f800000u : kNanF32);
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}
/// Keeps the bits and appends zeros.
inline float widen_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// The number that tensor cores take for the TF32 with these bits of an f32: they leave out the last 13 bits.
inline float truncated_tf32(std::uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }
/// The bits of an f32 rounded to TF32, to nearest even. Infinity and NaN keep their bits.
inline std::uint32_t rounded_tf32(std::uint32_t bits) {
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
}

/// Rounds `magnitude`, a finite number above zero, to nearest even, to a format with `fraction_bits` bits after the
/// leading one and exponents from `min_exponent` up. Returns the bits, which the format may not have.
inline std::uint32_t round_magnitude(double magnitude, int fraction_bits, int min_exponent) {
  const int exponent = std::max(std::ilogb(magnitude), min_exponent);
  // nearbyint rounds to even in the default rounding mode, and the argument is below 2^53. If the fraction rounds up to
  // two, the carry increments the exponent, as the encoding intends.
  const auto places = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
  return (static_cast<std::uint32_t>(exponent - min_exponent) << fraction_bits) + places;
}

/// Rounds to a format of 16 bits.
inline std::uint16_t round_16(double value, int fraction_bits, int min_exponent, std::uint16_t infinity) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000u : 0u);
  if (std::isnan(value)) return kNan16;
  const double magnitude = std::abs(value);
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | infinity);
  if (magnitude == 0) return sign;
  const std::uint32_t bits = round_magnitude(magnitude, fraction_bits, min_exponent);
  return static_cast<std::uint16_t>(sign | std::min<std::uint32_t>(bits, infinity));
}

/// One rounding, to nearest even. A float converts to double exactly.
inline std::uint16_t narrow_f16(double value) { return round_16(value, 10, -14, 0x7c00u); }
inline std::uint16_t narrow_bf16(double value) { return round_16(value, 7, -126, 0x7f80u); }

/// The number with these bits of a format of 8 bits that has numbers up to `largest`; the bits above are NaN.
inline float widen_8(std::uint8_t bits, int fraction_bits, int min_exponent, std::uint8_t largest) {
  const int magnitude = bits & 0x7f, exponent = magnitude >> fraction_bits;
  if (magnitude > largest) return std::bit_cast<float>(kNanF32);
  const int leading = exponent == 0 ? 0 : 1 << fraction_bits, fraction = magnitude & ((1 << fraction_bits) - 1);
  const int scale = min_exponent - fraction_bits + std::max(exponent, 1) - 1;
  const float value = std::ldexp(static_cast<float>(leading + fraction), scale);
  return (bits & 0x80) != 0 ? -value : value;
}
/// Rounds to nearest even; larger numbers and infinity become `largest`, and NaN 0x7f, as in cvt.rn.satfinite.
inline std::uint8_t narrow_8(double value, int fraction_bits, int min_exponent, std::uint8_t largest) {
  if (std::isnan(value)) return 0x7f;
  const std::uint32_t sign = std::signbit(value) ? 0x80u : 0u;
  if (value == 0) return static_cast<std::uint8_t>(sign);
  const std::uint32_t bits =
      std::isinf(value) ? largest : round_magnitude(std::abs(value), fraction_bits, min_exponent);
  return static_cast<std::uint8_t>(sign | std::min<std::uint32_t>(bits, largest));
}

inline constexpr std::uint8_t kLargestE4m3 = 0x7e;  ///< 448
inline constexpr std::uint8_t kLargestE5m2 = 0x7b;  ///< 57344
inline constexpr std::uint8_t kInfinityE5m2 = 0x7c;
inline float widen_e4m3(std::uint8_t bits) { return widen_8(bits, 3, -6, kLargestE4m3); }
inline float widen_e5m2(std::uint8_t bits) {
  if ((bits & 0x7f) != kInfinityE5m2) return widen_8(bits, 2, -14, kLargestE5m2);
  return std::bit_cast<float>(0x7f800000u | std::uint32_t{bits & 0x80u} << 24);
}
inline std::uint8_t narrow_e4m3(double value) { return narrow_8(value, 3, -6, kLargestE4m3); }
inline std::uint8_t narrow_e5m2(double value) { return narrow_8(value, 2, -14, kLargestE5m2); }

/// a * b + c with one rounding. A double holds the product of 22 bits exactly. If it rounds the sum, the sum is far
/// from any tie of f16.
inline std::uint16_t fma_f16(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
  return narrow_f16(double{widen_f16(a)} * double{widen_f16(b)} + double{widen_f16(c)});
}

/// One rounding. A NaN becomes the canonical NaN.
inline float narrow_f32(double value) {
  return std::isnan(value) ? std::bit_cast<float>(kNanF32) : static_cast<float>(value);
}

}  // namespace hotgemm::emulate
