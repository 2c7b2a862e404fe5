#pragma once

#include "config/traits.hpp"

#include <hotgemm/problem.hpp>

#include <algorithm>
#include <cmath>

namespace hotgemm {

/// The largest accepted error of a result, where `magnitude` = |alpha| |A||B| + |beta||C|, for data in random order.
///
/// Each of the K additions rounds a partial sum s, so the error is a sum of terms of at most u|s|, u the accumulator's
/// unit roundoff. The gate is u_D |exact| + (1 + u_D) (share * largest + 2 K |alpha| eta) + eta_D:
/// - largest: the size of the largest partial sum, at most `magnitude`. In random order a partial sum is its share of
///   the whole plus a random walk that ends at 0, of about magnitude / sqrt(K) for data of zero mean. Twice that is
///   more than the root mean square of the walk (one chance in 10^4 aside; the share below has room for more).
/// - share: independent roundings drift by about sqrt(K) u (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019, and, for
///   data of zero mean, 42(5), 2020). Tensor cores truncate once for a block of products (Blanchard et al., 42(3),
///   2020): K/45 u of one sign was the most in emulation, and K/16 leaves room. Truncation only ever takes a part of
///   what is there, so many of them multiply: 1 - exp(-K/16 u), which is less than 1 for all K.
/// - eta: half the accumulator's smallest subnormal: a rounding may be off by as much, a truncation by twice that;
///   eta_D that of D, and u_D its unit roundoff.
///
/// Sums in f16 of terms of one sign can stop growing, which no gate of this form covers: test those on integers.
inline double error_gate(const Problem& problem, double exact, double magnitude, double alpha = 1) {
  const double k = static_cast<double>(std::max<std::int64_t>(problem.k, 1));
  const ElementType result = element_type(problem.types.d), sum = element_type(sum_type(problem.types.compute));
  const double root = std::sqrt(k), unit = sum.unit_roundoff;
  const double largest = std::min(magnitude, std::abs(exact) + 2 * magnitude / root);
  const double share = std::max(4 * root * unit, -std::expm1(-k / 16 * unit));
  const double of_sum = share * largest + 2 * k * std::abs(alpha) * sum.half_subnormal;
  const double unit_d = result.unit_roundoff;
  return unit_d * std::abs(exact) + (1 + unit_d) * of_sum + result.half_subnormal;
}

}  // namespace hotgemm
