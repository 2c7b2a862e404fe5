#pragma once

#include "config/work.hpp"
#include "emulate/batch_case.hpp"
#include "emulate/gemm_case.hpp"
#include "emulate/gemm_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// A grouped product, and its groups as single cases. A group without rows has none.
struct Groups {
  GemmCase whole;
  GemmMatrices matrices;
  struct Group {
    std::size_t number;
    std::int64_t begin;  ///< its first row in D of the whole
    GemmCase single;
    GemmMatrices matrices;
  };
  std::vector<Group> groups;
};

/// Rows `begin` to `begin` + `rows` of a matrix. One without rows, which the case does not have, is returned as it is.
inline HostMatrix rows_of(const HostMatrix& all, std::int64_t begin, std::int64_t rows) {
  HostMatrix some = all;
  if (all.rows == 0) return some;
  some.rows = rows;
  some.bytes.assign(all.bytes.begin() + begin * all.pitch_bytes(),
                    all.bytes.begin() + (begin + rows) * all.pitch_bytes());
  return some;
}

/// Some elements of a vector over all rows.
inline HostMatrix elements_of(const HostMatrix& all, std::int64_t begin, std::int64_t count) {
  HostMatrix some = all;
  some.cols = some.ld = count;
  some.bytes.assign(all.bytes.begin() + begin * all.element_bytes,
                    all.bytes.begin() + (begin + count) * all.element_bytes);
  return some;
}

/// Columns `begin` to `begin` + `count`, whose rows are as far apart as before.
inline HostMatrix columns_of(const HostMatrix& all, std::int64_t begin, std::int64_t count) {
  HostMatrix some = all;
  if (all.rows == 0) return some;
  some.cols = count;
  some.bytes.erase(some.bytes.begin(), some.bytes.begin() + begin * all.element_bytes);
  return some;
}

/// Copies the operands of a function that are no matrices.
inline void copy_function_operands(const GemmMatrices& from, GemmMatrices& to, const Epilogue& e) {
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    if (e.function.operand(i) != FunctionOperand::matrix) to.function_operands[i] = from.function_operands[i];
  }
}

/// Calls use(vector) for each of the vectors over rows that `m` has.
template <class Use>
void for_each_row_vector(GemmMatrices& m, const Epilogue& e, const Use& use) {
  if (e.scale_a == Scaling::vector) use(m.scale_a);
  if (e.bias == Bias::per_row) use(m.bias);
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    if (e.function.operand(i) == FunctionOperand::row) use(m.function_operands[i]);
  }
}

/// The matrices of rows `begin` to `begin` + `rows` of D, with the B, its scales and the bias of `own`.
inline GemmMatrices matrices_of(const GemmMatrices& all, const GemmMatrices& own, const Epilogue& e, std::int64_t begin,
                                std::int64_t rows) {
  GemmMatrices m = all;
  m.b = own.b;
  m.scale_b = own.scale_b;
  if (e.bias == Bias::per_column) m.bias = own.bias;
  for (HostMatrix GemmMatrices::*member :
       {&GemmMatrices::a, &GemmMatrices::c, &GemmMatrices::d, &GemmMatrices::residual, &GemmMatrices::auxiliary}) {
    m.*member = rows_of(all.*member, begin, rows);
  }
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    if (e.function.operand(i) == FunctionOperand::matrix)
      m.function_operands[i] = rows_of(all.function_operands[i], begin, rows);
  }
  if (e.has_block_scales()) m.scale_a = columns_of(all.scale_a, begin, rows);
  for_each_row_vector(m, e, [&](HostMatrix& vector) { vector = elements_of(vector, begin, rows); });
  return m;
}

inline HostMatrix numbers_of(const std::vector<std::int32_t>& numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  HostMatrix all{.rows = 1, .cols = count, .ld = count, .element_bytes = 4};
  all.bytes.resize(numbers.size() * sizeof(std::int32_t));
  for (std::size_t i = 0; i < numbers.size(); ++i) all.set(DType::s32, 0, static_cast<std::int64_t>(i), numbers[i]);
  return all;
}

/// The case of one product, and for each of `count` groups its matrices as if it were that product.
inline std::vector<GemmMatrices> matrices_of_groups(GemmCase& c, std::size_t count) {
  c.problem.groups = 0;
  c.problem.group_kind = GroupKind::none;
  std::vector<GemmMatrices> of_groups;
  GemmCase other = c;
  for (std::size_t i = 0; i < count; ++i) {
    other.data_seed = c.data_seed + 100 * i;
    of_groups.push_back(make_matrices(other));
    // All groups share these.
    if (!c.problem.epilogue.has_block_scales()) of_groups.back().scale_b = of_groups.front().scale_b;
    of_groups.back().scalars = of_groups.front().scalars;
    copy_function_operands(of_groups.front(), of_groups.back(), c.problem.epilogue);
  }
  return of_groups;
}

inline Groups grouped(const GemmCase& c, GroupKind kind, std::size_t count, const GemmMatrices& matrices) {
  Groups all{.whole = c, .matrices = matrices, .groups = {}};
  all.whole.problem.group_kind = kind;
  all.whole.problem.groups = static_cast<std::int64_t>(count);
  return all;
}

/// Groups of rows. `offsets` are those of the groups; m of `c` is their capacity.
inline Groups make_groups(GemmCase c, const std::vector<std::int32_t>& offsets) {
  const std::size_t count = offsets.size() - 1;
  const std::vector<GemmMatrices> of_groups = matrices_of_groups(c, count);
  const Epilogue& e = c.problem.epilogue;
  Groups all = grouped(c, GroupKind::rows, count, make_matrices(c));
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t begin = offsets[i], rows = offsets[i + 1] - offsets[i];
    if (rows == 0) continue;
    GemmCase single = c;
    single.problem.m = rows;
    single.product = static_cast<std::int64_t>(i);
    all.groups.push_back({i, begin, single, matrices_of(all.matrices, of_groups[i], e, begin, rows)});
  }
  all.matrices.b = stacked(of_groups, &GemmMatrices::b, c.problem.types.b);
  if (e.has_block_scales()) all.matrices.scale_b = stacked(of_groups, &GemmMatrices::scale_b, DType::f32);
  if (e.bias == Bias::per_column) {
    all.matrices.bias = stacked(of_groups, &GemmMatrices::bias, bias_type(c.problem.types.d));
  }
  all.matrices.group_numbers = numbers_of(offsets);
  return all;
}

/// The matrices that groups have for themselves, behind each other.
inline void stack(GemmMatrices& all, const std::vector<GemmMatrices>& of_groups, const Problem& p) {
  all.c = stacked(of_groups, &GemmMatrices::c, p.types.c);
  all.d = stacked(of_groups, &GemmMatrices::d, p.types.d);
  if (p.epilogue.residual) all.residual = stacked(of_groups, &GemmMatrices::residual, p.types.d);
  if (p.epilogue.has_auxiliary())
    all.auxiliary = stacked(of_groups, &GemmMatrices::auxiliary, p.epilogue.bits ? DType::s8 : p.types.d);
  if (p.epilogue.bias != Bias::none) all.bias = stacked(of_groups, &GemmMatrices::bias, bias_type(p.types.d));
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    if (p.epilogue.function.operand(i) != FunctionOperand::matrix) continue;
    const auto operand = [i](const GemmMatrices& m) -> const HostMatrix& { return m.function_operands[i]; };
    all.function_operands[i] = stacked(of_groups, operand, p.types.d);
  }
}

/// Masked groups with room for m of `c` rows each, of which they have `counts`.
inline Groups make_masked(GemmCase c, const std::vector<std::int32_t>& counts) {
  const std::vector<GemmMatrices> of_groups = matrices_of_groups(c, counts.size());
  const Problem& p = c.problem;
  Groups all = grouped(c, GroupKind::masked_rows, counts.size(), of_groups.front());
  stack(all.matrices, of_groups, p);
  all.matrices.a = stacked(of_groups, &GemmMatrices::a, p.types.a);
  all.matrices.b = stacked(of_groups, &GemmMatrices::b, p.types.b);
  GemmCase of_all = c;  // its vectors have m elements for each group
  of_all.problem.m *= static_cast<std::int64_t>(counts.size());
  const GemmMatrices vectors = make_matrices(of_all);
  const bool has_blocks = p.epilogue.has_block_scales();
  all.matrices.scale_a = has_blocks ? stacked(of_groups, &GemmMatrices::scale_a, DType::f32) : vectors.scale_a;
  if (has_blocks) all.matrices.scale_b = stacked(of_groups, &GemmMatrices::scale_b, DType::f32);
  if (p.epilogue.bias == Bias::per_row) all.matrices.bias = vectors.bias;
  copy_function_operands(vectors, all.matrices, p.epilogue);
  all.matrices.group_numbers = numbers_of(counts);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t rows = std::clamp<std::int64_t>(counts[i], 0, p.m);
    if (rows == 0) continue;
    GemmCase single = c;
    single.problem.m = rows;
    single.product = static_cast<std::int64_t>(i);
    const auto begin = static_cast<std::int64_t>(i) * (p.m + 1);
    GemmMatrices own = of_groups[i];
    if (!has_blocks) own.scale_a = vectors.scale_a;
    if (p.epilogue.bias == Bias::per_row) own.bias = vectors.bias;
    copy_function_operands(vectors, own, p.epilogue);
    for_each_row_vector(own, p.epilogue, [&](HostMatrix& vector) {
      vector = elements_of(vector, static_cast<std::int64_t>(i) * p.m, p.m);
    });
    all.groups.push_back({i, begin, single, matrices_of(own, own, p.epilogue, 0, rows)});
  }
  return all;
}

/// Groups along k. `offsets` are those of the groups; k of `c` is their capacity.
inline Groups make_k_groups(GemmCase c, const std::vector<std::int32_t>& offsets) {
  const std::size_t count = offsets.size() - 1;
  const std::vector<GemmMatrices> of_groups = matrices_of_groups(c, count);
  Groups all = grouped(c, GroupKind::along_k, count, of_groups.front());
  stack(all.matrices, of_groups, c.problem);
  for (std::size_t i = 0; i < count; ++i) {
    GemmCase single = c;
    single.problem.k = offsets[i + 1] - offsets[i];
    single.product = static_cast<std::int64_t>(i);
    GemmMatrices m = of_groups[i];
    m.a = rows_of(all.matrices.a, offsets[i], single.problem.k);
    m.b = rows_of(all.matrices.b, offsets[i], single.problem.k);
    m.scale_a = all.matrices.scale_a;
    if (c.problem.epilogue.has_block_scales()) {  // of the blocks from that on in which the group begins
      const std::int64_t block = offsets[i] / kScaleBlock, blocks = scale_blocks(single.problem.k);
      m.scale_a = rows_of(all.matrices.scale_a, block, blocks);
      m.scale_b = columns_of(all.matrices.scale_b, block, blocks);
    }
    all.groups.push_back({i, static_cast<std::int64_t>(i) * (c.problem.m + 1), single, m});
  }
  all.matrices.group_numbers = numbers_of(offsets);
  return all;
}

/// True if an element is a negative zero.
inline bool has_negative_zero(const HostMatrix& matrix, DType type) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      const double value = matrix.get(type, row, col);
      if (value == 0 && std::signbit(value)) return true;
    }
  }
  return false;
}

/// Describes the first error of a run's outputs; empty if there is none. Rows that no group has must be untouched.
inline std::string first_wrong(const Groups& all, const GemmRun& run) {
  std::vector<bool> is_written(static_cast<std::size_t>(all.matrices.d.rows));
  double amax = 0;
  for (const Groups::Group& group : all.groups) {
    const std::int64_t rows = group.single.problem.m;
    const GemmReference reference(group.single, group.matrices);
    const HostMatrix d = rows_of(run.d, group.begin, rows);
    std::string wrong = reference.first_inexact(d);
    const Workload& p = group.single.problem;
    if (wrong.empty() && p.k == 0 && p.hints.beta_is_zero && p.epilogue == Epilogue{} &&
        has_negative_zero(d, p.types.d))
      wrong = "an empty sum is a negative zero";
    if (wrong.empty() && group.single.problem.epilogue.aux)
      wrong = reference.first_inexact_auxiliary(rows_of(run.auxiliary, group.begin, rows));
    if (!wrong.empty()) return "group " + std::to_string(group.number) + ": " + wrong;
    std::fill_n(is_written.begin() + group.begin, rows, true);
    if (group.single.problem.epilogue.amax) amax = std::max(amax, reference.amax());
  }
  if (static_cast<double>(run.amax) != amax) return "amax is " + std::to_string(run.amax);
  constexpr std::uint8_t kUnwritten = 0xff;  // bytes of the device's memory that nobody has written
  const bool has_values = all.whole.in_place || all.whole.residual_in_place;
  const bool has_bits = all.whole.problem.epilogue.bits;
  for (const HostMatrix* now : {&run.d, &run.auxiliary}) {
    for (std::size_t i = 0; i < now->bytes.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / now->pitch_bytes();
      const std::uint8_t before = has_bits && now == &run.auxiliary ? all.matrices.auxiliary.bytes[i]
                                  : has_values && now == &run.d     ? all.matrices.d.bytes[i]
                                                                    : kUnwritten;
      const bool is_element = static_cast<std::int64_t>(i) % now->pitch_bytes() < now->row_bytes();
      if (is_element && !is_written[static_cast<std::size_t>(row)] && now->bytes[i] != before)
        return "row " + std::to_string(row) + ", which no group has, is written";
    }
  }
  return {};
}

}  // namespace hotgemm::emulate
