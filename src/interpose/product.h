#pragma once

#include <cublasLt.h>

#include <stdbool.h>
#include <stdint.h>

// A matrix of a call: column-major, `ld` elements from column to column, `stride` elements from product to product. In
// a product with pointers `at` is an array on the device, with the address of each product's matrix.
struct matrix {
  const void* at;
  cudaDataType type;
  int64_t ld;
  int64_t stride;
};

// One call of a function of cuBLAS, as its caller describes it: D = epilogue(alpha * op(A) * op(B) + beta * C). D is
// m x n. The functions that take no D write to C: then both are the same.
struct product {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k;
  int64_t batch;
  bool has_pointers;
  bool only_elements_are_aligned;  // the addresses in arrays may have any alignment that their type has
  struct matrix a, b, c, d;
  const void* alpha;  // of type `scale`, on the host
  const void* beta;
  cudaDataType scale;
  cublasComputeType_t compute;
  cublasLtEpilogue_t epilogue;
  const void* bias;
  struct matrix auxiliary;  // of some epilogues: of D's type, or bits, which `ld` and `stride` then count
  int32_t sm_target;        // 0: all SMs
};
