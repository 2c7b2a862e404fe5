#pragma once

#include "ptx/device.hpp"

// Conversions between f32 and 16-bit types, which the templates hold as bits in integers.

namespace hotgemm::ptx {

HOTGEMM_DEVICE float cvt_f32_f16(u16 bits) {
  float value = 0;
  HOTGEMM_PTX_PURE("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
HOTGEMM_DEVICE u16 cvt_rn_f16_f32(float value) {
  u16 bits = 0;
  HOTGEMM_PTX_PURE("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
/// bf16 is the upper half of f32: widening is a shift.
HOTGEMM_DEVICE float cvt_f32_bf16(u16 bits) {
  float value = 0;
  HOTGEMM_PTX_PURE("mov.b32 %0, {%1, %2};" : "=f"(value) : "h"(static_cast<u16>(0)), "h"(bits));
  return value;
}
/// {low, high} rounded to two f16.
HOTGEMM_DEVICE u32 cvt_rn_f16x2_f32(float low, float high) {
  u32 bits = 0;
  HOTGEMM_PTX_PURE("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
/// {low, high} rounded to two bf16. sm_80 and later.
HOTGEMM_DEVICE u32 cvt_rn_bf16x2_f32(float low, float high) {
  u32 bits = 0;
  HOTGEMM_PTX_PURE("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
/// Rounds to the nearest integer, and to the nearest that an s8 holds. NaN becomes 0.
HOTGEMM_DEVICE u32 cvt_rni_sat_s8_f32(float value) {
  u32 bits = 0;
  HOTGEMM_PTX_PURE("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
/// {low, high} rounded to two e4m3, or two e5m2; a larger number becomes the largest. sm_89 and later.
HOTGEMM_DEVICE u32 cvt_rn_satfinite_e4m3x2_f32(float low, float high) {
  u16 bits = 0;
  HOTGEMM_PTX_PURE("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(high), "f"(low));
  return bits;
}
HOTGEMM_DEVICE u32 cvt_rn_satfinite_e5m2x2_f32(float low, float high) {
  u16 bits = 0;
  HOTGEMM_PTX_PURE("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(high), "f"(low));
  return bits;
}
#endif
/// Packs {low, high}, 16 bits each, into 32 bits.
HOTGEMM_DEVICE u32 mov_b32_b16(u16 low, u16 high) {
  u32 bits = 0;
  HOTGEMM_PTX_PURE("mov.b32 %0, {%1, %2};" : "=r"(bits) : "h"(low), "h"(high));
  return bits;
}
/// The upper 16 bits. A shift would cost an instruction; here the operand names the upper half of the register.
HOTGEMM_DEVICE u16 mov_b16_b32_high(u32 bits) {
  u16 high = 0;
  HOTGEMM_PTX_PURE("{ .reg .b16 low; mov.b32 {low, %0}, %1; }" : "=h"(high) : "r"(bits));
  return high;
}
HOTGEMM_DEVICE u32 bits_of(float value) {
  u32 bits = 0;
  HOTGEMM_PTX_PURE("mov.b32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}
HOTGEMM_DEVICE float float_of(u32 bits) {
  float value = 0;
  HOTGEMM_PTX_PURE("mov.b32 %0, %1;" : "=f"(value) : "r"(bits));
  return value;
}

}  // namespace hotgemm::ptx

#include "ptx/element.hpp"
