#pragma once

#include <hotgemm/problem.hpp>

namespace hotgemm {

/// The columns of D. With a gate they are half those of the product.
constexpr std::int64_t columns_of_d(const Problem& p) { return p.epilogue.columns_of_d(p.n); }

/// True if D has no elements, so that there is nothing to do.
constexpr bool is_empty(const Problem& p) { return p.m == 0 || p.n == 0 || p.batch == 0; }

/// True if a call computes one product, whose matrices it names.
constexpr bool is_one_product(const Problem& p) {
  return p.batch == 1 && p.groups == 0 && p.batch_kind == BatchKind::strided;
}

/// True if there is nothing to measure: no D, or no products. Sizes need not be valid.
constexpr bool has_nothing_to_measure(const Problem& p) { return p.m <= 0 || p.n <= 0 || p.k <= 0 || p.batch <= 0; }

/// `problem` with uniform groups as a batch: each of its products has the rows, or the k, of a group. They have all but
/// the remainder of the division, and masked ones are full. A problem without groups is returned as it is.
template <class AnyProblem>
constexpr AnyProblem with_uniform_groups(AnyProblem problem) {
  if (problem.groups == 0) return problem;
  problem.batch = problem.groups;
  if (problem.group_kind != GroupKind::masked_rows) {
    auto& divided = problem.group_kind == GroupKind::along_k ? problem.k : problem.m;
    if (divided < problem.batch) problem.batch = divided;
    if (problem.batch > 0) divided /= problem.batch;
  }
  problem.groups = 0;
  problem.group_kind = GroupKind::none;
  return problem;
}

/// The elements that a vector over rows has.
constexpr std::int64_t all_rows(const Problem& p) {
  return p.group_kind == GroupKind::masked_rows ? p.groups * p.m : p.m;
}

/// The blocks of scales beside each other that `elements` have.
constexpr std::int64_t scale_blocks(std::int64_t elements) { return (elements + kScaleBlock - 1) / kScaleBlock; }

/// The matrices B, or A, of a call whose blocks have scales: those of a product each, but where groups divide one.
constexpr std::int64_t scaled_b(const Problem& p) {
  return p.group_kind == GroupKind::along_k ? 1 : p.groups != 0 ? p.groups : p.batch;
}
constexpr std::int64_t scaled_a(const Problem& p) { return p.group_kind == GroupKind::rows ? 1 : scaled_b(p); }

/// The operations of all products: 2mnk for each. Groups divide one product; masked ones are full.
constexpr double flops(const Problem& p) {
  return 2.0 * static_cast<double>(all_rows(p)) * static_cast<double>(p.n) * static_cast<double>(p.k) *
         static_cast<double>(p.batch);
}

}  // namespace hotgemm
