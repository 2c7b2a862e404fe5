#pragma once

#include "config/traits.hpp"

#include <hotgemm/problem.hpp>

#include <algorithm>
#include <cmath>

namespace hotgemm {

/// How far from `exact` a result may be, where `magnitude` = |alpha| |A||B| + |beta||C|. A sum of K products that is
/// rounded after each drifts by about sqrt(K) units; tensor cores, which truncate, by up to K/16 on data of one sign.
/// The factors leave both some room.
inline double error_gate(const Problem& problem, double exact, double magnitude) {
  const double k = static_cast<double>(std::max<std::int64_t>(problem.k, 1));
  const ElementType result = element_type(problem.types.d), sum = element_type(sum_type(problem.types.compute));
  return result.unit_roundoff * std::abs(exact) + std::max(4 * std::sqrt(k), k / 16) * sum.unit_roundoff * magnitude +
         result.half_subnormal;
}

}  // namespace hotgemm
