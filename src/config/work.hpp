#pragma once

#include <hotgemm/problem.hpp>

namespace hotgemm {

/// True if D has no elements, so that there is nothing to do.
constexpr bool is_empty(const Problem& p) { return p.m == 0 || p.n == 0 || p.batch == 0; }

/// True if there is nothing to measure: no D, or no products. Sizes need not be valid.
constexpr bool has_nothing_to_measure(const Problem& p) { return p.m <= 0 || p.n <= 0 || p.k <= 0 || p.batch <= 0; }

/// The operations of all products: 2mnk for each.
constexpr double flops(const Problem& p) {
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
         static_cast<double>(p.batch);
}

}  // namespace hotgemm
