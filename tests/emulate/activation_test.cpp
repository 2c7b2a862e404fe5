// Derivatives of activations in f32, as kernels compute them, against those in f64, and the bits of ReLU.

#include "activation.cuh"
#include "emulate/epilogue_reference.hpp"
#include "relu_bits.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hotgemm::emulate {
namespace {

template <Activation kDerivative>
double worst_slope_error() {
  double worst = 0;
  for (float x = -40; x < 40; x += 0x1p-10f) {
    const double error =
        static_cast<double>(hotgemm::slope<kDerivative>(x)) - slope(kDerivative, static_cast<double>(x));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, std::abs(error));
  }
  return worst;
}

TEST(Derivative, HasTheErrorThatItsCommentStates) {
  EXPECT_LE(worst_slope_error<Activation::dgelu>(), 0x1p-21);
  EXPECT_LE(worst_slope_error<Activation::dgelu_erf>(), 0x1p-21);
  EXPECT_LE(worst_slope_error<Activation::dsilu>(), 0x1p-21);
  EXPECT_LE(worst_slope_error<Activation::dsigmoid>(), 0x1p-21);
  EXPECT_LE(worst_slope_error<Activation::dtanh>(), 0x1p-21);
}

TEST(Derivative, IsTheDifferenceQuotientOfItsActivation) {
  constexpr double kStep = 1e-6;
  for (double x = -6.03; x < 6; x += 0.11) {
    for (const auto& [activation, derivative] : {std::pair(Activation::relu, Activation::drelu),
                                                 {Activation::gelu, Activation::dgelu},
                                                 {Activation::gelu_erf, Activation::dgelu_erf},
                                                 {Activation::silu, Activation::dsilu},
                                                 {Activation::sigmoid, Activation::dsigmoid},
                                                 {Activation::tanh, Activation::dtanh}}) {
      const double quotient = (activated(activation, x + kStep) - activated(activation, x - kStep)) / (2 * kStep);
      EXPECT_NEAR(slope(derivative, x), quotient, 1e-8) << x;
    }
  }
}

TEST(Derivative, LeavesWhatFarValuesHave) {
  for (const float far : {-1e18f, 1e18f}) {
    const float right = far < 0 ? 0.0f : 1.0f;
    constexpr float kAlmostZero = 0x1p-118f;
    EXPECT_NEAR(hotgemm::slope<Activation::dgelu>(far), right, kAlmostZero);
    EXPECT_EQ(hotgemm::slope<Activation::dgelu_erf>(far), right);
    EXPECT_NEAR(hotgemm::slope<Activation::dsilu>(far), right, kAlmostZero);
    EXPECT_NEAR(hotgemm::slope<Activation::dsigmoid>(far), 0.0f, kAlmostZero);
    EXPECT_EQ(hotgemm::slope<Activation::dtanh>(far), 0.0f);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(hotgemm::slope<Activation::dgelu>(nan)));
  EXPECT_TRUE(std::isnan(hotgemm::slope<Activation::dsilu>(nan)));
  EXPECT_TRUE(std::isnan(hotgemm::slope<Activation::dsigmoid>(nan)));
  EXPECT_EQ(hotgemm::differentiated<Activation::drelu>(3, 0), 0.0f);
  EXPECT_EQ(hotgemm::differentiated<Activation::drelu>(nan, -1), 0.0f);
  EXPECT_EQ(hotgemm::differentiated<Activation::drelu>(3, nan), 3.0f);
}

TEST(ReluBit, IsThatOfCublasltForZeroAndNan) {
  EXPECT_TRUE(hotgemm::relu_bit(0x1p-149f));
  EXPECT_TRUE(hotgemm::relu_bit(0.0f));
  EXPECT_TRUE(hotgemm::relu_bit(-0.0f));
  EXPECT_FALSE(hotgemm::relu_bit(-0x1p-149f));
  EXPECT_FALSE(hotgemm::relu_bit(std::numeric_limits<float>::quiet_NaN()));
}

}  // namespace
}  // namespace hotgemm::emulate
