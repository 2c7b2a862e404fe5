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

}  // namespace hotgemm::ptx
