#pragma once

#include "config/work.hpp"
#include "gpu/guarded_matrix.hpp"

#include <hotgemm/context.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hotgemm {

/// A call for groups of rows. Rows are as long as `multiple` elements need.
struct GroupCase {
  Problem problem;
  std::vector<std::int32_t> offsets;
  std::int64_t multiple = 8;
  float alpha = 1, beta = 0;
  bool in_place = false;  ///< D is C

  std::string text() const {
    std::string all = to_string(problem) + ", rows of multiples of " + std::to_string(multiple) + ", beta " +
                      std::to_string(beta) + (in_place ? ", in place" : "") + ", offsets";
    for (const std::int32_t offset : offsets) all += " " + std::to_string(offset);
    return all;
  }
};

/// Offsets of groups whose sizes are drawn: many are empty, some have many rows. The last may end in front of row `m`.
inline std::vector<std::int32_t> drawn_offsets(std::int64_t groups, std::int64_t m, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> offsets{0};
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random()) % end; };
  const std::int64_t mean = std::max<std::int64_t>(m / groups, 1);
  for (std::int64_t i = 0; i < groups; ++i) {
    const std::int64_t kind = below(4), rows = kind == 0 ? 0 : below(kind == 1 ? 4 * mean + 1 : mean + 1);
    offsets.push_back(static_cast<std::int32_t>(std::min(offsets.back() + rows, m)));
  }
  return offsets;
}

/// Operands of groups in device memory, with integer data.
class GroupRun {
 public:
  GroupRun(const Driver& driver, const GroupCase& c, CUstream stream)
      : driver_(driver),
        case_(c),
        stream_(stream),
        b_rows_(c.problem.op_b == Op::n ? c.problem.k : c.problem.n),
        a_(driver, c, c.problem.types.a, c.problem.m, c.problem.k),
        b_(driver, c, c.problem.types.b, c.problem.groups * (b_rows_ + 1),
           c.problem.op_b == Op::n ? c.problem.n : c.problem.k),
        c_(driver, c, c.problem.types.c, c.problem.m, c.problem.n),
        d_(driver, c, c.problem.types.d, c.problem.m, c.problem.n),
        alone_(driver, c, c.problem.types.d, c.problem.m, c.problem.n),
        residual_(driver, c, c.problem.types.d, c.problem.m, c.problem.n),
        bias_(driver, bias_type(c.problem.types.d), 1, std::max(c.problem.m, c.problem.n),
              std::max(c.problem.m, c.problem.n), 0, GuardedMatrix::Filling::nan),
        scale_a_(driver, DType::f32, std::max<std::int64_t>(scale_blocks(c.problem.k), 1), c.problem.m, c.problem.m + 3,
                 1, GuardedMatrix::Filling::nan),
        scale_b_(driver, DType::f32, scale_blocks(c.problem.n) * c.problem.groups,
                 std::max<std::int64_t>(scale_blocks(c.problem.k), 1), ld_scale_b(), 1, GuardedMatrix::Filling::nan),
        offsets_(driver, c.offsets.size() * sizeof(std::int32_t)) {
    std::mt19937 random(7);
    const auto value = [&](auto, auto) { return static_cast<float>(static_cast<int>(random() % 5) - 2); };
    for (Rows* rows : {&a_, &b_, &c_, &residual_}) rows->memory.fill(value);
    bias_.fill(value);
    for (GuardedMatrix* scales : {&scale_a_, &scale_b_})
      scales->fill(
          [&](auto, auto) { return std::ldexp(random() % 2 == 0 ? 1.0f : -1.0f, static_cast<int>(random() % 3)); });
    std::mt19937 first(3), second(3);  // the same in both: C, or what a kernel must leave alone
    d_.memory.fill([&](auto, auto) { return static_cast<float>(first() % 5); });
    alone_.memory.fill([&](auto, auto) { return static_cast<float>(second() % 5); });
  }

  /// The difference between one call for all groups and a call for each group. Empty if all bytes are equal, between
  /// and around the rows too, and nothing else was written.
  std::string difference(Context& context) {
    upload();
    context.gemm(stream_, case_.problem, operands());
    return difference_from(context);
  }

  /// Brings all operands into memory, with the offsets of the case.
  void upload() {
    for (const Rows* rows : {&a_, &b_, &c_, &d_, &alone_, &residual_}) rows->memory.upload(stream_);
    for (const GuardedMatrix* vectors : {&bias_, &scale_a_, &scale_b_}) vectors->upload(stream_);
    set_offsets(case_.offsets);
  }

  /// Changes the offsets in device memory, where a launch reads them.
  void set_offsets(const std::vector<std::int32_t>& offsets) {
    case_.offsets = offsets;
    driver_.check(driver_.cuMemcpyHtoDAsync(offsets_.get(), case_.offsets.data(),
                                            case_.offsets.size() * sizeof(std::int32_t), stream_),
                  "upload the offsets of groups");
    driver_.check(driver_.cuStreamSynchronize(stream_), "upload the offsets of groups");
  }

  /// The difference between D as it is and a call for each group.
  std::string difference_from(Context& context) {
    for (std::size_t group = 0; group + 1 < case_.offsets.size(); ++group) {
      const std::int64_t begin = case_.offsets[group], rows = case_.offsets[group + 1] - begin;
      if (rows == 0) continue;
      Problem one = case_.problem;
      one.m = rows;
      one.groups = 0;
      one.group_kind = GroupKind::none;
      context.gemm(stream_, one, operands_of(group, begin));
    }
    const std::string difference = d_.memory.difference(alone_.memory, stream_);
    if (!difference.empty()) return difference;
    for (const Rows* rows : {&a_, &b_, &c_, &residual_}) {
      const std::string change = rows->memory.change(rows->memory.download(stream_));
      if (!change.empty()) return "an operand was written: " + change;
    }
    return {};
  }

  Operands operands() const {
    Operands all = operands(d_);
    all.group_offsets = reinterpret_cast<const std::int32_t*>(offsets_.get());
    all.batch_stride_b = stride_b();
    return all;
  }

 private:
  /// The rows of one operand, of all groups.
  struct Rows {
    std::int64_t ld;
    GuardedMatrix memory;

    Rows(const Driver& driver, const GroupCase& c, DType type, std::int64_t rows, std::int64_t cols)
        : ld(std::max((cols + c.multiple - 1) / c.multiple, std::int64_t{1}) * c.multiple),
          memory(driver, type, rows, cols, ld, 0, GuardedMatrix::Filling::noise) {}
    std::byte* device() const { return static_cast<std::byte*>(memory.device()); }
  };

  std::int64_t stride_b() const { return (b_rows_ + 1) * b_.ld; }
  std::int64_t ld_scale_b() const { return scale_blocks(case_.problem.k) + 2; }

  Operands operands(const Rows& d) const {
    const Rows& c = case_.in_place ? d : c_;
    Operands all{.a = a_.device(),
                 .b = b_.device(),
                 .c = c.device(),
                 .d = d.device(),
                 .lda = a_.ld,
                 .ldb = b_.ld,
                 .ldc = c.ld,
                 .ldd = d.ld,
                 .alpha = case_.alpha,
                 .beta = case_.beta};
    const Epilogue& e = case_.problem.epilogue;
    if (e.bias != Bias::none) all.bias = bias_.device();
    if (e.has_block_scales()) {
      all.scale_a = static_cast<const float*>(scale_a_.device());
      all.scale_b = static_cast<const float*>(scale_b_.device());
      all.ld_scale_a = case_.problem.m + 3;
      all.ld_scale_b = ld_scale_b();
    }
    if (e.residual) {
      all.residual = residual_.device();
      all.ld_residual = residual_.ld;
    }
    return all;
  }

  /// The operands of one group, which begins at row `begin`.
  Operands operands_of(std::size_t group, std::int64_t begin) const {
    const Types& types = case_.problem.types;
    Operands o = operands(alone_);
    const auto at = [&](const void* matrix, std::int64_t elements, DType type) {
      return matrix == nullptr ? nullptr : static_cast<const std::byte*>(matrix) + elements * size_bytes(type);
    };
    o.a = at(o.a, begin * o.lda, types.a);
    o.b = at(o.b, static_cast<std::int64_t>(group) * stride_b(), types.b);
    o.c = at(o.c, begin * o.ldc, types.c);
    o.d = const_cast<std::byte*>(at(o.d, begin * o.ldd, types.d));
    o.residual = at(o.residual, begin * o.ld_residual, types.d);
    if (case_.problem.epilogue.has_block_scales()) {
      o.scale_a += begin;
      o.scale_b += static_cast<std::int64_t>(group) * scale_blocks(case_.problem.n) * o.ld_scale_b;
    }
    if (case_.problem.epilogue.bias == Bias::per_row) o.bias = at(o.bias, begin, bias_type(types.d));
    return o;
  }

  const Driver& driver_;
  GroupCase case_;
  CUstream stream_;
  std::int64_t b_rows_;
  Rows a_, b_, c_, d_, alone_, residual_;
  GuardedMatrix bias_, scale_a_, scale_b_;
  DeviceBuffer offsets_;
};

}  // namespace hotgemm
