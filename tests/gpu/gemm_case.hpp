#pragma once

#include "config/error_gate.hpp"
#include "emulate/epilogue_reference.hpp"
#include "emulate/number.hpp"
#include "gpu/epilogue_matrices.hpp"
#include "gpu/guarded_matrix.hpp"

#include <hotgemm/context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// One call: a problem with the layout of its operands. Offsets are in elements from a 256-byte boundary.
struct GemmCase {
  Problem problem;
  std::int64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  int offset_a = 0, offset_b = 0, offset_c = 0, offset_d = 0;
  float alpha = 1, beta = 0;
  bool in_place = false;           ///< D and C are the same matrix
  bool residual_in_place = false;  ///< D and the residual of the epilogue are the same matrix

  std::int64_t rows_a() const { return problem.op_a == Op::n ? problem.m : problem.k; }
  std::int64_t cols_a() const { return problem.op_a == Op::n ? problem.k : problem.m; }
  std::int64_t rows_b() const { return problem.op_b == Op::n ? problem.k : problem.n; }
  std::int64_t cols_b() const { return problem.op_b == Op::n ? problem.n : problem.k; }

  /// Sets each leading dimension to the smallest possible multiple of `multiple`.
  void set_tight_ld(std::int64_t multiple) {
    const auto round_up = [&](std::int64_t cols) {
      return std::max((cols + multiple - 1) / multiple, std::int64_t{1}) * multiple;
    };
    lda = round_up(cols_a());
    ldb = round_up(cols_b());
    ldc = ldd = round_up(columns_of_d(problem));
  }
  /// The problem with the alignment that the operands will have.
  Workload described() const {
    const auto place = [&](int offset, DType type) {
      return reinterpret_cast<void*>(std::uintptr_t{4096} + static_cast<unsigned>(offset * size_bytes(type)));
    };
    return describe(problem, {.a = place(offset_a, problem.types.a),
                              .b = place(offset_b, problem.types.b),
                              .c = place(in_place ? offset_d : offset_c, problem.types.c),
                              .d = place(offset_d, problem.types.d),
                              .lda = lda,
                              .ldb = ldb,
                              .ldc = in_place ? ldd : ldc,
                              .ldd = ldd,
                              .alpha = alpha,
                              .beta = beta});
  }
  std::string text() const {
    return to_string(described()) + " ld " + std::to_string(lda) + " " + std::to_string(ldb) + " " +
           std::to_string(ldc) + " " + std::to_string(ldd) + " offsets " + std::to_string(offset_a) + " " +
           std::to_string(offset_b) + " " + std::to_string(offset_c) + " " + std::to_string(offset_d) + " alpha " +
           std::to_string(alpha) + " beta " + std::to_string(beta) + (in_place ? " in place" : "") +
           (residual_in_place ? " residual in place" : "");
  }
};

/// The operands of a case in device memory, its right result in f64, and functions that run it.
class CaseRun {
 public:
  enum class Data { integers, normal, uniform };
  using Launch = std::function<void(const Operands&)>;

  CaseRun(const Driver& driver, const GemmCase& c, CUstream stream)
      : case_(c),
        stream_(stream),
        a_(driver, c.problem.types.a, c.rows_a(), c.cols_a(), c.lda, c.offset_a, GuardedMatrix::Filling::nan),
        b_(driver, c.problem.types.b, c.rows_b(), c.cols_b(), c.ldb, c.offset_b, GuardedMatrix::Filling::nan),
        c_(driver, c.problem.types.c, c.problem.m, c.problem.n, c.ldc, c.offset_c, GuardedMatrix::Filling::nan),
        d_(driver, c.problem.types.d, c.problem.m, columns_of_d(c.problem), c.ldd, c.offset_d,
           GuardedMatrix::Filling::noise),
        epilogue_(driver, c.problem, c.ldd, c.offset_d, c.residual_in_place) {}

  GuardedMatrix& a() { return a_; }
  GuardedMatrix& b() { return b_; }
  void set_a(std::size_t i, std::size_t k, float value) {
    case_.problem.op_a == Op::n ? a_.set(i, k, value) : a_.set(k, i, value);
  }
  void set_b(std::size_t k, std::size_t j, float value) {
    case_.problem.op_b == Op::n ? b_.set(k, j, value) : b_.set(j, k, value);
  }

  Operands operands() const {
    Operands all{.a = a_.device(),
                 .b = b_.device(),
                 .c = case_.in_place ? d_.device() : c_.device(),
                 .d = d_.device(),
                 .lda = case_.lda,
                 .ldb = case_.ldb,
                 .ldc = case_.in_place ? case_.ldd : case_.ldc,
                 .ldd = case_.ldd,
                 .alpha = case_.alpha,
                 .beta = case_.beta};
    epilogue_.add_to(all);
    return all;
  }

  /// C, and D before the call, are NaN if they must not be read.
  void fill(Data data, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto value = [&](auto, auto) {
      return data == Data::integers ? static_cast<float>(static_cast<int>(random() % 5) - 2)
             : data == Data::normal ? normal(random)
                                    : uniform(random);
    };
    // Any s8, unless f16 would not hold the sums. A D of s8 saturates only some of them.
    const DType type_d = case_.problem.types.d;
    const bool takes_any = case_.problem.types.a == DType::s8 && type_d != DType::f16 && type_d != DType::s8;
    // Integers with bits that TF32 rounds away: truncation would change them.
    const bool is_rounded = case_.problem.types.compute == ComputeType::tf32 && data == Data::integers;
    const auto factor = [&](auto row, auto col) {
      if (takes_any) return static_cast<float>(static_cast<int>(random() % 256) - 128);
      if (type_d == DType::s8) return static_cast<float>(static_cast<int>(random() % 9) - 4);
      return is_rounded ? value(row, col) * (1 - 0x1p-20f) : value(row, col);
    };
    a_.fill(factor);
    b_.fill(factor);
    c_.fill_nan();
    d_.fill_nan();
    if (case_.residual_in_place) d_.fill(value);
    if (case_.beta != 0) (case_.in_place ? d_ : c_).fill(value);
    epilogue_.fill(random, value, case_.alpha, case_.beta);
    compute_reference();
  }

  /// Fills op(A) with a(i, k) and op(B) with b(k, j), of a case that reads no C.
  template <class A, class B>
  void fill_factors(A&& a, B&& b) {
    const bool a_is_stored_mk = case_.problem.op_a == Op::n, b_is_stored_kn = case_.problem.op_b == Op::n;
    a_.fill([&](std::size_t row, std::size_t col) { return a_is_stored_mk ? a(row, col) : a(col, row); });
    b_.fill([&](std::size_t row, std::size_t col) { return b_is_stored_kn ? b(row, col) : b(col, row); });
    c_.fill_nan();
    d_.fill_nan();
    compute_reference();
  }

  /// Uploads everything, launches, and downloads everything.
  void run(const Launch& launch) {
    for (const GuardedMatrix* matrix : {&a_, &b_, &c_, &d_}) matrix->upload(stream_);
    epilogue_.upload(stream_);
    launch(operands());
    found_ = d_.download(stream_);
    epilogue_.download(stream_);
  }

  /// Checks that the guards around all operands, and all read-only operands, are unchanged. Empty if they are.
  std::string stray_write() const {
    if (std::string text = a_.change(a_.download(stream_)); !text.empty()) return "A was written: " + text;
    if (std::string text = b_.change(b_.download(stream_)); !text.empty()) return "B was written: " + text;
    if (std::string text = c_.change(c_.download(stream_)); !text.empty()) return "C was written: " + text;
    if (std::string text = d_.change_around(found_); !text.empty()) return "written outside of D: " + text;
    return epilogue_.stray_write(stream_);
  }

  /// Checks that every element of D, and of the auxiliary output, is the exact result rounded to nearest even; for data
  /// `integers` and epilogues that keep them exact. Zeros may have either sign. Empty if all are right.
  std::string inexact() const {
    const auto judge = [&](float found, double exact) {
      return found == nearest(exact) ? std::nullopt : std::optional(nearest(exact));
    };
    const std::string wrong = first_bad([&](auto i, auto j) { return judge(result(i, j), exact(i, j)); });
    if (wrong.empty() && case_.problem.epilogue.amax && static_cast<double>(epilogue_.amax()) != amax_.exact) {
      return "amax is " + std::to_string(epilogue_.amax()) + " and should be " + std::to_string(amax_.exact);
    }
    for (std::size_t i = 0; wrong.empty() && i < gradient_.size(); ++i) {
      // Sums of any s8 may have more bits than f32.
      const double gate = case_.problem.types.a == DType::s8 ? gradient_[i].gate : 0;
      const double error = epilogue_.added_to_gradient(i) - gradient_[i].exact;
      if (!(std::abs(error) <= gate))
        return "number " + std::to_string(i) + " of the gradient of the bias is off by " + std::to_string(error);
    }
    if (!wrong.empty() || !case_.problem.epilogue.aux) return wrong;
    return wrong_auxiliary();
  }

  /// The largest error of an element of D or of the auxiliary output, divided by its gate. Infinite for NaN.
  double worst_error() const {
    double worst = 0;
    const auto judge = [&](float found, const Right& right) {
      if (is_saturated(found, right.exact)) return;
      const double ratio = std::abs(static_cast<double>(found) - right.exact) / right.gate;
      worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(worst, ratio);
    };
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t j = 0; j < cols(); ++j) {
        const std::size_t at = i * cols() + j;
        judge(result(i, j), results_[at]);
      }
      for (std::size_t j = 0; case_.problem.epilogue.aux && j < columns_of_product(); ++j) {
        const Right& right = auxiliary_[i * columns_of_product() + j];
        if (!case_.problem.epilogue.bits) {
          judge(epilogue_.auxiliary(i, j), right);
        } else if ((epilogue_.auxiliary(i, j) != 0) != emulate::relu_bit(right.exact)) {
          worst = std::max(worst, std::abs(right.exact) / right.gate);
        }
      }
    }
    for (std::size_t i = 0; i < gradient_.size(); ++i) {
      const double ratio = std::abs(epilogue_.added_to_gradient(i) - gradient_[i].exact) / gradient_[i].gate;
      worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(worst, ratio);
    }
    if (case_.problem.epilogue.amax) judge(epilogue_.amax(), amax_);
    return worst;
  }

  /// The norm of the errors of all elements, divided by that of the exact result.
  double relative_error() const {
    double errors = 0, squares = 0;
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t j = 0; j < cols(); ++j) {
        const double error = static_cast<double>(result(i, j)) - exact(i, j);
        errors += error * error;
        squares += exact(i, j) * exact(i, j);
      }
    }
    return std::sqrt(errors / squares);
  }

  /// Checks that elements with is_nan(i, j) are NaN and that all others have the bits of `clean`. Empty if they do.
  template <class IsNan>
  std::string not_nan_as(IsNan&& is_nan, const Bytes& clean) const {
    return first_bad([&](std::size_t i, std::size_t j) -> std::optional<float> {
      const float right = is_nan(i, j) ? std::numeric_limits<float>::quiet_NaN() : d_.get(clean, i, j);
      const bool good = is_nan(i, j) ? std::isnan(result(i, j)) : result(i, j) == right;
      return good ? std::nullopt : std::optional(right);
    });
  }

  const Bytes& found() const { return found_; }
  float result(std::size_t i, std::size_t j) const { return d_.get(found_, i, j); }

 private:
  std::size_t rows() const { return static_cast<std::size_t>(case_.problem.m); }
  std::size_t cols() const { return static_cast<std::size_t>(columns_of_d(case_.problem)); }
  double exact(std::size_t i, std::size_t j) const { return results_[i * cols() + j].exact; }

  /// A right result and the largest error that is accepted.
  struct Right {
    double exact;
    double gate;
  };

  /// The element of D that is nearest to `number`.
  float nearest(double number) const {
    float right = 0;
    const auto place = reinterpret_cast<std::uint64_t>(&right);
    standin::store_element(place, case_.problem.types.d, static_cast<float>(number));
    return standin::load_element(place, case_.problem.types.d);
  }
  /// True if the result is the last number of 8 bits, and the exact one is nearest to it or beyond it.
  bool is_saturated(float found, double exact) const {
    if (size_bytes(case_.problem.types.d) != 1 || found != nearest(exact)) return false;
    return found == nearest(std::copysign(0x1p30, exact));
  }

  /// The columns of the auxiliary output: with a gate both columns of each element of D.
  std::size_t columns_of_product() const { return static_cast<std::size_t>(case_.problem.n); }
  /// Describes the first element, or bit, of the auxiliary output that is not right.
  std::string wrong_auxiliary() const {
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t j = 0; j < columns_of_product(); ++j) {
        const double exact = auxiliary_[i * columns_of_product() + j].exact;
        const float right = case_.problem.epilogue.bits ? (emulate::relu_bit(exact) ? 1.0f : 0.0f) : nearest(exact);
        const float found = epilogue_.auxiliary(i, j);
        if (found == right) continue;
        return "auxiliary output (" + std::to_string(i) + ", " + std::to_string(j) + ") is " + std::to_string(found) +
               " and should be " + std::to_string(right);
      }
    }
    return {};
  }

  template <class Judge>
  std::string first_bad(Judge&& judge) const {
    std::size_t bad = 0;
    std::string first;
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t j = 0; j < cols(); ++j) {
        const std::optional<float> right = judge(i, j);
        if (!right) continue;
        if (bad++ == 0) {
          first = "(" + std::to_string(i) + ", " + std::to_string(j) + ") is " + std::to_string(result(i, j)) +
                  " and should be " + std::to_string(*right);
        }
      }
    }
    if (bad == 0) return {};
    return std::to_string(bad) + " of " + std::to_string(rows() * cols()) + " elements are wrong: " + first;
  }

  /// An element of A or B as kernels multiply it.
  double as_multiplied(float element) const {
    if (case_.problem.types.compute != ComputeType::tf32) return static_cast<double>(element);
    return static_cast<double>(std::bit_cast<float>(emulate::rounded_tf32(std::bit_cast<std::uint32_t>(element))));
  }

  void compute_reference() {
    const std::size_t m = rows(), n = static_cast<std::size_t>(case_.problem.n),
                      depth = static_cast<std::size_t>(case_.problem.k);
    std::vector<double> b(depth * n);
    for (std::size_t l = 0; l < depth; ++l) {
      for (std::size_t j = 0; j < n; ++j)
        b[l * n + j] = as_multiplied(case_.problem.op_b == Op::n ? b_.get(l, j) : b_.get(j, l));
    }
    results_.assign(m * cols(), {});
    auxiliary_.assign(case_.problem.epilogue.aux ? m * n : 0, {});
    amax_ = {};
    const Bias of_gradient = case_.problem.epilogue.bias_gradient;
    gradient_.assign(of_gradient == Bias::none ? 0 : of_gradient == Bias::per_row ? m : cols(), {});
    const double alpha = case_.alpha, beta = case_.beta;
    std::vector<double> product_row(n), magnitude_row(n), scale_row(n);
    for (std::size_t i = 0; i < m; ++i) {
      std::ranges::fill(product_row, 0);
      std::ranges::fill(magnitude_row, 0);
      for (std::size_t l = 0; l < depth; ++l) {
        const double a = alpha * as_multiplied(case_.problem.op_a == Op::n ? a_.get(i, l) : a_.get(l, i));
        const double* b_row = b.data() + l * n;
        if (l % kScaleBlock == 0) {
          for (std::size_t j = 0; j < n; ++j) scale_row[j] = epilogue_.of_blocks(i, j, l);
        }
        for (std::size_t j = 0; j < n; ++j) {
          const double term = a * b_row[j] * scale_row[j];
          product_row[j] += term;
          magnitude_row[j] += std::abs(term);
        }
      }
      for (std::size_t j = 0; j < cols(); ++j) {
        const double c = beta == 0 ? 0 : beta * static_cast<double>((case_.in_place ? d_ : c_).get(i, j));
        set_right(i, j, product_row, magnitude_row, c);
      }
    }
  }

  /// `products` and `magnitudes` are those of row i of the product.
  void set_right(std::size_t i, std::size_t j, const std::vector<double>& products,
                 const std::vector<double>& magnitudes, double c) {
    const std::size_t at = i * cols() + j;
    const Epilogue& e = case_.problem.epilogue;
    const int col = static_cast<int>(j);
    const GateColumns columns =
        e.is_gated() ? gate_columns(e.gate, col, static_cast<int>(cols())) : GateColumns{col, col};
    const auto gate_at = static_cast<std::size_t>(columns.gate), other_at = static_cast<std::size_t>(columns.other);
    const double product = products[gate_at], magnitude = magnitudes[gate_at];
    if (case_.problem.epilogue == Epilogue{}) {
      const bool is_gated = case_.problem.k <= max_gated_k(case_.problem.types);
      const double gate = is_gated ? error_gate(case_.problem, product + c, magnitude + std::abs(c), case_.alpha) : 0;
      results_[at] = {product + c, gate};
      return;
    }
    emulate::EpilogueElement operands = epilogue_.at(i, j, columns, c, d_);
    operands.other.product = products[other_at], operands.other.magnitude = magnitudes[other_at];
    const emulate::FusedElement fused =
        emulate::fused_element(case_.problem, product, magnitude, case_.alpha, operands);
    results_[at] = {fused.result, fused.result_gate};
    if (e.aux) {
      Right* const row = auxiliary_.data() + i * columns_of_product();
      row[gate_at] = {fused.auxiliary, fused.auxiliary_gate};
      if (e.is_gated()) row[other_at] = {fused.other, fused.other_gate};
    }
    amax_ = {std::max(amax_.exact, std::abs(fused.unscaled)), std::max(amax_.gate, fused.unscaled_gate)};
    if (gradient_.empty()) return;
    Right& sum = gradient_[e.bias_gradient == Bias::per_row ? i : j];
    sum.exact += fused.unscaled;
    // In any order, the sum so far is rounded each time.
    const auto count = static_cast<double>(e.bias_gradient == Bias::per_row ? cols() : rows());
    sum.gate += fused.unscaled_gate + 0x1p-24 * count * (std::abs(fused.unscaled) + 1);
  }

  GemmCase case_;
  CUstream stream_;
  GuardedMatrix a_, b_, c_, d_;
  EpilogueMatrices epilogue_;
  Right amax_{};
  std::vector<Right> results_, auxiliary_;  ///< the latter is empty without auxiliary output
  std::vector<Right> gradient_;             ///< of the bias; empty without it
  Bytes found_;
};

}  // namespace hotgemm
