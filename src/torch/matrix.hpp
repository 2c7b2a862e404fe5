#pragma once

#include "torch/tensor.hpp"

#include <cstdint>
#include <optional>

namespace hotgemm::torch {

/// A tensor as an operand: `batch` matrices of rows×cols, each row-major (op n) or stored transposed (op t).
struct Matrix {
  void* data;
  std::int64_t rows, cols;
  std::int32_t op;
  std::int64_t ld;
  std::int64_t batch;
  std::int64_t batch_stride;
};

// Each is nothing if no op and no leading dimension describe the strides, as where one is 0, or none is 1.

/// Of a tensor of 2 dimensions, or of 3: a batch.
std::optional<Matrix> matrix_of(const Tensor& tensor);
/// The transpose of a matrix, in the same memory.
Matrix transposed(Matrix matrix);
/// All dimensions but the last as the rows of one matrix.
std::optional<Matrix> rows_of(const Tensor& tensor);

/// True if the elements of one lie among those of the other.
bool overlap(const Matrix& a, const Matrix& b, std::int64_t element_bytes);

}  // namespace hotgemm::torch
