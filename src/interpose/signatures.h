#pragma once

#include <cublas_v2.h>

#include <stdint.h>

// The functions of libcublas that are interposed: name, kind and type of the sizes. A kind has parameters, below, and a
// function that says what product they describe (product_of_<kind> in exports.c).
#define HOTGEMM_PRODUCTS(F)                               \
  F(cublasGemmEx, GEMM_EX, int)                           \
  F(cublasGemmEx_64, GEMM_EX, int64_t)                    \
  F(cublasGemmStridedBatchedEx, STRIDED_EX, int)          \
  F(cublasGemmStridedBatchedEx_64, STRIDED_EX, int64_t)   \
  F(cublasHgemm, HGEMM, int)                              \
  F(cublasHgemm_64, HGEMM, int64_t)                       \
  F(cublasHgemmStridedBatched, HGEMM_STRIDED, int)        \
  F(cublasHgemmStridedBatched_64, HGEMM_STRIDED, int64_t) \
  F(cublasSgemm_v2, SGEMM, int)                           \
  F(cublasSgemm_v2_64, SGEMM, int64_t)                    \
  F(cublasSgemmStridedBatched, SGEMM_STRIDED, int)        \
  F(cublasSgemmStridedBatched_64, SGEMM_STRIDED, int64_t) \
  F(cublasSgemmEx, SGEMM_EX, int)                         \
  F(cublasSgemmEx_64, SGEMM_EX, int64_t)                  \
  F(cublasGemmBatchedEx, POINTERS_EX, int)                \
  F(cublasGemmBatchedEx_64, POINTERS_EX, int64_t)         \
  F(cublasHgemmBatched, HGEMM_POINTERS, int)              \
  F(cublasHgemmBatched_64, HGEMM_POINTERS, int64_t)       \
  F(cublasSgemmBatched, SGEMM_POINTERS, int)              \
  F(cublasSgemmBatched_64, SGEMM_POINTERS, int64_t)

// cuBLAS's headers declare the same functions, some for C++ only, and with pointers to elements where these have void.

#define HOTGEMM_SIZES(Int) \
  cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, Int m, Int n, Int k, const void *alpha
#define HOTGEMM_SIZE_ARGUMENTS handle, op_a, op_b, m, n, k, alpha

#define HOTGEMM_PARAMETERS_GEMM_EX(Int)                                                                         \
  HOTGEMM_SIZES(Int), const void *a, cudaDataType type_a, Int lda, const void *b, cudaDataType type_b, Int ldb, \
      const void *beta, void *c, cudaDataType type_c, Int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algorithm
#define HOTGEMM_ARGUMENTS_GEMM_EX \
  HOTGEMM_SIZE_ARGUMENTS, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algorithm

#define HOTGEMM_PARAMETERS_STRIDED_EX(Int)                                                                       \
  HOTGEMM_SIZES(Int), const void *a, cudaDataType type_a, Int lda, long long stride_a, const void *b,            \
      cudaDataType type_b, Int ldb, long long stride_b, const void *beta, void *c, cudaDataType type_c, Int ldc, \
      long long stride_c, Int batch, cublasComputeType_t compute, cublasGemmAlgo_t algorithm
#define HOTGEMM_ARGUMENTS_STRIDED_EX                                                                                 \
  HOTGEMM_SIZE_ARGUMENTS, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c, type_c, ldc, stride_c, batch, \
      compute, algorithm

#define HOTGEMM_PARAMETERS_POINTERS_EX(Int)                                                                            \
  HOTGEMM_SIZES(Int), const void *const *a, cudaDataType type_a, Int lda, const void *const *b, cudaDataType type_b,   \
      Int ldb, const void *beta, void *const *c, cudaDataType type_c, Int ldc, Int batch, cublasComputeType_t compute, \
      cublasGemmAlgo_t algorithm
#define HOTGEMM_ARGUMENTS_POINTERS_EX \
  HOTGEMM_SIZE_ARGUMENTS, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, batch, compute, algorithm

#define HOTGEMM_PARAMETERS_SGEMM_EX(Int)                                                                        \
  HOTGEMM_SIZES(Int), const void *a, cudaDataType type_a, Int lda, const void *b, cudaDataType type_b, Int ldb, \
      const void *beta, void *c, cudaDataType type_c, Int ldc
#define HOTGEMM_ARGUMENTS_SGEMM_EX HOTGEMM_SIZE_ARGUMENTS, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc

#define HOTGEMM_PARAMETERS_GEMM(Int) \
  HOTGEMM_SIZES(Int), const void *a, Int lda, const void *b, Int ldb, const void *beta, void *c, Int ldc
#define HOTGEMM_ARGUMENTS_GEMM HOTGEMM_SIZE_ARGUMENTS, a, lda, b, ldb, beta, c, ldc
#define HOTGEMM_PARAMETERS_HGEMM HOTGEMM_PARAMETERS_GEMM
#define HOTGEMM_ARGUMENTS_HGEMM HOTGEMM_ARGUMENTS_GEMM
#define HOTGEMM_PARAMETERS_SGEMM HOTGEMM_PARAMETERS_GEMM
#define HOTGEMM_ARGUMENTS_SGEMM HOTGEMM_ARGUMENTS_GEMM

#define HOTGEMM_PARAMETERS_STRIDED(Int)                                                                       \
  HOTGEMM_SIZES(Int), const void *a, Int lda, long long stride_a, const void *b, Int ldb, long long stride_b, \
      const void *beta, void *c, Int ldc, long long stride_c, Int batch
#define HOTGEMM_ARGUMENTS_STRIDED \
  HOTGEMM_SIZE_ARGUMENTS, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, batch
#define HOTGEMM_PARAMETERS_HGEMM_STRIDED HOTGEMM_PARAMETERS_STRIDED
#define HOTGEMM_ARGUMENTS_HGEMM_STRIDED HOTGEMM_ARGUMENTS_STRIDED
#define HOTGEMM_PARAMETERS_SGEMM_STRIDED HOTGEMM_PARAMETERS_STRIDED
#define HOTGEMM_ARGUMENTS_SGEMM_STRIDED HOTGEMM_ARGUMENTS_STRIDED

#define HOTGEMM_PARAMETERS_POINTERS(Int)                                                                              \
  HOTGEMM_SIZES(Int), const void *const *a, Int lda, const void *const *b, Int ldb, const void *beta, void *const *c, \
      Int ldc, Int batch
#define HOTGEMM_ARGUMENTS_POINTERS HOTGEMM_SIZE_ARGUMENTS, a, lda, b, ldb, beta, c, ldc, batch
#define HOTGEMM_PARAMETERS_HGEMM_POINTERS HOTGEMM_PARAMETERS_POINTERS
#define HOTGEMM_ARGUMENTS_HGEMM_POINTERS HOTGEMM_ARGUMENTS_POINTERS
#define HOTGEMM_PARAMETERS_SGEMM_POINTERS HOTGEMM_PARAMETERS_POINTERS
#define HOTGEMM_ARGUMENTS_SGEMM_POINTERS HOTGEMM_ARGUMENTS_POINTERS
