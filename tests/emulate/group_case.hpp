#pragma once

#include "emulate/batch_case.hpp"
#include "emulate/gemm_case.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// A grouped product, and its groups as single cases. A group without rows has none.
struct Groups {
  GemmCase whole;
  GemmMatrices matrices;
  struct Group {
    std::size_t number;
    std::int64_t begin;
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

/// The same of a vector over all rows.
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

/// The matrices of a group. `b` and `scale_b` are its own.
inline GemmMatrices matrices_of(const GemmMatrices& all, const HostMatrix& b, const HostMatrix& scale_b,
                                const Epilogue& e, std::int64_t begin, std::int64_t rows) {
  GemmMatrices m = all;
  m.b = b;
  m.scale_b = scale_b;
  for (HostMatrix GemmMatrices::*member :
       {&GemmMatrices::a, &GemmMatrices::c, &GemmMatrices::d, &GemmMatrices::residual, &GemmMatrices::auxiliary}) {
    m.*member = rows_of(all.*member, begin, rows);
  }
  if (e.scale_a == Scaling::vector) m.scale_a = elements_of(all.scale_a, begin, rows);
  if (e.has_block_scales()) m.scale_a = columns_of(all.scale_a, begin, rows);
  if (e.bias == Bias::per_row) m.bias = elements_of(all.bias, begin, rows);
  return m;
}

/// `offsets` are those of the groups; m of `c` is their capacity.
inline Groups make_groups(GemmCase c, const std::vector<std::int32_t>& offsets) {
  const std::size_t count = offsets.size() - 1;
  c.problem.groups = 0;
  c.problem.group_kind = GroupKind::none;
  Groups all{.whole = c, .matrices = make_matrices(c), .groups = {}};
  std::vector<GemmMatrices> of_groups(count);
  const bool has_blocks = c.problem.epilogue.has_block_scales();
  GemmCase other = c;
  for (std::size_t i = 0; i < count; ++i) {
    other.data_seed = c.data_seed + 100 * i;
    of_groups[i] = make_matrices(other);
    if (!has_blocks) of_groups[i].scale_b = all.matrices.scale_b;
    const std::int64_t begin = offsets[i], rows = offsets[i + 1] - offsets[i];
    if (rows == 0) continue;
    GemmCase single = c;
    single.problem.m = rows;
    all.groups.push_back(
        {i, begin, single,
         matrices_of(all.matrices, of_groups[i].b, of_groups[i].scale_b, c.problem.epilogue, begin, rows)});
  }
  all.matrices.b = stacked(of_groups, &GemmMatrices::b, c.problem.types.b);
  if (has_blocks) all.matrices.scale_b = stacked(of_groups, &GemmMatrices::scale_b, DType::f32);
  HostMatrix& at = all.matrices.group_offsets;
  at = {.rows = 1,
        .cols = static_cast<std::int64_t>(count) + 1,
        .ld = static_cast<std::int64_t>(count) + 1,
        .element_bytes = 4};
  at.bytes.resize(offsets.size() * sizeof(std::int32_t));
  for (std::size_t i = 0; i < offsets.size(); ++i) at.set(DType::s32, 0, static_cast<std::int64_t>(i), offsets[i]);
  all.whole.problem.group_kind = GroupKind::rows;
  all.whole.problem.groups = static_cast<std::int64_t>(count);
  return all;
}

/// Describes the first error of a run's outputs; empty if there is none. Rows that no group has must be untouched.
inline std::string first_wrong(const Groups& all, const HostMatrix& d, const HostMatrix& auxiliary) {
  std::int64_t behind = 0;  // the last group
  for (const Groups::Group& group : all.groups) {
    const std::int64_t rows = group.single.problem.m;
    const GemmReference reference(group.single, group.matrices);
    std::string wrong = reference.first_inexact(rows_of(d, group.begin, rows));
    if (wrong.empty() && group.single.problem.epilogue.aux)
      wrong = reference.first_inexact_auxiliary(rows_of(auxiliary, group.begin, rows));
    if (!wrong.empty()) return "group " + std::to_string(group.number) + ": " + wrong;
    behind = group.begin + rows;
  }
  constexpr std::uint8_t kUnwritten = 0xff;  // bytes of the device's memory that nobody has written
  const bool has_values = all.whole.in_place || all.whole.residual_in_place;
  for (const HostMatrix* now : {&d, &auxiliary}) {
    for (auto i = static_cast<std::size_t>(behind * now->pitch_bytes()); i < now->bytes.size(); ++i) {
      const std::uint8_t before = has_values && now == &d ? all.matrices.d.bytes[i] : kUnwritten;
      const bool is_element = static_cast<std::int64_t>(i) % now->pitch_bytes() < now->row_bytes();
      if (is_element && now->bytes[i] != before) return "written behind row " + std::to_string(behind);
    }
  }
  return {};
}

}  // namespace hotgemm::emulate
