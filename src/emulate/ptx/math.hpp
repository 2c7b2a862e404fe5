#pragma once

#include "ptx/device.hpp"

#include <cmath>

// The approximations are better than those of the device, and therefore not the same bits.

namespace hotgemm::ptx {

HOTGEMM_DEVICE float lg2_approx(float x) { return std::log2(x); }
HOTGEMM_DEVICE float cos_approx(float x) { return std::cos(x); }
HOTGEMM_DEVICE float sqrt_approx(float x) { return std::sqrt(x); }
HOTGEMM_DEVICE float fma_rn(float a, float b, float c) { return std::fma(a, b, c); }

}  // namespace hotgemm::ptx
