#include "emulate/gemm_case.hpp"

#include "config/error_gate.hpp"
#include "emulate/number.hpp"
#include "emulate/random.hpp"
#include "shared/check_data.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace hotgemm::emulate {
namespace {

class Values {
 public:
  Values(GemmData data, std::uint64_t seed) : data_(data), random_(seed) {}

  double next(DType type) {
    if (type == DType::s8) return static_cast<int>(random_.below(256)) - 128;
    if (data_ == GemmData::integers || type == DType::s32) {
      const int integer = static_cast<int>(random_.below(5)) - 2;
      constexpr double kBitsThatAreRounded = 0x1p-20;  // truncation would change the integer
      return type == DType::tf32 ? integer - kBitsThatAreRounded * integer : integer;
    }
    // The Box-Muller transform.
    const double u = (random_.below(1u << 24) + 0.5) * 0x1p-24, v = random_.below(1u << 24) * 0x1p-24;
    return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
  }

 private:
  GemmData data_;
  Random random_;
};

/// Rows get an extra chunk at the end unless `packed`, to detect kernels that read or write beyond the end of a row.
HostMatrix make_matrix(DType dtype, std::int64_t rows, std::int64_t cols, int alignment, bool packed = false) {
  const int bytes = size_bytes(dtype);
  const std::int64_t unit = std::max(alignment / bytes, 1);
  HostMatrix matrix{.rows = rows,
                    .cols = cols,
                    .ld = ((cols + unit - 1) / unit + (packed ? 0 : 1)) * unit,
                    .element_bytes = bytes,
                    .offset_bytes = alignment % 16};
  matrix.bytes.assign(static_cast<std::size_t>(rows * matrix.pitch_bytes()), unwritten_byte(dtype));
  return matrix;
}

void fill(HostMatrix& matrix, DType dtype, Values& values) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) matrix.set(dtype, row, col, values.next(dtype));
  }
}

template <class T>
T read(const std::uint8_t* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void write(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

[[noreturn]] void fail_type(DType type) {
  throw Error(ErrorCode::internal, "there is no element type " + std::to_string(static_cast<int>(type)));
}

/// The bits of an integer that a double holds, modulo 2^32.
std::uint32_t wrapped(double integer) { return static_cast<std::uint32_t>(static_cast<std::int64_t>(integer)); }

std::size_t byte_offset(const HostMatrix& m, std::int64_t row, std::int64_t col) {
  return static_cast<std::size_t>(row * m.pitch_bytes() + col * m.element_bytes);
}

double load(const std::uint8_t* at, DType dtype) {
  switch (dtype) {
    case DType::f16: return widen_f16(read<std::uint16_t>(at));
    case DType::bf16: return widen_bf16(read<std::uint16_t>(at));
    case DType::f32: return read<float>(at);
    case DType::tf32: return std::bit_cast<float>(rounded_tf32(read<std::uint32_t>(at)));
    case DType::e4m3: return widen_e4m3(*at);
    case DType::e5m2: return widen_e5m2(*at);
    case DType::s8: return read<std::int8_t>(at);
    case DType::s32: return read<std::int32_t>(at);
  }
  fail_type(dtype);
}

void store(std::uint8_t* at, DType dtype, double value) {
  switch (dtype) {
    case DType::f16: return write(at, narrow_f16(value));
    case DType::bf16: return write(at, narrow_bf16(value));
    case DType::f32:
    case DType::tf32: return write(at, narrow_f32(value));
    case DType::e4m3: return write(at, narrow_e4m3(value));
    case DType::e5m2: return write(at, narrow_e5m2(value));
    case DType::s8: return write(at, static_cast<std::int8_t>(std::clamp(std::nearbyint(value), -128.0, 127.0)));
    case DType::s32: return write(at, wrapped(std::nearbyint(value)));
  }
  fail_type(dtype);
}

/// The element of type `dtype` that is nearest to `value`.
double rounded(DType dtype, double value) {
  std::uint8_t bytes[sizeof(double)];
  store(bytes, dtype, value);
  return load(bytes, dtype);
}

/// True if `found` is what `exact` becomes because it is beyond the numbers of `dtype`: infinity, or the last number of
/// 8 bits.
bool is_beyond(DType dtype, double found, double exact) {
  if (found != rounded(dtype, exact)) return false;
  return std::isinf(found) || (size_bytes(dtype) == 1 && found == rounded(dtype, std::copysign(0x1p100, exact)));
}

}  // namespace

double HostMatrix::get(DType dtype, std::int64_t row, std::int64_t col) const {
  return load(bytes.data() + byte_offset(*this, row, col), dtype);
}

void HostMatrix::set(DType dtype, std::int64_t row, std::int64_t col, double value) {
  store(bytes.data() + byte_offset(*this, row, col), dtype, value);
}

GemmMatrices make_matrices(const GemmCase& c) {
  const Workload& p = c.problem;
  const bool a_as_is = p.op_a == Op::n, b_as_is = p.op_b == Op::n;
  GemmMatrices m{.a = make_matrix(p.types.a, a_as_is ? p.m : p.k, a_as_is ? p.k : p.m, p.hints.align_a, c.packed),
                 .b = make_matrix(p.types.b, b_as_is ? p.k : p.n, b_as_is ? p.n : p.k, p.hints.align_b, c.packed),
                 .c = make_matrix(p.types.c, p.m, p.n, p.hints.align_d, c.packed),
                 .d = make_matrix(p.types.d, p.m, p.n, p.hints.align_d, c.packed)};
  Values values(c.data, c.data_seed);
  fill(m.a, multiplied_type(p.types.a, p.types.compute), values);
  fill(m.b, multiplied_type(p.types.b, p.types.compute), values);
  fill(m.c, p.types.c, values);
  if (c.in_place) m.d = m.c;
  return m;
}

GemmReference::GemmReference(const GemmCase& c, const GemmMatrices& matrices) : problem_(c.problem), alpha_(c.alpha) {
  const auto m = static_cast<std::size_t>(problem_.m), n = static_cast<std::size_t>(problem_.n);
  const auto depth = static_cast<std::size_t>(problem_.k);
  const auto element = [&](const HostMatrix& matrix, DType type, Op op, std::size_t row, std::size_t col) {
    const auto r = static_cast<std::int64_t>(row), s = static_cast<std::int64_t>(col);
    return op == Op::n ? matrix.get(type, r, s) : matrix.get(type, s, r);
  };
  const DType type_a = multiplied_type(problem_.types.a, problem_.types.compute);
  const DType type_b = multiplied_type(problem_.types.b, problem_.types.compute);
  std::vector<double> b(depth * n);
  for (std::size_t l = 0; l < depth; ++l) {
    for (std::size_t j = 0; j < n; ++j) b[l * n + j] = element(matrices.b, type_b, problem_.op_b, l, j);
  }
  exact_.assign(m * n, 0);
  magnitude_.assign(m * n, 0);
  for (std::size_t i = 0; i < m; ++i) {
    double* const exact_row = exact_.data() + i * n;
    double* const magnitude_row = magnitude_.data() + i * n;
    for (std::size_t l = 0; l < depth; ++l) {
      const double a = static_cast<double>(c.alpha) * element(matrices.a, type_a, problem_.op_a, i, l);
      for (std::size_t j = 0; j < n; ++j) {
        exact_row[j] += a * b[l * n + j];
        magnitude_row[j] += std::abs(a * b[l * n + j]);
      }
    }
    for (std::size_t j = 0; c.beta != 0 && j < n; ++j) {
      const double addend = static_cast<double>(c.beta) * element(matrices.c, problem_.types.c, Op::n, i, j);
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
      const double found = d.get(problem_.types.d, i, j);
      if (is_beyond(problem_.types.d, found, exact_[at])) continue;
      const double error = std::abs(found - exact_[at]);
      const double ratio = error / error_gate(problem_, exact_[at], magnitude_[at], alpha_);
      worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(worst, ratio);
    }
  }
  return worst;
}

std::string GemmReference::first_inexact(const HostMatrix& d) const {
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    for (std::int64_t j = 0; j < problem_.n; ++j) {
      const double expected = rounded(problem_.types.d, exact_[static_cast<std::size_t>(i * problem_.n + j)]);
      const double found = d.get(problem_.types.d, i, j);
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
