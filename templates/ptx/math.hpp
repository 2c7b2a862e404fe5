#pragma once

#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE float lg2_approx(float x) {
  float y = 0;
  HOTGEMM_PTX_PURE("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
HOTGEMM_DEVICE float cos_approx(float x) {
  float y = 0;
  HOTGEMM_PTX_PURE("cos.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
HOTGEMM_DEVICE float sqrt_approx(float x) {
  float y = 0;
  HOTGEMM_PTX_PURE("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// The number of bits that are set.
HOTGEMM_DEVICE u32 popc_b32(u32 x) {
  u32 count = 0;
  HOTGEMM_PTX_PURE("popc.b32 %0, %1;" : "=r"(count) : "r"(x));
  return count;
}
/// ex2.approx.ftz.f32: 2^x, with a relative error of 2^-22. rcp.approx.ftz.f32: 1 / x, with one of 2^-23.
HOTGEMM_DEVICE float ex2_approx(float x) {
  float y = 0;
  HOTGEMM_PTX_PURE("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
HOTGEMM_DEVICE float rcp_approx(float x) {
  float y = 0;
  HOTGEMM_PTX_PURE("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// The larger of `x` and `least`. NaN stays NaN.
HOTGEMM_DEVICE float at_least(float x, float least) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float y = 0;
  HOTGEMM_PTX_PURE("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(least));
  return y;
#else
  return x < least ? least : x;
#endif
}
/// CUDA's functions, which are right to 2 units in the last place.
HOTGEMM_DEVICE float erf(float x) {
#if defined(__CUDACC__)
  return ::erff(x);
#else
  return x;
#endif
}
HOTGEMM_DEVICE float tanh(float x) {
#if defined(__CUDACC__)
  return ::tanhf(x);
#else
  return x;
#endif
}
/// add.rn.f32 and mul.rn.f32, which the compiler does not fuse with each other.
HOTGEMM_DEVICE float add_rn(float a, float b) {
  float d = 0;
  HOTGEMM_PTX_PURE("add.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
HOTGEMM_DEVICE float mul_rn(float a, float b) {
  float d = 0;
  HOTGEMM_PTX_PURE("mul.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
/// fma.rn.f32: a * b + c, rounded once. It fixes the fusion where a compiler could fuse product and sum in two ways.
HOTGEMM_DEVICE float fma_rn(float a, float b, float c) {
  float d = 0;
  HOTGEMM_PTX_PURE("fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}
/// fma.rn.f16 on the bits of f16.
HOTGEMM_DEVICE u16 fma_rn_f16(u16 a, u16 b, u16 c) {
  u16 d = 0;
  HOTGEMM_PTX_PURE("fma.rn.f16 %0, %1, %2, %3;" : "=h"(d) : "h"(a), "h"(b), "h"(c));
  return d;
}
/// The same on two f16 at once.
HOTGEMM_DEVICE u32 fma_rn_f16x2(u32 a, u32 b, u32 c) {
  u32 d = 0;
  HOTGEMM_PTX_PURE("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
/// c plus the products of the four signed bytes of `a` with those of `b`, modulo 2^32. sm_61 and later.
HOTGEMM_DEVICE u32 dp4a_s32_s32(u32 a, u32 b, u32 c) {
  u32 d = 0;
  HOTGEMM_PTX_PURE("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
/// Four bytes of `a` and `b`: each of the four last hexadecimal digits of `bytes` numbers one, from 0, the lowest of
/// `a`, to 7, the highest of `b`. The last digit is for the lowest byte of the result.
HOTGEMM_DEVICE u32 prmt_b32(u32 a, u32 b, u32 bytes) {
  u32 d = 0;
  HOTGEMM_PTX_PURE("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(bytes));
  return d;
}

}  // namespace hotgemm::ptx
