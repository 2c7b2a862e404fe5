#pragma once

// The activations of an epilogue, in f32.

#include "ptx/math.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

/// 1 / (1 + exp(-x)).
HOTGEMM_DEVICE float logistic(float x) {
  constexpr float kLog2E = 1.4426950408889634f;
  return ptx::rcp_approx(1.0f + ptx::ex2_approx(-kLog2E * x));
}

/// NaN stays NaN.
HOTGEMM_DEVICE float clamped(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/// The value of the activation at `x`. NaN stays NaN; gelu and silu of minus infinity are NaN. The relative error is a
/// few units in the last place of f32. Where the result is near zero it is more: up to |x| 2^-23 for the logistic
/// function of a negative x, which becomes 0 below 2^-126, and 2^-24 |x| as an absolute error for gelu_erf.
template <Activation kActivation>
HOTGEMM_DEVICE float activated(float x) {
  if constexpr (kActivation == Activation::relu) {
    return x < 0 ? 0.0f : x;
  } else if constexpr (kActivation == Activation::gelu) {
    // x/2 (1 + tanh u) = x / (1 + exp(-2u)), where u = sqrt(2/pi) (x + 0.044715 x^3).
    constexpr float kTwoRoots = 1.5957691216057308f, kCubic = 0.044715f * kTwoRoots;
    return x * logistic(x * ptx::fma_rn(kCubic * x, x, kTwoRoots));
  } else if constexpr (kActivation == Activation::gelu_erf) {
    constexpr float kRootOfHalf = 0.7071067811865476f;
    const float half = 0.5f * x;
    return ptx::fma_rn(half, ptx::erf(kRootOfHalf * x), half);
  } else if constexpr (kActivation == Activation::silu) {
    return x * logistic(x);
  } else if constexpr (kActivation == Activation::sigmoid) {
    return logistic(x);
  } else if constexpr (kActivation == Activation::tanh) {
    return ptx::tanh(x);
  } else {
    static_assert(kActivation == Activation::none, "an activation");
    return x;
  }
}

}  // namespace hotgemm
