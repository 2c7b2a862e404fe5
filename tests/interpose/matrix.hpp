#pragma once

#include "standin/element.hpp"

#include <cublas_v2.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace hotgemm::interpose {

inline DType dtype_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F: return DType::f16;
    case CUDA_R_16BF: return DType::bf16;
    case CUDA_R_32F: return DType::f32;
    case CUDA_R_8I: return DType::s8;
    case CUDA_R_32I: return DType::s32;
    default: throw std::invalid_argument("no element type of these tests");
  }
}

void* allocate_on_device(std::size_t bytes);  // fixture.hpp

/// Column-major matrices in device memory, one for each product of a batch.
class Matrix {
 public:
  Matrix() = default;
  Matrix(cudaDataType type, std::int64_t rows, std::int64_t cols, std::int64_t batch = 1, std::int64_t padding = 8)
      : type_(type), rows_(rows), cols_(cols), batch_(batch), ld_(rows + padding), stride_(ld_ * cols + 16) {
    at_ = allocate_on_device(static_cast<std::size_t>(stride_ * batch) *
                             static_cast<std::size_t>(size_bytes(dtype_of(type))));
    fill([](auto...) { return 0.0f; });
  }
  /// Small integers.
  static Matrix random(unsigned seed, cudaDataType type, std::int64_t rows, std::int64_t cols, std::int64_t batch = 1,
                       std::int64_t padding = 8) {
    Matrix matrix(type, rows, cols, batch, padding);
    std::minstd_rand random(seed);
    matrix.fill([&](auto...) { return static_cast<float>(static_cast<int>(random() % 7) - 3); });
    return matrix;
  }

  template <class Value>
  void fill(Value value) {
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t j = 0; j < cols_; ++j) {
        for (std::int64_t i = 0; i < rows_; ++i)
          standin::store_element(address(b, i, j), dtype_of(type_), value(b, i, j));
      }
    }
  }
  float get(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return standin::load_element(address(b, i, j), dtype_of(type_));
  }
  /// The element of op(matrix).
  float get(cublasOperation_t op, std::int64_t b, std::int64_t i, std::int64_t j) const {
    return op == CUBLAS_OP_N ? get(b, i, j) : get(b, j, i);
  }

  void* at() const { return at_; }
  /// An array in device memory with the address of each product's matrix.
  void* const* array() const {
    auto** const addresses = static_cast<void**>(allocate_on_device(static_cast<std::size_t>(batch_) * sizeof(void*)));
    for (std::int64_t b = 0; b < batch_; ++b) addresses[b] = reinterpret_cast<void*>(address(b, 0, 0));
    return addresses;
  }
  cudaDataType type() const { return type_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  std::int64_t batch() const { return batch_; }
  std::int64_t ld() const { return ld_; }
  int int_ld() const { return static_cast<int>(ld_); }
  std::int64_t stride() const { return stride_; }

 private:
  std::uint64_t address(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return reinterpret_cast<std::uint64_t>(at_) +
           static_cast<std::uint64_t>((b * stride_ + j * ld_ + i) * size_bytes(dtype_of(type_)));
  }

  cudaDataType type_ = CUDA_R_32F;
  std::int64_t rows_ = 0, cols_ = 0, batch_ = 0, ld_ = 0, stride_ = 0;
  void* at_ = nullptr;
};

/// A product with its matrices: C = alpha * op(A) * op(B) + beta * C.
struct Product {
  cublasOperation_t op_a = CUBLAS_OP_N, op_b = CUBLAS_OP_N;
  int m = 16, n = 24, k = 8;
  int batch = 1;
  int padding = 8;  // elements between columns
  cudaDataType type = CUDA_R_16BF, type_c = CUDA_R_16BF;
  float alpha = 1, beta = 0;
  Matrix a, b, c;

  void allocate() {
    a = Matrix::random(1, type, op_a == CUBLAS_OP_N ? m : k, op_a == CUBLAS_OP_N ? k : m, batch, padding);
    b = Matrix::random(2, type, op_b == CUBLAS_OP_N ? k : n, op_b == CUBLAS_OP_N ? n : k, batch, padding);
    c = Matrix::random(3, type_c, m, n, batch, padding);
  }
  /// The value before it is rounded to the type of C, with the elements of `old`.
  float value(const Matrix& old, std::int64_t p, std::int64_t i, std::int64_t j) const {
    float sum = 0;
    for (std::int64_t l = 0; l < k; ++l) sum += a.get(op_a, p, i, l) * b.get(op_b, p, l, j);
    return alpha * sum + (beta != 0 ? beta * old.get(p, i, j) : 0);
  }
  /// The elements that `d` has to have, each `finish(value, product, row, column)`, rounded to its type.
  template <class Finish>
  std::vector<float> expected_at(const Matrix& old, Finish finish) const {
    std::vector<float> all;
    for (std::int64_t p = 0; p < batch; ++p) {
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < m; ++i) all.push_back(rounded(finish(value(old, p, i, j), p, i, j)));
      }
    }
    return all;
  }
  /// Elements that are each `finish(value, row)`.
  template <class Finish>
  std::vector<float> expected(const Matrix& old, Finish finish) const {
    return expected_at(old, [&](float value, auto, auto i, auto) { return finish(value, i); });
  }
  std::vector<float> expected() const {
    return expected(c, [](float value, auto) { return value; });
  }
  /// The elements of `d` in the same order.
  static std::vector<float> elements(const Matrix& d) {
    std::vector<float> all;
    for (std::int64_t p = 0; p < d.batch(); ++p) {
      for (std::int64_t j = 0; j < d.cols(); ++j) {
        for (std::int64_t i = 0; i < d.rows(); ++i) all.push_back(d.get(p, i, j));
      }
    }
    return all;
  }
  std::vector<float> elements() const { return elements(c); }
  void refill_c() {
    c.fill([](auto p, auto i, auto j) { return static_cast<float>((p + i + 2 * j) % 5 - 2); });
  }

 private:
  float rounded(float value) const {
    std::uint64_t room = 0;
    standin::store_element(reinterpret_cast<std::uint64_t>(&room), dtype_of(type_c), value);
    return standin::load_element(reinterpret_cast<std::uint64_t>(&room), dtype_of(type_c));
  }
};

}  // namespace hotgemm::interpose
