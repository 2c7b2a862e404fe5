#pragma once

#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// The values of a case's operands.
enum class GemmData {
  integers,  ///< in [-2, 2], s8 in [-128, 127]: the product is exact in any order, as long as k is at most 512
  normal,    ///< N(0, 1)
};

/// A problem with the scalars and the data of one call. The operands are exactly as aligned as the problem states. Of a
/// batch, make_matrices and GemmReference know one product (batch_case.hpp).
struct GemmCase {
  Workload problem;
  float alpha = 1;
  float beta = 0;                  ///< zero if and only if problem.hints.beta_is_zero
  bool in_place = false;           ///< D and C are the same matrix
  bool residual_in_place = false;  ///< D and the residual of the epilogue are the same matrix
  bool packed = false;             ///< no row is longer than the alignment of the next one needs
  LaunchConfig launch;
  GemmData data = GemmData::integers;
  std::uint64_t data_seed = 1;
  std::int64_t product = 0;  ///< its number in a batch
  float clamp_low = -3, clamp_high = 2;
  bool counts_accesses = false;  ///< LaunchShape::counts_accesses
};

/// The columns of a product whose D has `n` columns, or with halves of a gate so many more that kernels with `traits`
/// can access both halves.
std::int64_t possible_n(const GemmTraits& traits, std::int64_t n);

/// A row-major matrix on the host: `rows` rows of `cols` elements, `ld` apart.
struct HostMatrix {
  std::int64_t rows = 0, cols = 0, ld = 0;
  int element_bytes = 2;
  int offset_bytes = 0;     ///< of the first element from a 256-byte boundary: gives the exact alignment
  std::int64_t stride = 0;  ///< of a batch, whose matrices lie behind each other: elements from one to the next
  std::vector<std::uint8_t> bytes;

  std::int64_t row_bytes() const { return cols * element_bytes; }
  std::int64_t pitch_bytes() const { return ld * element_bytes; }
  /// As kernels multiply it: a tf32 is rounded to nearest even.
  double get(DType dtype, std::int64_t row, std::int64_t col) const;
  /// Bit `col` of a row. The elements of a matrix of bits are bytes.
  bool bit(std::int64_t row, std::int64_t col) const;
  /// Rounds `value` to nearest even; tf32 to an f32. An integer that the type does not have wraps if the type is s32,
  /// and otherwise becomes the nearest one.
  void set(DType dtype, std::int64_t row, std::int64_t col, double value);
};

/// The operands of a case. The bytes between rows, and all bytes of D and of the auxiliary output, are NaN, or integers
/// of a large magnitude. Operands of the epilogue that the problem does not have are empty. Vectors are one row. The
/// scales of blocks have a row for each block of k, those of B for each block of columns. An auxiliary matrix of bits
/// is one of bytes with any values, and `bias_gradient` has the numbers to which sums are added.
struct GemmMatrices {
  HostMatrix a, b, c, d;
  HostMatrix scale_a, scale_b, scale_d, bias, residual, auxiliary, bias_gradient;
  HostMatrix scalars;        ///< alpha and beta
  HostMatrix group_numbers;  ///< the offsets or counts of groups, a row of s32; make_matrices makes none
  HostMatrix function_operands[EpilogueFunction::kMostOperands];
};
GemmMatrices make_matrices(const GemmCase& c);

/// The right result of a case, in f64.
class GemmReference {
 public:
  GemmReference(const GemmCase& c, const GemmMatrices& matrices);

  /// The largest error of an element of `d`, divided by its gate (error_gate.hpp). Infinite for a NaN.
  double worst_error(const HostMatrix& d) const { return worst_error(d, exact_, gate_); }
  /// Describes the first element that is not the right result rounded to nearest even, for `integers` data. Empty if
  /// there is none.
  std::string first_inexact(const HostMatrix& d) const { return first_inexact(d, exact_); }
  /// The same for the auxiliary output of an epilogue.
  double worst_auxiliary_error(const HostMatrix& output) const;
  std::string first_inexact_auxiliary(const HostMatrix& output) const;
  /// The sum of elements before scale_d that is added to number `index` of the gradient of the bias, and its gate.
  double bias_gradient(std::int64_t index) const { return gradient_[static_cast<std::size_t>(index)]; }
  double bias_gradient_gate(std::int64_t index) const { return gradient_gate_[static_cast<std::size_t>(index)]; }
  /// The largest absolute value before scale_d, and its gate.
  double amax() const { return amax_; }
  double amax_gate() const { return amax_gate_; }

 private:
  std::int64_t columns_of(const std::vector<double>& exact) const {
    return static_cast<std::int64_t>(exact.size()) / std::max<std::int64_t>(problem_.m, 1);
  }
  double worst_error(const HostMatrix& d, const std::vector<double>& exact, const std::vector<double>& gate) const;
  std::string first_inexact(const HostMatrix& d, const std::vector<double>& exact) const;

  Workload problem_;
  std::vector<double> exact_, gate_;                ///< of D
  std::vector<double> auxiliary_, auxiliary_gate_;  ///< empty without auxiliary output
  std::vector<double> gradient_, gradient_gate_;    ///< empty without the gradient of the bias
  double amax_ = 0, amax_gate_ = 0;
};

/// The text of a case, such as "200 136 72 nt f16 …, alpha 1, beta 0, r8m".
std::string to_string(const GemmCase& c);

}  // namespace hotgemm::emulate
