#pragma once

#include "config/error_gate.hpp"
#include "emulate/host_function.hpp"

#include <hotgemm/problem.hpp>

#include <cmath>

// The right results of an epilogue, in f64. Header-only, because tests without the emulated device use it too.

namespace hotgemm::emulate {

/// The bit that Epilogue::bits keeps of a value in front of ReLU: 1 for 0, and 0 for NaN.
inline bool relu_bit(double value) { return value >= 0; }

/// `low` and `high` are the limits of a clamp.
inline double activated(Activation activation, double x, double low = 0, double high = 0) {
  constexpr double kRootOfTwoOverPi = 0.79788456080286535588, kRootOfHalf = 0.70710678118654752440;
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return x < 0 ? 0 : x;
    case Activation::gelu: return x / 2 * (1 + std::tanh(kRootOfTwoOverPi * (x + 0.044715 * x * x * x)));
    case Activation::gelu_erf: return x / 2 * (1 + std::erf(kRootOfHalf * x));
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::sigmoid: return 1 / (1 + std::exp(-x));
    case Activation::tanh: return std::tanh(x);
    case Activation::clamp: return x < low ? low : x > high ? high : x;
    default: return std::nan("");  // a derivative
  }
}

/// The slope of an activation at `x`, by its derivative.
inline double slope(Activation derivative, double x) {
  constexpr double kRootOfTwoOverPi = 0.79788456080286535588, kRootOfHalf = 0.70710678118654752440;
  constexpr double kRootOfTwoPi = 2.50662827463100050242;
  const double logistic = 1 / (1 + std::exp(-x)), tanh = std::tanh(x);
  switch (derivative) {
    case Activation::drelu: return x <= 0 ? 0 : 1;
    case Activation::dgelu: {
      const double t = std::tanh(kRootOfTwoOverPi * (x + 0.044715 * x * x * x));
      return (1 + t + x * (1 - t * t) * kRootOfTwoOverPi * (1 + 3 * 0.044715 * x * x)) / 2;
    }
    case Activation::dgelu_erf: return (1 + std::erf(kRootOfHalf * x)) / 2 + x * std::exp(-x * x / 2) / kRootOfTwoPi;
    case Activation::dsilu: return logistic * (1 + x * (1 - logistic));
    case Activation::dsigmoid: return logistic * (1 - logistic);
    case Activation::dtanh: return 1 - tanh * tanh;
    default: return std::nan("");  // no derivative
  }
}

/// The second column of an element with a gate, which the first one multiplies: its product, and operands.
struct OtherColumn {
  double product = 0, magnitude = 0;
  double scale = 1;
  double bias = 0;
};

/// The operands of an epilogue at one element. A part that the epilogue does not have keeps its default.
struct EpilogueElement {
  double scale = 1;   ///< scale_a * scale_b
  double addend = 0;  ///< beta * C
  double bias = 0;
  double auxiliary = 0;  ///< where a derivative is taken
  double residual = 0;
  double scale_d = 1;
  FunctionPoint point{};
  double low = 0, high = 0;  ///< the limits of a clamp
  OtherColumn other{};       ///< of a gate
};

/// An element of D and of the auxiliary output, not rounded, with their gates. `unscaled` is the element before
/// scale_d, whose absolute value counts for amax.
struct FusedElement {
  double auxiliary = 0, result = 0, unscaled = 0;
  double auxiliary_gate = 0, result_gate = 0, unscaled_gate = 0;
  double other = 0, other_gate = 0;  ///< the auxiliary output of the second column of a gate
};

/// The element from `product` = alpha * sum, whose summands have the sum `magnitude` of absolute values.
///
/// The gate of the value in front of the activation is that of error_gate for a D of f32, with a rounding more for each
/// operation. Activations and their derivatives have slopes below 1.13, and errors of a few units in the last place of
/// f32, of gelu relative to its argument; a function says its own. A gate follows the rule for products. Then come the
/// residual, scale_d and the rounding to D.
inline FusedElement fused_element(const Problem& problem, double product, double magnitude, double alpha,
                                  const EpilogueElement& e) {
  constexpr double kUnit = 0x1p-24, kSteepest = 1.13;
  Problem wide = problem;
  wide.types.c = wide.types.d = DType::f32;
  const auto gate_of = [&](double exact, double terms, double scale) {
    return error_gate(wide, exact, terms, alpha * scale) + 4 * kUnit * terms;
  };
  const double value = product * e.scale + e.addend + e.bias;
  const double gate = gate_of(value, magnitude * std::abs(e.scale) + std::abs(e.addend) + std::abs(e.bias), e.scale);
  const Epilogue& chain = problem.epilogue;
  const HostFunction function = chain.has_function() ? host_function(chain.function) : HostFunction{};
  const double after = chain.has_function()      ? function.at(value, e.point)
                       : chain.reads_auxiliary() ? value * slope(chain.activation, e.auxiliary)
                                                 : activated(chain.activation, value, e.low, e.high);
  const OtherColumn& o = e.other;
  const double factor = chain.is_gated() ? o.product * o.scale + o.bias : 1;
  const double factor_gate =
      chain.is_gated() ? gate_of(factor, o.magnitude * std::abs(o.scale) + std::abs(o.bias), o.scale) : 0;
  const double product_of_both = after * factor, sum = product_of_both + e.residual;
  const bool is_curved = chain.has_function() || chain.activation > Activation::relu;
  const double steepest = chain.has_function() ? function.slope : kSteepest;
  const double of_activation =
      is_curved ? steepest * gate + 16 * kUnit * (std::abs(after) + std::abs(value) + function.magnitude) : gate;
  const double of_both = chain.is_gated() ? std::abs(after) * factor_gate + std::abs(factor) * of_activation +
                                                of_activation * factor_gate + kUnit * std::abs(product_of_both)
                                          : of_activation;
  const double of_sum = of_both + 2 * kUnit * (std::abs(sum) + std::abs(e.residual));
  const ElementType d = element_type(problem.types.d);
  const auto rounded = [&](double exact, double error) {
    return (1 + d.unit_roundoff) * error + d.unit_roundoff * std::abs(exact) + d.half_subnormal;
  };
  const double result = sum * e.scale_d;
  return {.auxiliary = value,
          .result = result,
          .unscaled = sum,
          .auxiliary_gate = rounded(value, gate),
          .result_gate = rounded(result, std::abs(e.scale_d) * of_sum + kUnit * std::abs(result)),
          .unscaled_gate = of_sum,
          .other = factor,
          .other_gate = rounded(factor, factor_gate)};
}

/// True if each operation of the epilogue is exact on small numbers.
inline bool is_exact(const Epilogue& e) {
  if (e.has_function()) return host_function(e.function).is_exact;
  return e.activation <= Activation::relu || e.has_clamp() || e.activation == Activation::drelu;
}

}  // namespace hotgemm::emulate
