#pragma once

#include "config/max_size.hpp"
#include "config/traits.hpp"
#include "shared/wgmma_config.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace hotgemm {

/// The largest drift K/16 u of a sum that has a gate (see error_gate). At this drift the gate of a sum of random data
/// is 0.9 of the sum's standard deviation, so a D of zeros fails. At twice this drift a D of zeros may pass.
inline constexpr double kMaxGatedDrift = 0.5;

/// The largest drift per product of FP8 sums on tensor cores, which truncate each summand after 13 bits of fraction.
inline constexpr double kFp8Drift = 0x1p-15;

/// The largest k for which error_gate can judge random data: 2^14 for f16 sums and fast sums of FP8, 2^27 for f32 sums.
/// Test deeper sums on integers, where a right result is exact.
inline std::int64_t max_gated_k(const Types& types) {
  if (types.mode == ComputeMode::fast) return static_cast<std::int64_t>(kMaxGatedDrift / kFp8Drift);
  const double unit = element_type(sum_type(types.compute)).unit_roundoff;
  const auto max_size = static_cast<double>(kMaxSize);
  return unit * max_size > 16 * kMaxGatedDrift ? static_cast<std::int64_t>(16 * kMaxGatedDrift / unit) : kMaxSize;
}

/// The share of the largest partial sum by which sums of FP8 may drift, as error_gate explains it; 0 for other types.
inline double fp8_share(const Types& types, double k) {
  if (!is_fp8(types.a)) return 0;
  const double products = types.mode == ComputeMode::fast ? k : std::min<double>(k, kPromotedK);
  return std::max(4 * std::sqrt(products) * 0x1p-14, products * kFp8Drift);
}

/// The largest accepted error of a result, where `magnitude` = |alpha| |A||B| + |beta||C|, for data in random order.
///
/// Each of the K additions rounds a partial sum s, so the error is a sum of terms of at most u|s|; u is the unit
/// roundoff of the accumulator. The gate is
/// u_D |exact| + (1 + u_D) (share * largest + 2 K |alpha| eta + 2 u_E magnitude min(1, 16 / K)) + eta_D:
/// - largest: the size of the largest partial sum, at most `magnitude`. In random order a partial sum is its share of
///   the whole sum plus a random walk that ends at 0. For data of zero mean, the walk has a size of about
///   magnitude / sqrt(K). Twice this is more than the root mean square of the walk, except with a probability of 10^-4;
///   the share below has room for that.
/// - share: independent roundings drift by about sqrt(K) u (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019, and, for
///   data of zero mean, 42(5), 2020). Tensor cores truncate once for a block of products (Blanchard et al., 42(3),
///   2020). In emulation the largest drift of one sign was K/45 u; K/16 leaves room. A truncation removes a part of the
///   sum, so the effects of many truncations multiply: 1 - exp(-K/16 u). If this is near 1, even a right sum may be far
///   from exact, and no gate tells it from zeros. So k is at most max_gated_k; a larger k throws
///   Error{invalid_argument}.
/// - eta: half the smallest subnormal of the accumulator. A rounding has an error of at most eta, a truncation of at
///   most 2 eta. eta_D is the same for D, and u_D is the unit roundoff of D.
/// - FP8: tensor cores of Hopper align 32 products and the sum to the largest of them, and truncate each after 13 bits.
///   Until the sum is promoted to f32, after p products, truncations of one sign drift by p/2 2^-14 and others by
///   4 sqrt(p) 2^-14, which is added to the share. p is 128 in precise sums and K in fast ones.
/// - TF32: `exact` is the sum of elements that have been rounded to TF32. In a tie a kernel may round the other way, by
///   2 u_E of the element, where u_E is 2^-11, and 0 for other types. One element in 2^13 is a tie, so that ties move a
///   sum by less than 16 products of mean size do.
///
/// Sums of integers are exact, as long as they do not wrap: then only their conversion to f32, alpha and beta round.
///
/// f16 sums of terms of one sign can stop growing. No gate of this form covers that: test such sums on integers.
inline double error_gate(const Problem& problem, double exact, double magnitude, double alpha = 1) {
  if (problem.k > max_gated_k(problem.types)) {
    throw Error(ErrorCode::invalid_argument, "no error gate for sums of " + std::to_string(problem.k) +
                                                 " products in " + std::string(to_string(problem.types.compute)) +
                                                 ": the largest k is " + std::to_string(max_gated_k(problem.types)) +
                                                 "; test deeper sums on integers");
  }
  const double k = static_cast<double>(std::max<std::int64_t>(problem.k, 1));
  const ElementType result = element_type(problem.types.d), sum = element_type(sum_type(problem.types.compute));
  const double root = std::sqrt(k), unit = sum.unit_roundoff;
  const double largest = std::min(magnitude, std::abs(exact) + 2 * magnitude / root);
  const double share = std::max(4 * root * unit, -std::expm1(-k / 16 * unit)) + fp8_share(problem.types, k);
  const bool is_exact = is_integer(sum_type(problem.types.compute));
  const double roundings = problem.types.d == DType::s32 ? 0 : 3 * element_type(DType::f32).unit_roundoff;
  const double of_elements = problem.types.compute == ComputeType::tf32
                                 ? 2 * element_type(DType::tf32).unit_roundoff * std::min(1.0, 16 / k)
                                 : 0;
  const double of_sum = is_exact
                            ? roundings * magnitude
                            : share * largest + of_elements * magnitude + 2 * k * std::abs(alpha) * sum.half_subnormal;
  const double unit_d = result.unit_roundoff;
  return unit_d * std::abs(exact) + (1 + unit_d) * of_sum + result.half_subnormal;
}

}  // namespace hotgemm
