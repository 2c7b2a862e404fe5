#pragma once

#include <hotgemm/problem.hpp>

namespace hotgemm {

/// True if D has no elements, so that there is nothing to do.
constexpr bool is_empty(const Problem& p) { return p.m == 0 || p.n == 0 || p.batch == 0; }

/// True if a call computes one product, whose matrices it names.
constexpr bool is_one_product(const Problem& p) {
  return p.batch == 1 && p.groups == 0 && p.batch_kind == BatchKind::strided;
}

/// True if there is nothing to measure: no D, or no products. Sizes need not be valid.
constexpr bool has_nothing_to_measure(const Problem& p) { return p.m <= 0 || p.n <= 0 || p.k <= 0 || p.batch <= 0; }

/// `problem` with uniform groups as a batch: each of its products has the rows of a group. What is measured has uniform
/// groups; they have all rows but the remainder of the division. A problem without groups is returned as it is.
template <class AnyProblem>
constexpr AnyProblem with_uniform_groups(AnyProblem problem) {
  if (problem.groups == 0) return problem;
  problem.batch = problem.groups < problem.m ? problem.groups : problem.m;
  if (problem.batch > 0) problem.m /= problem.batch;
  problem.groups = 0;
  problem.group_kind = GroupKind::none;
  return problem;
}

/// The blocks of scales beside each other that `elements` have.
constexpr std::int64_t scale_blocks(std::int64_t elements) { return (elements + kScaleBlock - 1) / kScaleBlock; }

/// The operations of all products: 2mnk for each.
constexpr double flops(const Problem& p) {
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
         static_cast<double>(p.batch);
}

}  // namespace hotgemm
