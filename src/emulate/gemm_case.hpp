#pragma once

#include "plan/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// What the operands of a case hold.
enum class GemmData {
  integers,  ///< in [-2, 2]: the product is exact in any order, as long as k is at most 512
  normal,    ///< N(0, 1)
};

/// A problem with the scalars and the data of one call. Its operands are no better aligned than its problem says.
struct GemmCase {
  Problem problem;
  float alpha = 1;
  float beta = 0;         ///< zero if and only if problem.beta_is_zero
  bool in_place = false;  ///< D is C
  bool packed = false;    ///< no row is longer than the alignment of the next one needs
  LaunchConfig launch;
  GemmData data = GemmData::integers;
  std::uint64_t data_seed = 1;
};

/// A row-major matrix on the host: `rows` rows of `cols` elements, `ld` apart.
struct HostMatrix {
  std::int64_t rows = 0, cols = 0, ld = 0;
  int element_bytes = 2;
  int offset_bytes = 0;  ///< from a 256-byte boundary that the matrix has on a device, so that it has its alignment
  std::vector<std::uint8_t> bytes;

  std::int64_t row_bytes() const { return cols * element_bytes; }
  std::int64_t pitch_bytes() const { return ld * element_bytes; }
  float get(DType dtype, std::int64_t row, std::int64_t col) const;
  void set(DType dtype, std::int64_t row, std::int64_t col, float value);  ///< rounded to nearest even
};

/// The operands of a case. Between the rows, and in D, all bits are set: NaN.
struct GemmMatrices {
  HostMatrix a, b, c, d;
};
GemmMatrices make_matrices(const GemmCase& c);

/// The right result of a case, in f64.
class GemmReference {
 public:
  GemmReference(const GemmCase& c, const GemmMatrices& matrices);

  /// The largest error of an element of `d` in units of its gate (error_gate.hpp); infinite for a NaN.
  double worst_error(const HostMatrix& d) const;
  /// The first element that is not the right result rounded to nearest even, for data `integers`; empty if all are.
  std::string first_inexact(const HostMatrix& d) const;

 private:
  Problem problem_;
  std::vector<double> exact_, magnitude_;
};

/// "200x136x72 nt f16 …, alpha 1, beta 0, r8m".
std::string to_string(const GemmCase& c);

}  // namespace hotgemm::emulate
