#pragma once

#include "config/work.hpp"
#include "gpu/guarded_matrix.hpp"

#include <hotgemm/context.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// A call for a batch, strided or by pointers. Rows are as long as `multiple` elements need.
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
        bias_(driver, bias_type(c.problem.types.d), 1, c.problem.n, c.problem.n, 0, GuardedMatrix::Filling::nan),
        scale_a_(scales(driver, c, scale_blocks(c.problem.k) * c.problem.batch, c.problem.m)),
        scale_b_(scales(driver, c, scale_blocks(c.problem.n) * c.problem.batch, scale_blocks(c.problem.k))),
        driver_(driver),
        arrays_(driver, static_cast<std::size_t>(4 * std::max<std::int64_t>(c.problem.batch, 1)) * sizeof(void*)) {
    std::mt19937 random(7);
    const auto value = [&](auto, auto) { return static_cast<float>(static_cast<int>(random() % 5) - 2); };
    for (Stack* stack : {&a_, &b_, &c_, &residual_}) stack->memory.fill(value);
    bias_.fill(value);
    for (GuardedMatrix* scales : {&scale_a_, &scale_b_})
      scales->fill(
          [&](auto, auto) { return std::ldexp(random() % 2 == 0 ? 1.0f : -1.0f, static_cast<int>(random() % 3)); });
    if (!c.in_place) return;
    std::mt19937 first(3), second(3);  // the same C in both
    d_.memory.fill([&](auto, auto) { return static_cast<float>(first() % 5); });
    alone_.memory.fill([&](auto, auto) { return static_cast<float>(second() % 5); });
  }

  /// The difference between one call for the batch and a call for each product. Empty if all bytes are equal, around
  /// the matrices too, and nothing else was written.
  std::string difference(Context& context) {
    upload(has_pointers() ? 1 : 0);
    context.gemm(stream_, case_.problem, operands());
    return difference_from(context);
  }

  /// Makes the operands as they were. In a batch by pointers, product i has the A with number i + `turn`.
  void upload(std::int64_t turn) {
    turn_ = turn;
    for (const Stack* stack : {&a_, &b_, &c_, &d_, &alone_, &residual_}) stack->memory.upload(stream_);
    for (const GuardedMatrix* vectors : {&bias_, &scale_a_, &scale_b_}) vectors->upload(stream_);
    if (has_pointers()) fill_arrays();
  }

  /// The difference between what a call has left and a call for each product.
  std::string difference_from(Context& context) {
    Problem one = case_.problem;
    one.batch = 1;
    one.batch_kind = BatchKind::strided;
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

  Operands operands() const { return has_pointers() ? by_pointers(operands(d_)) : operands(d_); }

 private:
  bool has_pointers() const { return case_.problem.batch_kind == BatchKind::pointers; }
  std::int64_t number_of_a(std::int64_t product) const { return (product + turn_) % case_.problem.batch; }

  /// Scales of blocks, if the problem has them: `rows` of `cols` numbers.
  static GuardedMatrix scales(const Driver& driver, const BatchCase& c, std::int64_t rows, std::int64_t cols) {
    const auto some = [&](std::int64_t count) {
      return c.problem.epilogue.has_block_scales() ? std::max<std::int64_t>(count, 1) : 1;
    };
    return {driver, DType::f32, some(rows), some(cols), some(cols) + kMoreOfScales, 1, GuardedMatrix::Filling::nan};
  }

  static const void* at(const void* matrix, std::int64_t elements, DType type) {
    return matrix == nullptr ? nullptr : static_cast<const std::byte*>(matrix) + elements * size_bytes(type);
  }

  void fill_arrays() {
    const Operands o = operands(d_);
    const Types& types = case_.problem.types;
    std::vector<const void*> addresses;
    const auto add = [&](const void* matrix, std::int64_t stride, DType type, bool turns) {
      for (std::int64_t i = 0; i < case_.problem.batch; ++i)
        addresses.push_back(at(matrix, (turns ? number_of_a(i) : i) * stride, type));
    };
    add(o.a, o.batch_stride_a, types.a, true);
    add(o.b, o.batch_stride_b, types.b, false);
    add(o.c, o.batch_stride_c, types.c, false);
    add(o.d, o.batch_stride_d, types.d, false);
    driver_.check(driver_.cuMemcpyHtoDAsync(arrays_.get(), addresses.data(), addresses.size() * sizeof(void*), stream_),
                  "upload addresses");
    driver_.check(driver_.cuStreamSynchronize(stream_), "upload addresses");
  }

  /// The matrices by the arrays, with the best promises that hold.
  Operands by_pointers(Operands o) const {
    const Types& types = case_.problem.types;
    const auto array = [&](std::int64_t number) {
      return reinterpret_cast<void**>(arrays_.get()) + number * case_.problem.batch;
    };
    const auto promise = [&](const void*& matrix, std::int64_t& stride, DType type) {
      const auto bits = reinterpret_cast<std::uintptr_t>(std::exchange(matrix, nullptr)) |
                        static_cast<std::uintptr_t>(std::exchange(stride, 0) * size_bytes(type));
      return static_cast<std::int16_t>(1 << std::countr_zero(bits | 16));
    };
    o.batch_a = array(0), o.batch_b = array(1), o.batch_c = array(2), o.batch_d = array(3);
    o.batch_align_a = promise(o.a, o.batch_stride_a, types.a);
    o.batch_align_b = promise(o.b, o.batch_stride_b, types.b);
    o.batch_align_c = promise(o.c, o.batch_stride_c, types.c);
    const void* d = std::exchange(o.d, nullptr);
    o.batch_align_d = promise(d, o.batch_stride_d, types.d);
    return o;
  }

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
    if (e.has_block_scales()) {
      all.scale_a = static_cast<const float*>(scale_a_.device());
      all.scale_b = static_cast<const float*>(scale_b_.device());
      all.ld_scale_a = case_.problem.m + kMoreOfScales;
      all.ld_scale_b = scale_blocks(case_.problem.k) + kMoreOfScales;
    }
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
    o.a = at(o.a, number_of_a(product) * o.batch_stride_a, types.a);
    o.b = at(o.b, product * o.batch_stride_b, types.b);
    o.c = at(o.c, product * o.batch_stride_c, types.c);
    o.d = const_cast<void*>(at(o.d, product * o.batch_stride_d, types.d));
    o.residual = at(o.residual, product * o.batch_stride_residual, types.d);
    if (case_.problem.epilogue.has_block_scales()) {
      if (has_pointers() || !case_.shares_a) o.scale_a += product * scale_blocks(case_.problem.k) * o.ld_scale_a;
      if (has_pointers() || !case_.shares_b) o.scale_b += product * scale_blocks(case_.problem.n) * o.ld_scale_b;
    }
    return o;
  }

  static constexpr std::int64_t kMoreOfScales = 3;

  BatchCase case_;
  CUstream stream_;
  Stack a_, b_, c_, d_, alone_, residual_;
  GuardedMatrix bias_, scale_a_, scale_b_;
  const Driver& driver_;
  DeviceBuffer arrays_;  ///< of addresses: of A, B, C and D
  std::int64_t turn_ = 0;
};

}  // namespace hotgemm
