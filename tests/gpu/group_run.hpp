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

/// A call for groups. Rows are as long as `multiple` elements need.
struct GroupCase {
  Problem problem;
  std::vector<std::int32_t> numbers;  ///< the offsets of groups, or the counts of masked ones
  std::int64_t multiple = 8;
  float alpha = 1, beta = 0;
  bool in_place = false;  ///< D is C

  bool divides_rows() const { return problem.group_kind == GroupKind::rows; }
  bool masked() const { return problem.group_kind == GroupKind::masked_rows; }
  bool along_k() const { return problem.group_kind == GroupKind::along_k; }

  std::string text() const {
    std::string all = to_string(problem) + ", rows of multiples of " + std::to_string(multiple) + ", beta " +
                      std::to_string(beta) + (in_place ? ", in place" : "") + (masked() ? ", counts" : ", offsets");
    for (const std::int32_t number : numbers) all += " " + std::to_string(number);
    return all;
  }
};

/// Offsets of groups whose sizes are drawn: many are empty, some are large. The last may end in front of `all`.
inline std::vector<std::int32_t> drawn_offsets(std::int64_t groups, std::int64_t all, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> offsets{0};
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random()) % end; };
  const std::int64_t mean = std::max<std::int64_t>(all / groups, 1);
  for (std::int64_t i = 0; i < groups; ++i) {
    const std::int64_t kind = below(4), size = kind == 0 ? 0 : below(kind == 1 ? 4 * mean + 1 : mean + 1);
    offsets.push_back(static_cast<std::int32_t>(std::min(offsets.back() + size, all)));
  }
  return offsets;
}

/// The numbers of such groups of a problem. Some masked ones are full, and some are said to have more rows than fit.
inline std::vector<std::int32_t> drawn_numbers(const Problem& p, unsigned seed) {
  if (p.group_kind == GroupKind::rows) return drawn_offsets(p.groups, p.m, seed);
  if (p.group_kind == GroupKind::along_k) return drawn_offsets(p.groups, p.k, seed);
  std::mt19937 random(seed);
  std::vector<std::int32_t> counts;
  for (std::int64_t i = 0; i < p.groups; ++i) {
    const auto drawn = static_cast<std::int32_t>(static_cast<std::int64_t>(random()) % (p.m + 1));
    const auto m = static_cast<std::int32_t>(p.m);
    counts.push_back(random() % 4 == 0 ? 0 : random() % 8 == 0 ? m : random() % 8 == 0 ? m + 7 : drawn);
  }
  return counts;
}

/// Operands of groups in device memory, with integer data.
class GroupRun {
 public:
  GroupRun(const Driver& driver, const GroupCase& c, CUstream stream)
      : driver_(driver),
        case_(c),
        stream_(stream),
        a_(driver, c, c.problem.types.a, c.divides_rows() || c.along_k() ? 1 : c.problem.groups,
           c.problem.op_a == Op::n ? c.problem.m : c.problem.k, c.problem.op_a == Op::n ? c.problem.k : c.problem.m),
        b_(driver, c, c.problem.types.b, c.along_k() ? 1 : c.problem.groups,
           c.problem.op_b == Op::n ? c.problem.k : c.problem.n, c.problem.op_b == Op::n ? c.problem.n : c.problem.k),
        c_(driver, c, c.problem.types.c, products_of_d(), c.problem.m, c.problem.n),
        d_(driver, c, c.problem.types.d, products_of_d(), c.problem.m, c.problem.n),
        alone_(driver, c, c.problem.types.d, products_of_d(), c.problem.m, c.problem.n),
        residual_(driver, c, c.problem.types.d, products_of_d(), c.problem.m, c.problem.n),
        bias_(driver, bias_type(c.problem.types.d), 1, biases(), biases(), 0, GuardedMatrix::Filling::nan),
        amax_(driver, DType::f32, 1, 2, 2, 0, GuardedMatrix::Filling::nan),
        scale_a_(driver, DType::f32, std::max<std::int64_t>(scale_blocks(c.problem.k) * scaled_a(c.problem), 1),
                 c.problem.m, c.problem.m + 3, 1, GuardedMatrix::Filling::nan),
        scale_b_(driver, DType::f32, scale_blocks(c.problem.n) * c.problem.groups,
                 std::max<std::int64_t>(scale_blocks(c.problem.k), 1), ld_scale_b(), 1, GuardedMatrix::Filling::nan),
        numbers_(driver, c.numbers.size() * sizeof(std::int32_t)) {
    std::mt19937 random(7);
    const auto value = [&](auto, auto) { return static_cast<float>(static_cast<int>(random() % 5) - 2); };
    for (Rows* rows : {&a_, &b_, &c_, &residual_}) rows->memory.fill(value);
    bias_.fill(value);
    amax_.fill([](auto, auto) { return 0.0f; });
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

  /// Brings all operands into memory, with the numbers of the case.
  void upload() {
    for (const Rows* rows : {&a_, &b_, &c_, &d_, &alone_, &residual_}) rows->memory.upload(stream_);
    for (const GuardedMatrix* vectors : {&bias_, &amax_, &scale_a_, &scale_b_}) vectors->upload(stream_);
    set_numbers(case_.numbers);
  }

  /// Changes the offsets or counts in device memory, where a launch reads them.
  void set_numbers(const std::vector<std::int32_t>& numbers) {
    case_.numbers = numbers;
    driver_.check(driver_.cuMemcpyHtoDAsync(numbers_.get(), case_.numbers.data(),
                                            case_.numbers.size() * sizeof(std::int32_t), stream_),
                  "upload the sizes of groups");
    driver_.check(driver_.cuStreamSynchronize(stream_), "upload the sizes of groups");
  }

  /// The difference between D as it is and a call for each group.
  std::string difference_from(Context& context) {
    for (std::int64_t group = 0; group < case_.problem.groups; ++group) {
      const Part part = part_of(group);
      Problem one = case_.problem;
      (case_.along_k() ? one.k : one.m) = part.size;
      one.groups = 0;
      one.group_kind = GroupKind::none;
      if (one.m > 0) context.gemm(stream_, one, operands_of(part));
    }
    const std::string difference = d_.memory.difference(alone_.memory, stream_);
    if (!difference.empty()) return difference;
    for (const Rows* rows : {&a_, &b_, &c_, &residual_}) {
      const std::string change = rows->memory.change(rows->memory.download(stream_));
      if (!change.empty()) return "an operand was written: " + change;
    }
    if (!case_.problem.epilogue.amax) return {};
    float amax[2];
    driver_.check(driver_.cuMemcpyDtoH(amax, reinterpret_cast<CUdeviceptr>(amax_.device()), sizeof amax), "read amax");
    return amax[0] == amax[1] ? "" : "amax is " + std::to_string(amax[0]) + ", not " + std::to_string(amax[1]);
  }

  Operands operands() const {
    Operands all = operands(d_, 0);
    const auto* const numbers = reinterpret_cast<const std::int32_t*>(numbers_.get());
    (case_.masked() ? all.group_counts : all.group_offsets) = numbers;
    if (!case_.along_k()) all.batch_stride_b = b_.stride;
    if (case_.masked()) all.batch_stride_a = a_.stride;
    if (has_biases()) all.batch_stride_bias = stride_bias();
    if (case_.divides_rows()) return all;
    all.batch_stride_c = (case_.in_place ? d_ : c_).stride;
    all.batch_stride_d = d_.stride;
    if (all.residual != nullptr) all.batch_stride_residual = residual_.stride;
    return all;
  }

 private:
  /// The rows of one operand, of all groups. Matrices lie behind each other, with an unused row between them.
  struct Rows {
    std::int64_t ld;
    std::int64_t stride;
    GuardedMatrix memory;

    Rows(const Driver& driver, const GroupCase& c, DType type, std::int64_t matrices, std::int64_t rows,
         std::int64_t cols)
        : ld(std::max((cols + c.multiple - 1) / c.multiple, std::int64_t{1}) * c.multiple),
          stride((rows + 1) * ld),
          memory(driver, type, matrices * (rows + 1) - 1, cols, ld, 0, GuardedMatrix::Filling::noise) {}
    std::byte* device() const { return static_cast<std::byte*>(memory.device()); }
  };
  /// A group: its number, and where its rows, or its k, begin.
  struct Part {
    std::int64_t number;
    std::int64_t begin;
    std::int64_t size;
  };
  Part part_of(std::int64_t group) const {
    const std::int64_t number = case_.numbers[static_cast<std::size_t>(group)];
    if (case_.masked()) return {group, 0, std::clamp<std::int64_t>(number, 0, case_.problem.m)};
    return {group, number, case_.numbers[static_cast<std::size_t>(group) + 1] - number};
  }

  std::int64_t products_of_d() const { return case_.divides_rows() ? 1 : case_.problem.groups; }
  /// True if each group has a bias of its own: every second case.
  bool has_biases() const {
    const Bias bias = case_.problem.epilogue.bias;
    return case_.multiple > 1 && (bias == Bias::per_column || (bias == Bias::per_row && case_.along_k()));
  }
  std::int64_t stride_bias() const {
    return (case_.problem.epilogue.bias == Bias::per_row ? case_.problem.m : case_.problem.n) + 3;
  }
  std::int64_t biases() const {
    return std::max(std::max(case_.problem.m, case_.problem.n) + 3, std::int64_t{1}) * case_.problem.groups;
  }
  std::int64_t ld_scale_b() const { return scale_blocks(case_.problem.k) + 2; }

  Operands operands(const Rows& d, int amax) const {
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
    if (e.has_clamp()) all.clamp_low = -9, all.clamp_high = 12;
    if (e.amax) all.amax = static_cast<float*>(amax_.device()) + amax;
    return all;
  }

  /// The operands of one group.
  Operands operands_of(const Part& part) const {
    const Types& types = case_.problem.types;
    Operands o = operands(alone_, 1);
    const auto move = [&](auto*& matrix, std::int64_t elements, DType type) {
      if (matrix == nullptr) return;
      auto* const bytes = static_cast<const std::byte*>(matrix) + elements * size_bytes(type);
      matrix = const_cast<std::byte*>(bytes);
    };
    move(o.a, case_.masked() ? part.number * a_.stride : part.begin * a_.ld, types.a);
    move(o.b, case_.along_k() ? part.begin * b_.ld : part.number * b_.stride, types.b);
    const auto move_d = [&](auto*& matrix, const Rows& rows) {
      move(matrix, case_.divides_rows() ? part.begin * rows.ld : part.number * rows.stride, types.d);
    };
    move_d(o.c, case_.in_place ? alone_ : c_);
    move_d(o.d, alone_);
    move_d(o.residual, residual_);
    const std::int64_t first_row = case_.masked() ? part.number * case_.problem.m : part.begin;
    if (has_biases()) {
      move(o.bias, part.number * stride_bias(), bias_type(types.d));
    } else if (case_.problem.epilogue.bias == Bias::per_row && !case_.along_k()) {
      move(o.bias, first_row, bias_type(types.d));
    }
    if (case_.problem.epilogue.has_block_scales()) {
      const std::int64_t block = part.begin / kScaleBlock;  // of k
      o.scale_a += case_.masked()    ? part.number * scale_blocks(case_.problem.k) * o.ld_scale_a
                   : case_.along_k() ? block * o.ld_scale_a
                                     : first_row;
      o.scale_b += case_.along_k() ? block : part.number * scale_blocks(case_.problem.n) * o.ld_scale_b;
    }
    return o;
  }

  const Driver& driver_;
  GroupCase case_;
  CUstream stream_;
  Rows a_, b_, c_, d_, alone_, residual_;
  GuardedMatrix bias_, amax_, scale_a_, scale_b_;
  DeviceBuffer numbers_;
};

}  // namespace hotgemm
