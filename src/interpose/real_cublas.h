#pragma once

#include "interpose/signatures.h"

#include <cublasLt.h>
#include <cublas_v2.h>

// The functions of the real libcublas of one major version. A function that the library lacks is null.
struct cublas {
#define HOTGEMM_DECLARE(name, kind, Int) cublasStatus_t (*name)(HOTGEMM_PARAMETERS_##kind(Int));
  HOTGEMM_PRODUCTS(HOTGEMM_DECLARE)
#undef HOTGEMM_DECLARE
  __typeof__(&cublasGetStream_v2) cublasGetStream_v2;
  __typeof__(&cublasGetPointerMode_v2) cublasGetPointerMode_v2;
  __typeof__(&cublasGetMathMode) cublasGetMathMode;
  __typeof__(&cublasGetSmCountTarget) cublasGetSmCountTarget;
};

// Functions of the real libcublasLt.
struct cublaslt {
  __typeof__(&cublasLtMatmul) cublasLtMatmul;
  __typeof__(&cublasLtMatmulDescGetAttribute) cublasLtMatmulDescGetAttribute;
  __typeof__(&cublasLtMatrixLayoutGetAttribute) cublasLtMatrixLayoutGetAttribute;
};

// Finds the library that the process has loaded, when it is first called. `major` is 12 or 13.
const struct cublas* real_cublas(int major);
const struct cublaslt* real_cublaslt(int major);
