#pragma once

#include "emulate/number.hpp"
#include "shared/gemm_types.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace hotgemm::standin {

/// Converts binary16 to binary32, exactly.
inline float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

/// Converts binary32 to binary16, to nearest even. NaN becomes the canonical NaN, as on the device.
inline std::uint16_t narrow_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fffu;
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 rounds to infinity
  if (magnitude < 0x38800000u) {
    // Results below 2^-14 are multiples of 2^-24. The last bit of 0.5 is worth 2^-24, so adding 0.5 rounds to such a
    // multiple.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

/// bfloat16 is the upper half of binary32.
inline float widen_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Rounds to nearest even. NaN stays NaN.
inline std::uint16_t narrow_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

template <class T>
T load(std::uint64_t address) {
  T value{};
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

template <class T>
void store(std::uint64_t address, T value) {
  std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}

/// Loads the element at `address`, which need not be aligned for the host. An s32 beyond 2^24 is rounded.
inline float load_element(std::uint64_t address, DType dtype) {
  switch (dtype) {
    case DType::f16: return widen_f16(load<std::uint16_t>(address));
    case DType::bf16: return widen_bf16(load<std::uint16_t>(address));
    case DType::f32: return load<float>(address);
    case DType::tf32: return std::bit_cast<float>(emulate::rounded_tf32(load<std::uint32_t>(address)));
    case DType::e4m3: return emulate::widen_e4m3(load<std::uint8_t>(address));
    case DType::e5m2: return emulate::widen_e5m2(load<std::uint8_t>(address));
    case DType::s8: return load<std::int8_t>(address);
    case DType::s32: return static_cast<float>(load<std::int32_t>(address));
  }
  std::abort();
}

/// The nearest integer, even in a tie; the least one for NaN, which integers do not have.
inline std::int32_t integer_of(float value) {
  return value != value ? INT32_MIN : static_cast<std::int32_t>(std::nearbyint(value));
}

/// Rounds to the nearest element; an s8 saturates.
inline void store_element(std::uint64_t address, DType dtype, float value) {
  switch (dtype) {
    case DType::f16: return store(address, narrow_f16(value));
    case DType::bf16: return store(address, narrow_bf16(value));
    case DType::f32:
    case DType::tf32: return store(address, value);
    case DType::e4m3: return store(address, emulate::narrow_e4m3(value));
    case DType::e5m2: return store(address, emulate::narrow_e5m2(value));
    case DType::s8: return store(address, static_cast<std::int8_t>(std::clamp(integer_of(value), -128, 127)));
    case DType::s32: return store(address, integer_of(value));
  }
  std::abort();
}

}  // namespace hotgemm::standin
