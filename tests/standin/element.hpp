#pragma once

#include "shared/gemm_types.hpp"

#include <bit>
#include <cstdint>
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

/// Loads the element at `address`, which need not be aligned for the host.
inline float load_element(std::uint64_t address, DType dtype) {
  const void* memory = reinterpret_cast<const void*>(address);
  if (dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, memory, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, memory, sizeof bits);
  return dtype == DType::f16 ? widen_f16(bits) : widen_bf16(bits);
}

inline void store_element(std::uint64_t address, DType dtype, float value) {
  void* memory = reinterpret_cast<void*>(address);
  if (dtype == DType::f32) {
    std::memcpy(memory, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = dtype == DType::f16 ? narrow_f16(value) : narrow_bf16(value);
  std::memcpy(memory, &bits, sizeof bits);
}

}  // namespace hotgemm::standin
