#include "emulate/gemm_case.hpp"

#include "config/error_gate.hpp"
#include "config/work.hpp"
#include "emulate/epilogue_reference.hpp"
#include "emulate/number.hpp"
#include "emulate/random.hpp"
#include "shared/check_data.hpp"
#include "shared/gate.hpp"

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

/// A matrix of bits, as cuBLASLt has it, whose rows have whole words. Rows get an extra unit at the end unless
/// `packed`.
HostMatrix make_bits(std::int64_t rows, std::int64_t cols, bool packed) {
  const std::int64_t units = (cols + kBitRowUnit - 1) / kBitRowUnit + (packed ? 0 : 1);
  HostMatrix matrix{
      .rows = rows, .cols = (cols + 31) / 32 * 4, .ld = units * (kBitRowUnit / 8), .element_bytes = 1, .bytes = {}};
  matrix.bytes.assign(static_cast<std::size_t>(rows * matrix.pitch_bytes()), unwritten_byte(DType::s8));
  return matrix;
}

void fill(HostMatrix& matrix, DType dtype, Values& values) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) matrix.set(dtype, row, col, values.next(dtype));
  }
}

/// Powers of two of either sign, so that they keep sums exact.
void fill_scales(HostMatrix& scales, Values& values) {
  for (std::int64_t row = 0; row < scales.rows; ++row) {
    for (std::int64_t col = 0; col < scales.cols; ++col) {
      const double value = values.next(DType::s32);
      scales.set(DType::f32, row, col, std::copysign(std::exp2(std::abs(value) - 1), value));
    }
  }
}
/// A row of them.
HostMatrix make_scales(std::int64_t count, Values& values) {
  HostMatrix scales = make_matrix(DType::f32, 1, count, 4, true);
  fill_scales(scales, values);
  return scales;
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

std::int64_t possible_n(const GemmTraits& t, std::int64_t n) {
  if (!t.epilogue.is_gated()) return n;
  const bool has_halves = t.epilogue.gate == Gate::halves;
  const std::int64_t step = has_halves && t.epilogue.has_block_scales() ? kScaleBlock
                            : has_halves && !t.b_is_k_major()           ? t.vec_b
                                                                        : 1;
  return 2 * ((n + step - 1) / step * step);
}

double HostMatrix::get(DType dtype, std::int64_t row, std::int64_t col) const {
  return load(bytes.data() + byte_offset(*this, row, col), dtype);
}

bool HostMatrix::bit(std::int64_t row, std::int64_t col) const {
  return (bytes[byte_offset(*this, row, col / 8)] >> (col % 8) & 1) != 0;
}

void HostMatrix::set(DType dtype, std::int64_t row, std::int64_t col, double value) {
  store(bytes.data() + byte_offset(*this, row, col), dtype, value);
}

namespace {

/// Adds the operands of the epilogue. Vectors begin at the least aligned addresses that their elements have.
void make_epilogue(const GemmCase& c, GemmMatrices& m, Values& values) {
  const Workload& p = c.problem;
  const Epilogue& e = p.epilogue;
  const auto count_of = [](Scaling scaling, std::int64_t all) { return scaling == Scaling::tensor ? 1 : all; };
  if (e.has_block_scales()) {
    m.scale_a = make_matrix(DType::f32, scale_blocks(p.k), p.m, 4);
    m.scale_b = make_matrix(DType::f32, scale_blocks(p.n), scale_blocks(p.k), 4);
    for (HostMatrix* scales : {&m.scale_a, &m.scale_b}) fill_scales(*scales, values);
  } else {
    if (e.scale_a != Scaling::none) m.scale_a = make_scales(count_of(e.scale_a, p.m), values);
    if (e.scale_b != Scaling::none) m.scale_b = make_scales(count_of(e.scale_b, p.n), values);
  }
  if (e.scale_d) m.scale_d = make_scales(1, values);
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    const FunctionOperand kind = e.function.operand(i);
    const std::int64_t count = kind == FunctionOperand::row      ? p.m
                               : kind == FunctionOperand::column ? columns_of_d(p)
                                                                 : 1;
    if (kind == FunctionOperand::matrix) {
      m.function_operands[i] = make_matrix(p.types.d, p.m, columns_of_d(p), p.hints.align_d);
      fill(m.function_operands[i], p.types.d, values);
    } else if (kind != FunctionOperand::none) {
      m.function_operands[i] = make_scales(count, values);
    }
  }
  if (e.bias != Bias::none) {
    const DType type = bias_type(p.types.d);
    m.bias = make_matrix(type, 1, e.bias == Bias::per_row ? p.m : p.n, size_bytes(type), true);
    fill(m.bias, type, values);
  }
  if (e.residual) {
    m.residual = make_matrix(p.types.d, p.m, columns_of_d(p), p.hints.align_d);
    fill(m.residual, p.types.d, values);
  }
  if (c.residual_in_place) m.d = m.residual;
  if (e.has_auxiliary()) {
    m.auxiliary = e.bits ? make_bits(p.m, p.n, c.packed) : make_matrix(p.types.d, p.m, p.n, p.hints.align_d);
  }
  if (e.bits) {
    fill(m.auxiliary, DType::s8, values);
  } else if (e.reads_auxiliary()) {
    fill(m.auxiliary, p.types.d, values);
  }
  if (e.bias_gradient != Bias::none) {
    m.bias_gradient = make_matrix(DType::f32, 1, e.bias_gradient == Bias::per_row ? p.m : p.n, 4, true);
    fill(m.bias_gradient, DType::s32, values);
    for (std::int64_t i = 0; i < m.bias_gradient.cols; ++i)
      m.bias_gradient.set(DType::f32, 0, i, m.bias_gradient.get(DType::s32, 0, i));
  }
  if (e.scalars) {
    m.scalars = make_matrix(DType::f32, 1, 2, 4, true);
    m.scalars.set(DType::f32, 0, 0, c.alpha);
    m.scalars.set(DType::f32, 0, 1, c.beta);
  }
}

}  // namespace

GemmMatrices make_matrices(const GemmCase& c) {
  const Workload& p = c.problem;
  const bool a_as_is = p.op_a == Op::n, b_as_is = p.op_b == Op::n;
  GemmMatrices m{.a = make_matrix(p.types.a, a_as_is ? p.m : p.k, a_as_is ? p.k : p.m, p.hints.align_a, c.packed),
                 .b = make_matrix(p.types.b, b_as_is ? p.k : p.n, b_as_is ? p.n : p.k, p.hints.align_b, c.packed),
                 .c = make_matrix(p.types.c, p.m, p.n, p.hints.align_d, c.packed),
                 .d = make_matrix(p.types.d, p.m, columns_of_d(p), p.hints.align_d, c.packed)};
  Values values(c.data, c.data_seed);
  fill(m.a, multiplied_type(p.types.a, p.types.compute), values);
  fill(m.b, multiplied_type(p.types.b, p.types.compute), values);
  fill(m.c, p.types.c, values);
  if (c.in_place) m.d = m.c;
  make_epilogue(c, m, values);
  return m;
}

namespace {

/// `col` is a column of D, and `columns` are those of the product from which it is made; without a gate both are it.
EpilogueElement epilogue_at(const GemmCase& c, const GemmMatrices& m, double addend, std::int64_t row, std::int64_t col,
                            const GateColumns& columns) {
  const Workload& p = c.problem;
  const Epilogue& e = p.epilogue;
  const auto scale = [](Scaling scaling, const HostMatrix& scales, std::int64_t index) {
    if (scaling == Scaling::none || scaling > Scaling::vector) return 1.0;  // those of blocks are in the sum
    return scales.get(DType::f32, 0, scaling == Scaling::tensor ? 0 : index);
  };
  const auto factor = [&](std::int64_t column) {
    return scale(e.scale_a, m.scale_a, row) * scale(e.scale_b, m.scale_b, column);
  };
  const auto bias = [&](std::int64_t column) {
    return e.bias == Bias::none ? 0 : m.bias.get(bias_type(p.types.d), 0, e.bias == Bias::per_row ? row : column);
  };
  EpilogueElement at{.scale = factor(columns.gate), .addend = addend, .bias = bias(columns.gate)};
  if (e.is_gated()) at.other.scale = factor(columns.other), at.other.bias = bias(columns.other);
  if (e.residual) at.residual = m.residual.get(p.types.d, row, col);
  if (e.reads_bits()) {
    at.auxiliary = m.auxiliary.bit(row, col) ? 1 : 0;
  } else if (e.reads_auxiliary()) {
    at.auxiliary = m.auxiliary.get(p.types.d, row, col);
  }
  if (e.scale_d) at.scale_d = m.scale_d.get(DType::f32, 0, 0);
  at.low = c.clamp_low, at.high = c.clamp_high;
  at.point = {.row = row, .column = col, .batch = c.product};
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    const FunctionOperand kind = e.function.operand(i);
    const HostMatrix& operand = m.function_operands[i];
    const std::int64_t index = kind == FunctionOperand::row ? row : kind == FunctionOperand::column ? col : 0;
    if (kind == FunctionOperand::matrix) {
      at.point.operands[i] = operand.get(p.types.d, row, col);
    } else if (kind != FunctionOperand::none) {
      at.point.operands[i] = operand.get(DType::f32, 0, index);
    }
  }
  return at;
}

}  // namespace

GemmReference::GemmReference(const GemmCase& c, const GemmMatrices& matrices) : problem_(c.problem) {
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
  const bool has_blocks = problem_.epilogue.has_block_scales();
  for (std::size_t l = 0; has_blocks && l < depth; ++l) {
    for (std::size_t j = 0; j < n; ++j) {
      b[l * n + j] *= matrices.scale_b.get(DType::f32, static_cast<std::int64_t>(j) / kScaleBlock,
                                           static_cast<std::int64_t>(l) / kScaleBlock);
    }
  }
  std::vector<double> magnitude(m * n), product(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    double* const exact_row = product.data() + i * n;
    double* const magnitude_row = magnitude.data() + i * n;
    for (std::size_t l = 0; l < depth; ++l) {
      double a = static_cast<double>(c.alpha) * element(matrices.a, type_a, problem_.op_a, i, l);
      if (has_blocks) {
        a *= matrices.scale_a.get(DType::f32, static_cast<std::int64_t>(l) / kScaleBlock, static_cast<std::int64_t>(i));
      }
      for (std::size_t j = 0; j < n; ++j) {
        exact_row[j] += a * b[l * n + j];
        magnitude_row[j] += std::abs(a * b[l * n + j]);
      }
    }
  }
  const Epilogue& e = problem_.epilogue;
  const std::size_t columns = e.columns_of_d(n);
  exact_.assign(m * columns, 0);
  gate_ = exact_;
  if (e.aux) auxiliary_.assign(m * n, 0), auxiliary_gate_ = auxiliary_;
  if (e.bias_gradient != Bias::none) {
    gradient_.assign(e.bias_gradient == Bias::per_row ? m : columns, 0);
    gradient_gate_ = gradient_;
  }
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t at = i * columns + j;
      const auto row = static_cast<std::int64_t>(i), col = static_cast<std::int64_t>(j);
      const double addend = c.beta == 0 ? 0 : static_cast<double>(c.beta) * matrices.c.get(problem_.types.c, row, col);
      if (e == Epilogue{}) {
        exact_[at] = product[at] + addend;
        gate_[at] = error_gate(problem_, exact_[at], magnitude[at] + std::abs(addend), static_cast<double>(c.alpha));
        continue;
      }
      const GateColumns made_from = e.is_gated() ? gate_columns(e.gate, static_cast<int>(j), static_cast<int>(columns))
                                                 : GateColumns{static_cast<int>(j), static_cast<int>(j)};
      EpilogueElement operands = epilogue_at(c, matrices, addend, row, col, made_from);
      const std::size_t from = i * n + static_cast<std::size_t>(made_from.gate);
      const std::size_t other = i * n + static_cast<std::size_t>(made_from.other);
      operands.other.product = product[other], operands.other.magnitude = magnitude[other];
      const FusedElement fused =
          fused_element(problem_, product[from], magnitude[from], static_cast<double>(c.alpha), operands);
      exact_[at] = fused.result, gate_[at] = fused.result_gate;
      amax_ = std::max(amax_, std::abs(fused.unscaled)), amax_gate_ = std::max(amax_gate_, fused.unscaled_gate);
      if (e.aux) auxiliary_[from] = fused.auxiliary, auxiliary_gate_[from] = fused.auxiliary_gate;
      if (e.aux && e.is_gated()) auxiliary_[other] = fused.other, auxiliary_gate_[other] = fused.other_gate;
      if (e.bias_gradient == Bias::none) continue;
      const std::size_t index = e.bias_gradient == Bias::per_row ? i : j;
      // In any order, each of the sums so far is rounded.
      const double roundings = static_cast<double>(e.bias_gradient == Bias::per_row ? columns : m) * 0x1p-24;
      gradient_[index] += fused.unscaled;
      gradient_gate_[index] += fused.unscaled_gate + roundings * (std::abs(fused.unscaled) + 1);
    }
  }
}

double GemmReference::worst_error(const HostMatrix& d, const std::vector<double>& exact,
                                  const std::vector<double>& gate) const {
  double worst = 0;
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    for (std::int64_t j = 0; j < columns_of(exact); ++j) {
      const auto at = static_cast<std::size_t>(i * columns_of(exact) + j);
      const double found = d.get(problem_.types.d, i, j);
      if (is_beyond(problem_.types.d, found, exact[at])) continue;
      const double ratio = std::abs(found - exact[at]) / gate[at];
      worst = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(worst, ratio);
    }
  }
  return worst;
}

double GemmReference::worst_auxiliary_error(const HostMatrix& output) const {
  if (!problem_.epilogue.bits) return worst_error(output, auxiliary_, auxiliary_gate_);
  double worst = 0;  // of a bit that is wrong: the distance of its value from 0
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    for (std::int64_t j = 0; j < problem_.n; ++j) {
      const auto at = static_cast<std::size_t>(i * problem_.n + j);
      if (output.bit(i, j) != relu_bit(auxiliary_[at]))
        worst = std::max(worst, std::abs(auxiliary_[at]) / auxiliary_gate_[at]);
    }
  }
  return worst;
}

std::string GemmReference::first_inexact_auxiliary(const HostMatrix& output) const {
  if (!problem_.epilogue.bits) return first_inexact(output, auxiliary_);
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    for (std::int64_t j = 0; j < problem_.n; ++j) {
      const double value = auxiliary_[static_cast<std::size_t>(i * problem_.n + j)];
      if (output.bit(i, j) != relu_bit(value))
        return fmt::format("the bit of ({}, {}) is {}, and the value {}", i, j, output.bit(i, j) ? 1 : 0, value);
    }
  }
  return {};
}

std::string GemmReference::first_inexact(const HostMatrix& d, const std::vector<double>& exact) const {
  for (std::int64_t i = 0; i < problem_.m; ++i) {
    for (std::int64_t j = 0; j < columns_of(exact); ++j) {
      const auto at = static_cast<std::size_t>(i * columns_of(exact) + j);
      const double expected = rounded(problem_.types.d, exact[at]);
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
