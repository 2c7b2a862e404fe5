#pragma once

#include "emulate/number.hpp"
#include "ptx/device.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hotgemm::ptx {

HOTGEMM_DEVICE float cvt_f32_f16(u16 bits) { return emulate::widen_f16(bits); }
HOTGEMM_DEVICE u16 cvt_rn_f16_f32(float value) { return emulate::narrow_f16(value); }
HOTGEMM_DEVICE float cvt_f32_bf16(u16 bits) { return emulate::widen_bf16(bits); }
HOTGEMM_DEVICE u32 cvt_rn_f16x2_f32(float low, float high) {
  return emulate::narrow_f16(low) | u32{emulate::narrow_f16(high)} << 16;
}
HOTGEMM_DEVICE u32 cvt_rn_bf16x2_f32(float low, float high) {
  return emulate::narrow_bf16(low) | u32{emulate::narrow_bf16(high)} << 16;
}
HOTGEMM_DEVICE u32 cvt_rni_sat_s8_f32(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<u32>(static_cast<int>(std::clamp(std::nearbyint(value), -128.0f, 127.0f)));
}
HOTGEMM_DEVICE u32 cvt_rn_satfinite_e4m3x2_f32(float low, float high) {
  return emulate::narrow_e4m3(low) | u32{emulate::narrow_e4m3(high)} << 8;
}
HOTGEMM_DEVICE u32 cvt_rn_satfinite_e5m2x2_f32(float low, float high) {
  return emulate::narrow_e5m2(low) | u32{emulate::narrow_e5m2(high)} << 8;
}
HOTGEMM_DEVICE u32 mov_b32_b16(u16 low, u16 high) { return low | u32{high} << 16; }
HOTGEMM_DEVICE u16 mov_b16_b32_high(u32 bits) { return static_cast<u16>(bits >> 16); }
HOTGEMM_DEVICE u32 bits_of(float value) { return std::bit_cast<u32>(value); }
HOTGEMM_DEVICE float float_of(u32 bits) { return std::bit_cast<float>(bits); }

}  // namespace hotgemm::ptx

#include "ptx/element.hpp"
