#include "emulate/gemm_case.hpp"

#include "emulate/number.hpp"
#include "emulate/random.hpp"
#include "error_gate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace hotgemm::emulate {
namespace {

class Values {
 public:
  Values(GemmData data, std::uint64_t seed) : data_(data), random_(seed) {}

  float next() {
    if (data_ == GemmData::integers) return static_cast<float>(static_cast<int>(random_.below(5)) - 2);
    // Box and Muller.
    const double u = (random_.below(1u << 24) + 0.5) * 0x1p-24, v = random_.below(1u << 24) * 0x1p-24;
    return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
  }

 private:
  GemmData data_;
  Random random_;
};

/// Unless `packed`, rows are a chunk longer than they need be: a kernel that reads or writes beyond their ends is
/// found.
HostMatrix make_matrix(DType dtype, std::int64_t rows, std::int64_t cols, int alignment, bool packed = false) {
  const int bytes = size_bytes(dtype);
  const std::int64_t unit = std::max(alignment / bytes, 1);
  HostMatrix matrix{.rows = rows,
                    .cols = cols,
                    .ld = ((cols + unit - 1) / unit + (packed ? 0 : 1)) * unit,
                    .element_bytes = bytes,
                    .offset_bytes = alignment % 16};
  matrix.bytes.assign(static_cast<std::size_t>(rows * matrix.pitch_bytes()), 0xff);
  return matrix;
}

void fill(HostMatrix& matrix, DType dtype, Values& values) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) matrix.set(dtype, row, col, values.next());
  }
}

std::size_t byte_offset(const HostMatrix& m, std::int64_t row, std::int64_t col) {
  return static_cast<std::size_t>(row * m.pitch_bytes() + col * m.element_bytes);
}

}  // namespace

float HostMatrix::get(DType dtype, std::int64_t row, std::int64_t col) const {
  const std::uint8_t* const at = bytes.data() + byte_offset(*this, row, col);
  if (dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return dtype == DType::f16 ? widen_f16(bits) : widen_bf16(bits);
}

void HostMatrix::set(DType dtype, std::int64_t row, std::int64_t col, float value) {
  std::uint8_t* const at = bytes.data() + byte_offset(*this, row, col);
  if (dtype == DType::f32) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = dtype == DType::f16 ? narrow_f16(value) : narrow_bf16(value);
  std::memcpy(at, &bits, sizeof bits);
}

GemmMatrices make_matrices(const GemmCase& c) {
  const Problem& p = c.problem;
  const bool a_as_is = p.op_a == Op::n, b_as_is = p.op_b == Op::n;
  GemmMatrices m{.a = make_matrix(p.dtype, a_as_is ? p.m : p.k, a_as_is ? p.k : p.m, p.align_a, c.packed),
                 .b = make_matrix(p.dtype, b_as_is ? p.k : p.n, b_as_is ? p.n : p.k, p.align_b, c.packed),
                 .c = make_matrix(p.dtype, p.m, p.n, p.align_d, c.packed),
                 .d = make_matrix(p.dtype, p.m, p.n, p.align_d, c.packed)};
  Values values(c.data, c.data_seed);
  fill(m.a, p.dtype, values);
  fill(m.b, p.dtype, values);
  fill(m.c, p.dtype, values);
  if (c.in_place) m.d = m.c;
  return m;
}

GemmReference::GemmReference(const GemmCase& c, const GemmMatrices& matrices) : problem_(c.problem) {
  const auto m = static_cast<std::size_t>(problem_.m), n = static_cast<std::size_t>(problem_.n);
  const auto depth = static_cast<std::size_t>(problem_.k);
  const auto element = [&](const HostMatrix& matrix, Op op, std::size_t row, std::size_t col) {
    const auto r = static_cast<std::int64_t>(row), s = static_cast<std::int64_t>(col);
    return static_cast<double>(op == Op::n ? matrix.get(problem_.dtype, r, s) : matrix.get(problem_.dtype, s, r));
  };
  std::vector<double> b(depth * n);
  for (std::size_t l = 0; l < depth; ++l) {
    for (std::size_t j = 0; j < n; ++j) b[l * n + j] = element(matrices.b, problem_.op_b, l, j);
  }
  exact_.assign(m * n, 0);
  magnitude_.assign(m * n, 0);
  for (std::size_t i = 0; i < m; ++i) {
    double* const exact_row = exact_.data() + i * n;
    double* const magnitude_row = magnitude_.data() + i * n;
    for (std::size_t l = 0; l < depth; ++l) {
      const double a = static_cast<double>(c.alpha) * element(matrices.a, problem_.op_a, i, l);
      for (std::size_t j = 0; j < n; ++j) {
        exact_row[j] += a * b[l * n + j];
        magnitude_row[j] += std::abs(a * b[l * n + j]);
      }
    }
    for (std::size_t j = 0; c.beta != 0 && j < n; ++j) {
      const double addend = static_cast<double>(c.beta) * element(matrices.c, Op::n, i, j);
      exact_row[j] += addend;
      magnitude_row[j] += std::abs(addend);
    }
  }
}

double GemmReference::worst_error(const HostMatrix& d) const {
  double worst = 0;
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    for (std::int64_t j = 0; j < problem_.n; ++j) {
      const auto at = static_cast<std::size_t>(i * problem_.n + j);
      const double error = std::abs(static_cast<double>(d.get(problem_.dtype, i, j)) - exact_[at]);
      const double ratio = error / error_gate(problem_, exact_[at], magnitude_[at]);
      worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(worst, ratio);
    }
  }
  return worst;
}

std::string GemmReference::first_inexact(const HostMatrix& d) const {
  HostMatrix rounded = make_matrix(problem_.dtype, 1, 1, size_bytes(problem_.dtype));
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    for (std::int64_t j = 0; j < problem_.n; ++j) {
      rounded.set(problem_.dtype, 0, 0, static_cast<float>(exact_[static_cast<std::size_t>(i * problem_.n + j)]));
      const float expected = rounded.get(problem_.dtype, 0, 0), found = d.get(problem_.dtype, i, j);
      if (found != expected) return fmt::format("({}, {}) is {} and should be {}", i, j, found, expected);
    }
  }
  return {};
}

std::string to_string(const GemmCase& c) {
  return fmt::format("{}, alpha {}, beta {}{}, {}, {} {}", hotgemm::to_string(c.problem), c.alpha, c.beta,
                     c.in_place ? " in place" : "", hotgemm::to_string(c.launch),
                     c.data == GemmData::integers ? "integers" : "normal data", c.data_seed);
}

}  // namespace hotgemm::emulate
