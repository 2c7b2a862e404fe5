#include "torch/matrix.hpp"

#include <algorithm>
#include <utility>

namespace hotgemm::torch {
namespace {

/// Sets op and ld. A dimension of one element may have any stride, which says nothing.
bool set_layout(Matrix& matrix, std::int64_t row_stride, std::int64_t col_stride) {
  const bool one_row = matrix.rows == 1, one_col = matrix.cols == 1;
  // A packed column is a row of its transpose: as such its rows are aligned as well as its address is.
  const bool packed_column = one_col && !one_row && row_stride == 1;
  if ((col_stride == 1 || one_col) && (one_row || row_stride >= matrix.cols) && !packed_column) {
    matrix.op = HOTGEMM_OP_N;
    matrix.ld = one_row ? std::max(row_stride, matrix.cols) : row_stride;
    return true;
  }
  if ((row_stride == 1 || one_row) && (one_col || col_stride >= matrix.rows)) {
    matrix.op = HOTGEMM_OP_T;
    matrix.ld = one_col ? std::max(col_stride, matrix.rows) : col_stride;
    return true;
  }
  return false;
}

/// The number of elements from the first to behind the last.
std::int64_t extent(const Matrix& matrix) {
  const std::int64_t lines = matrix.op == HOTGEMM_OP_N ? matrix.rows : matrix.cols;
  const std::int64_t length = matrix.op == HOTGEMM_OP_N ? matrix.cols : matrix.rows;
  return (matrix.batch - 1) * matrix.batch_stride + (lines - 1) * matrix.ld + length;
}

}  // namespace

std::optional<Matrix> matrix_of(const Tensor& tensor) {
  const std::int64_t row = tensor.dim - 2, col = tensor.dim - 1;
  Matrix matrix{.data = tensor.data, .rows = tensor.sizes[row], .cols = tensor.sizes[col], .batch = 1};
  if (tensor.dim == 3) {
    matrix.batch = tensor.sizes[0];
    matrix.batch_stride = matrix.batch > 1 ? tensor.strides[0] : 0;
  }
  if (!set_layout(matrix, tensor.strides[row], tensor.strides[col])) return std::nullopt;
  return matrix;
}

Matrix transposed(Matrix matrix) {
  std::swap(matrix.rows, matrix.cols);
  matrix.op = matrix.op == HOTGEMM_OP_N ? HOTGEMM_OP_T : HOTGEMM_OP_N;
  return matrix;
}

std::optional<Matrix> rows_of(const Tensor& tensor) {
  if (tensor.dim == 0) return std::nullopt;
  Matrix matrix{.data = tensor.data, .rows = 1, .cols = tensor.sizes[tensor.dim - 1], .batch = 1};
  std::int64_t row_stride = matrix.cols;
  for (std::int64_t i = tensor.dim - 2; i >= 0; --i) {
    if (tensor.sizes[i] == 1) continue;
    if (matrix.rows == 1) {
      row_stride = tensor.strides[i];
    } else if (tensor.strides[i] != row_stride * matrix.rows) {
      return std::nullopt;
    }
    matrix.rows *= tensor.sizes[i];
  }
  if (!set_layout(matrix, row_stride, tensor.strides[tensor.dim - 1])) return std::nullopt;
  return matrix;
}

bool overlap(const Matrix& a, const Matrix& b, std::int64_t element_bytes) {
  const char *from_a = static_cast<const char*>(a.data), *from_b = static_cast<const char*>(b.data);
  return from_a < from_b + extent(b) * element_bytes && from_b < from_a + extent(a) * element_bytes;
}

}  // namespace hotgemm::torch
