#pragma once

// Elements, sums and results of every type as numbers: integers as int, all others as f32. Both hold every element
// exactly.

#include "ptx/element.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"

namespace hotgemm {

template <DType kType>
struct NumberOf {
  using type = float;
};
template <>
struct NumberOf<DType::s8> {
  using type = int;
};
template <>
struct NumberOf<DType::s32> {
  using type = int;
};

/// The number from which an element of D is rounded. An s8 is rounded from a scaled sum.
template <DType kType>
struct ResultOf : NumberOf<kType> {};
template <>
struct ResultOf<DType::s8> {
  using type = float;
};

/// The number with these 32 bits, and its bits.
template <DType kType>
HOTGEMM_DEVICE typename NumberOf<kType>::type number_of(u32 bits) {
  if constexpr (is_integer(kType)) {
    return static_cast<int>(bits);
  } else {
    return ptx::float_of(bits);
  }
}
HOTGEMM_DEVICE u32 bits_of_number(float number) { return ptx::bits_of(number); }
HOTGEMM_DEVICE u32 bits_of_number(int number) { return static_cast<u32>(number); }

HOTGEMM_DEVICE float product(float a, float b) { return a * b; }
HOTGEMM_DEVICE float multiply_add(float a, float b, float c) { return ptx::fma_rn(a, b, c); }
/// Wraps: the product and sum of unsigned numbers have the same bits, and their overflow is defined.
HOTGEMM_DEVICE int multiply_add(int a, int b, int c) {
  return static_cast<int>(static_cast<u32>(a) * static_cast<u32>(b) + static_cast<u32>(c));
}
HOTGEMM_DEVICE int product(int a, int b) { return multiply_add(a, b, 0); }

/// The element of 8 bits with this code.
template <DType kType>
HOTGEMM_DEVICE typename NumberOf<kType>::type number_of_byte(u32 code) {
  if constexpr (kType == DType::s8) {
    return static_cast<signed char>(code);
  } else if constexpr (kType == DType::e4m3) {
    return ptx::widen_e4m3(code);
  } else {
    static_assert(kType == DType::e5m2, "a type of 8 bits");
    return ptx::widen_e5m2(code);
  }
}

/// The element `index` of the matrix at address `matrix`.
template <DType kType>
HOTGEMM_DEVICE typename NumberOf<kType>::type load_element(u64 matrix, i64 index) {
  const u64 address = matrix + static_cast<u64>(index) * size_bytes(kType);
  if constexpr (kType == DType::f32) {
    return ptx::float_of(ptx::ld_global_b32(address));
  } else if constexpr (kType == DType::tf32) {
    return ptx::float_of(ptx::round_tf32(ptx::ld_global_b32(address)));
  } else if constexpr (kType == DType::s32) {
    return static_cast<int>(ptx::ld_global_b32(address));
  } else if constexpr (size_bytes(kType) == 1) {
    return number_of_byte<kType>(ptx::ld_global_u8(address));
  } else {
    return ptx::widen<kType>(ptx::ld_global_b16(address));
  }
}

/// The element as a number from which one of this type is rounded.
template <DType kType>
HOTGEMM_DEVICE typename ResultOf<kType>::type load_result(u64 matrix, i64 index) {
  return static_cast<typename ResultOf<kType>::type>(load_element<kType>(matrix, index));
}

/// `value` as an element of 8 bits: rounded to nearest even, and at most the largest element.
template <DType kType>
HOTGEMM_DEVICE u32 byte_of(float value) {
  if constexpr (kType == DType::s8) {
    return ptx::cvt_rni_sat_s8_f32(value) & 0xff;
  } else if constexpr (kType == DType::e4m3) {
    return ptx::round_e4m3_f32(value);
  } else {
    static_assert(kType == DType::e5m2, "a type of 8 bits");
    return ptx::round_e5m2_f32(value);
  }
}
/// The same of two values, the first in the low byte.
template <DType kType>
HOTGEMM_DEVICE u32 byte_pair_of(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  if constexpr (kType == DType::e4m3) return ptx::cvt_rn_satfinite_e4m3x2_f32(low, high);
  if constexpr (kType == DType::e5m2) return ptx::cvt_rn_satfinite_e5m2x2_f32(low, high);
#endif
  return byte_of<kType>(low) | byte_of<kType>(high) << 8;
}

/// Stores `value`, rounded to nearest even if it is a floating-point number. An element of 8 bits is the largest one if
/// `value` is beyond it.
template <DType kType>
HOTGEMM_DEVICE void store_element(u64 matrix, i64 index, typename ResultOf<kType>::type value) {
  const u64 address = matrix + static_cast<u64>(index) * size_bytes(kType);
  if constexpr (kType == DType::f32) {
    ptx::st_global_b32(address, ptx::bits_of(value));
  } else if constexpr (kType == DType::s32) {
    ptx::st_global_b32(address, static_cast<u32>(value));
  } else if constexpr (size_bytes(kType) == 1) {
    ptx::st_global_u8(address, byte_of<kType>(value));
  } else {
    ptx::st_global_b16(address, ptx::narrow<kType>(value));
  }
}

}  // namespace hotgemm
