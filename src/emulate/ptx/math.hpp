#pragma once

#include "emulate/number.hpp"
#include "ptx/device.hpp"

#include <bit>
#include <cmath>

// The approximations are better than those of the device, and therefore not the same bits.

namespace hotgemm::ptx {

HOTGEMM_DEVICE float lg2_approx(float x) { return std::log2(x); }
HOTGEMM_DEVICE float cos_approx(float x) { return std::cos(x); }
HOTGEMM_DEVICE float sqrt_approx(float x) { return std::sqrt(x); }
HOTGEMM_DEVICE u32 popc_b32(u32 x) { return static_cast<u32>(std::popcount(x)); }
HOTGEMM_DEVICE float ex2_approx(float x) { return std::exp2(x); }
HOTGEMM_DEVICE float rcp_approx(float x) { return 1 / x; }
HOTGEMM_DEVICE float at_least(float x, float least) { return x < least ? least : x; }
HOTGEMM_DEVICE float erf(float x) { return std::erf(x); }
HOTGEMM_DEVICE float tanh(float x) { return std::tanh(x); }
HOTGEMM_DEVICE float add_rn(float a, float b) { return a + b; }
HOTGEMM_DEVICE float mul_rn(float a, float b) { return a * b; }
HOTGEMM_DEVICE float fma_rn(float a, float b, float c) { return std::fma(a, b, c); }
HOTGEMM_DEVICE u16 fma_rn_f16(u16 a, u16 b, u16 c) { return emulate::fma_f16(a, b, c); }
HOTGEMM_DEVICE u32 fma_rn_f16x2(u32 a, u32 b, u32 c) {
  const auto half = [](u32 pair, int i) { return static_cast<u16>(pair >> (16 * i)); };
  return fma_rn_f16(half(a, 0), half(b, 0), half(c, 0)) | u32{fma_rn_f16(half(a, 1), half(b, 1), half(c, 1))} << 16;
}
HOTGEMM_DEVICE u32 dp4a_s32_s32(u32 a, u32 b, u32 c) {
  const auto byte = [](u32 word, int i) { return static_cast<int>(static_cast<signed char>(word >> (8 * i))); };
  for (int i = 0; i < 4; ++i) c += static_cast<u32>(byte(a, i) * byte(b, i));
  return c;
}
HOTGEMM_DEVICE u32 prmt_b32(u32 a, u32 b, u32 bytes) {
  u32 d = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 number = bytes >> (4 * i) & 7u;
    d |= ((number < 4 ? a : b) >> (8 * (number % 4)) & 0xffu) << (8 * i);
  }
  return d;
}

}  // namespace hotgemm::ptx
