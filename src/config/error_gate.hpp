#pragma once

#include <hotgemm/types.hpp>

#include <algorithm>
#include <cmath>

namespace hotgemm {

/// Half the distance from 1 to the next larger number.
inline double unit_roundoff(DType dtype) {
  return dtype == DType::f16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-24;
}
/// Half the smallest subnormal number.
inline double half_subnormal(DType dtype) {
  return dtype == DType::f16 ? 0x1p-25 : dtype == DType::bf16 ? 0x1p-134 : 0x1p-150;
}

/// How far from `exact` a result may be, where `magnitude` = |alpha| |A||B| + |beta||C|. A sum of K products that is
/// rounded after each drifts by about sqrt(K) units; tensor cores, which truncate, by up to K/16 on data of one sign.
/// The factors leave both some room.
inline double error_gate(const Problem& problem, double exact, double magnitude) {
  const double k = static_cast<double>(std::max<std::int64_t>(problem.k, 1));
  return unit_roundoff(problem.dtype) * std::abs(exact) +
         std::max(4 * std::sqrt(k), k / 16) * unit_roundoff(problem.accumulator) * magnitude +
         half_subnormal(problem.dtype);
}

}  // namespace hotgemm
