#pragma once

// The activations of an epilogue, and their derivatives, in f32.

#include "ptx/math.hpp"
#include "shared/gemm_types.hpp"

namespace hotgemm {

constexpr float kLog2E = 1.4426950408889634f;

/// 1 / (1 + exp(-x)).
HOTGEMM_DEVICE float logistic(float x) { return ptx::rcp_approx(1.0f + ptx::ex2_approx(-kLog2E * x)); }

/// NaN stays NaN.
HOTGEMM_DEVICE float clamped(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

/// The value of the activation at `x`. NaN stays NaN; relu of -0 may be 0; gelu and silu of minus infinity are NaN. The
/// relative error is a few units in the last place of f32. Where the result is near zero it is more: up to |x| 2^-23
/// for the logistic function of a negative x, which becomes 0 below 2^-126, and 2^-24 |x| as an absolute error for
/// gelu_erf.
template <Activation kActivation>
HOTGEMM_DEVICE float activated(float x) {
  if constexpr (kActivation == Activation::relu) {
    return ptx::at_least(x, 0.0f);
  } else if constexpr (kActivation == Activation::gelu) {
    // x/2 (1 + tanh u) = x / (1 + exp(-2u)), where u = sqrt(2/pi) (x + 0.044715 x^3).
    constexpr float kTwoRoots = 1.5957691216057308f, kCubic = 0.044715f * kTwoRoots;
    const float exponent = x * ptx::fma_rn(-kLog2E * kCubic * x, x, -kLog2E * kTwoRoots);
    return x * ptx::rcp_approx(1.0f + ptx::ex2_approx(exponent));
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

/// The logistic function 1 / (1 + e^-z), and its slope without the cancellation of 1 - value.
struct Logistic {
  float value, slope;
  /// `exponential` is e^-z. It must be finite, so z is at least -87.
  HOTGEMM_DEVICE explicit Logistic(float exponential)
      : value(ptx::rcp_approx(1.0f + exponential)), slope(exponential * value * value) {}
};

/// The slope of an activation at `x`, by its derivative. The absolute error is at most 2^-21. Where x is infinite, or
/// its square is, the slope of gelu, gelu_erf and silu may be NaN. Below some x the slope is as there, which is 0 but
/// for 2^-119.
template <Activation kDerivative>
HOTGEMM_DEVICE float slope(float x) {
  constexpr float kLeast = -87.0f;
  if constexpr (kDerivative == Activation::dgelu) {
    // gelu is x times the logistic function of 2u: see activated. At -10, 2u is -87.
    constexpr float kTwoRoots = 1.5957691216057308f, kCubic = 0.044715f * kTwoRoots;
    x = ptx::at_least(x, -10.0f);
    const float square = x * x;
    const Logistic logistic(ptx::ex2_approx(x * ptx::fma_rn(-kLog2E * kCubic, square, -kLog2E * kTwoRoots)));
    return ptx::fma_rn(x * logistic.slope, ptx::fma_rn(3 * kCubic, square, kTwoRoots), logistic.value);
  } else if constexpr (kDerivative == Activation::dgelu_erf) {
    constexpr float kRootOfHalf = 0.7071067811865476f, kDensity = 0.3989422804014327f, kHalfLog2E = 0.7213475204444817f;
    const float bell = kDensity * ptx::ex2_approx(-kHalfLog2E * x * x);
    return ptx::fma_rn(x, bell, ptx::fma_rn(0.5f, ptx::erf(kRootOfHalf * x), 0.5f));
  } else if constexpr (kDerivative == Activation::dsilu) {
    x = ptx::at_least(x, kLeast);
    const Logistic logistic(ptx::ex2_approx(-kLog2E * x));
    return ptx::fma_rn(x, logistic.slope, logistic.value);
  } else if constexpr (kDerivative == Activation::dsigmoid) {
    return Logistic(ptx::ex2_approx(-kLog2E * ptx::at_least(x, kLeast))).slope;
  } else {
    static_assert(kDerivative == Activation::dtanh, "a derivative with a slope");
    const float t = ptx::tanh(x);
    return ptx::fma_rn(-t, t, 1.0f);
  }
}

/// `value` times the slope of an activation at `x`. That of relu at 0 is 0, and where it is 0 a NaN becomes 0.
template <Activation kDerivative>
HOTGEMM_DEVICE float differentiated(float value, float x) {
  if constexpr (kDerivative == Activation::drelu) {
    return x <= 0 ? 0.0f : value;
  } else {
    return ptx::mul_rn(value, slope<kDerivative>(x));
  }
}

}  // namespace hotgemm
