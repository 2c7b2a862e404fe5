#pragma once

#include "shared/gemm_types.hpp"

namespace hotgemm {

/// The columns of a product, from which a column of a gated D is made.
struct GateColumns {
  int gate;   ///< goes through the activation
  int other;  ///< is multiplied by it
};

/// The two columns of the product that make column `col` of a D with `columns` columns.
constexpr GateColumns gate_columns(Gate gate, int col, int columns) {
  return gate == Gate::halves ? GateColumns{col, columns + col} : GateColumns{2 * col, 2 * col + 1};
}

/// The column of the product at place `at` of a tile that begins at column `first`. The tile consists of parts of
/// `2 * half` columns. The first half of a part has columns of the gate, the second half the others, of the same
/// columns of D, which has `columns`. Beyond D there may be any column.
constexpr int column_of_halves(int first, int at, int half, int columns) {
  const int part = at / (2 * half), in_part = at - part * 2 * half;
  const bool is_gate = in_part < half;
  return first / 2 + part * half + (is_gate ? in_part : columns + in_part - half);
}

/// The column of the product at place `at` of a tile of `width` columns that begins at column `first`. With halves the
/// tile is one part. The product has `columns`.
constexpr int product_column(Gate gate, int first, int at, int width, int columns) {
  return gate == Gate::halves ? column_of_halves(first, at, width / 2, columns / 2) : first + at;
}

}  // namespace hotgemm
