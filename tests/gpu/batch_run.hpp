#pragma once

#include "gpu/guarded_matrix.hpp"

#include <hotgemm/context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace hotgemm {

/// A call for a batch. Rows are as long as `multiple` elements need.
struct BatchCase {
  Problem problem;
  std::int64_t multiple = 8;
  float alpha = 1, beta = 0;
  bool beside = false;  ///< matrices lie side by side in rows of all products; otherwise behind each other, with a gap
  bool shares_a = false, shares_b = false;  ///< all products have the same matrix
  bool in_place = false;                    ///< D is C

  std::string text() const {
    return to_string(problem) + ", rows of multiples of " + std::to_string(multiple) + ", alpha " +
           std::to_string(alpha) + ", beta " + std::to_string(beta) + (beside ? ", side by side" : "") +
           (shares_a ? ", one A" : "") + (shares_b ? ", one B" : "") + (in_place ? ", in place" : "");
  }
};

/// Operands of a batch in device memory, with integer data.
class BatchRun {
 public:
  BatchRun(const Driver& driver, const BatchCase& c, CUstream stream)
      : case_(c),
        stream_(stream),
        a_(driver, c, c.problem.types.a, c.problem.op_a == Op::n, c.problem.m, c.problem.k, c.shares_a),
        b_(driver, c, c.problem.types.b, c.problem.op_b == Op::n, c.problem.k, c.problem.n, c.shares_b),
        c_(driver, c, c.problem.types.c, true, c.problem.m, c.problem.n, false),
        d_(driver, c, c.problem.types.d, true, c.problem.m, c.problem.n, false),
        alone_(driver, c, c.problem.types.d, true, c.problem.m, c.problem.n, false),
        residual_(driver, c, c.problem.types.d, true, c.problem.m, c.problem.n, false),
        bias_(driver, bias_type(c.problem.types.d), 1, c.problem.n, c.problem.n, 0, GuardedMatrix::Filling::nan) {
    std::mt19937 random(7);
    const auto value = [&](auto, auto) { return static_cast<float>(static_cast<int>(random() % 5) - 2); };
    for (Stack* stack : {&a_, &b_, &c_, &residual_}) stack->memory.fill(value);
    bias_.fill(value);
    if (!c.in_place) return;
    std::mt19937 first(3), second(3);  // the same C in both
    d_.memory.fill([&](auto, auto) { return static_cast<float>(first() % 5); });
    alone_.memory.fill([&](auto, auto) { return static_cast<float>(second() % 5); });
  }

  /// The difference between one call for the batch and a call for each product. Empty if all bytes are equal, around
  /// the matrices too, and nothing else was written.
  std::string difference(Context& context) {
    for (const Stack* stack : {&a_, &b_, &c_, &d_, &alone_, &residual_}) stack->memory.upload(stream_);
    bias_.upload(stream_);
    context.gemm(stream_, case_.problem, operands(d_));
    Problem one = case_.problem;
    one.batch = 1;
    for (std::int64_t product = 0; product < case_.problem.batch; ++product)
      context.gemm(stream_, one, moved(operands(alone_), product));
    const std::string difference = d_.memory.difference(alone_.memory, stream_);
    if (!difference.empty()) return difference;
    for (const Stack* stack : {&a_, &b_, &c_, &residual_}) {
      const std::string change = stack->memory.change(stack->memory.download(stream_));
      if (!change.empty()) return "an operand was written: " + change;
    }
    return {};
  }

  Operands operands() const { return operands(d_); }

 private:
  /// The matrices of one operand.
  struct Stack {
    std::int64_t ld, stride;
    GuardedMatrix memory;

    Stack(const Driver& driver, const BatchCase& c, DType type, bool as_is, std::int64_t rows, std::int64_t cols,
          bool is_shared)
        : Stack(driver, c, type, as_is ? rows : cols, as_is ? cols : rows, is_shared ? 1 : c.problem.batch) {}

    std::byte* device() const { return static_cast<std::byte*>(memory.device()); }

   private:
    Stack(const Driver& driver, const BatchCase& c, DType type, std::int64_t rows, std::int64_t cols,
          std::int64_t count)
        : ld(round_up(c.beside ? count * cols : cols, c.multiple)),
          stride(count == 1 ? 0
                 : c.beside ? cols
                            : (rows + 1) * ld),
          memory(driver, type, c.beside ? rows : count * (rows + 1) - 1, c.beside ? count * cols : cols, ld, 0,
                 GuardedMatrix::Filling::noise) {}
    static std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
      return std::max((value + multiple - 1) / multiple, std::int64_t{1}) * multiple;
    }
  };

  Operands operands(const Stack& d) const {
    const Stack& c = case_.in_place ? d : c_;
    Operands all{.a = a_.device(),
                 .b = b_.device(),
                 .c = c.device(),
                 .d = d.device(),
                 .lda = a_.ld,
                 .ldb = b_.ld,
                 .ldc = c.ld,
                 .ldd = d.ld,
                 .alpha = case_.alpha,
                 .beta = case_.beta,
                 .batch_stride_a = a_.stride,
                 .batch_stride_b = b_.stride,
                 .batch_stride_c = c.stride,
                 .batch_stride_d = d.stride};
    const Epilogue& e = case_.problem.epilogue;
    if (e.bias != Bias::none) all.bias = bias_.device();
    if (e.residual) {
      all.residual = residual_.device();
      all.ld_residual = residual_.ld;
      all.batch_stride_residual = residual_.stride;
    }
    return all;
  }

  /// The operands of one product.
  Operands moved(Operands o, std::int64_t product) const {
    const Types& types = case_.problem.types;
    const auto at = [&](const void* matrix, std::int64_t stride, DType type) {
      return matrix == nullptr ? nullptr : static_cast<const std::byte*>(matrix) + product * stride * size_bytes(type);
    };
    o.a = at(o.a, o.batch_stride_a, types.a);
    o.b = at(o.b, o.batch_stride_b, types.b);
    o.c = at(o.c, o.batch_stride_c, types.c);
    o.d = const_cast<std::byte*>(at(o.d, o.batch_stride_d, types.d));
    o.residual = at(o.residual, o.batch_stride_residual, types.d);
    return o;
  }

  BatchCase case_;
  CUstream stream_;
  Stack a_, b_, c_, d_, alone_, residual_;
  GuardedMatrix bias_;
};

}  // namespace hotgemm
