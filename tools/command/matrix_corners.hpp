#pragma once

#include "gpu/driver.hpp"
#include "gpu/operand_set.hpp"

#include <hotgemm/types.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::command {

/// The first and the last elements of the first and the last rows of a matrix.
struct MatrixCorners {
  static constexpr std::int64_t kEdge = 3;

  std::vector<std::int64_t> rows;  ///< their indices
  std::vector<std::int64_t> columns;
  std::vector<std::vector<double>> values;  ///< [row][column]
};

/// Those of D after the work on `stream`, which is waited for. Throws Error.
MatrixCorners fetch_corners(const Driver& driver, CUstream stream, const OperandSet& set, const Problem& problem);

/// A line for each row, with dots where rows or columns are left out.
std::string to_text(const MatrixCorners& corners);

/// The number at `index` of elements of `type`, one after the other. Throws Error{not_supported} for a type that no
/// rung has as its D.
double number_at(const std::byte* bytes, std::size_t index, DType type);

}  // namespace hotgemm::command
