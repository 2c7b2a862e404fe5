// The functions that programs call in place of cuBLAS's, each in the versions of both libraries. A call that is not
// served reaches the real function of its version with its arguments as they are.

#include "interpose/caller.h"
#include "interpose/lt_call.h"
#include "interpose/real_cublas.h"
#include "interpose/report.h"
#include "interpose/serve.h"
#include "interpose/settings.h"

#include <stddef.h>

#define HOTGEMM_VERSIONED(name) __attribute__((symver(name), visibility("default")))

// The algorithm is a wish about speed, which cuBLAS itself does not heed since Ampere.
static struct product product_of_STRIDED_EX(HOTGEMM_PARAMETERS_STRIDED_EX(int64_t)) {
  (void)handle;
  (void)algorithm;
  // 16F has scalars of 16 bits, and 32I whole ones; all others that are served have floats.
  const cudaDataType scale = compute == CUBLAS_COMPUTE_16F   ? CUDA_R_16F
                             : compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I
                                                             : CUDA_R_32F;
  return (struct product){.op_a = op_a,
                          .op_b = op_b,
                          .m = m,
                          .n = n,
                          .k = k,
                          .batch = batch,
                          .a = {a, type_a, lda, stride_a},
                          .b = {b, type_b, ldb, stride_b},
                          .c = {c, type_c, ldc, stride_c},
                          .d = {c, type_c, ldc, stride_c},
                          .alpha = alpha,
                          .beta = beta,
                          .scale = scale,
                          .compute = compute,
                          .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
}

static struct product product_of_GEMM_EX(HOTGEMM_PARAMETERS_GEMM_EX(int64_t)) {
  return product_of_STRIDED_EX(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c,
                               type_c, ldc, 0, 1, compute, algorithm);
}

static struct product product_of_SGEMM_EX(HOTGEMM_PARAMETERS_SGEMM_EX(int64_t)) {
  return product_of_GEMM_EX(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,
                            CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

#define HOTGEMM_STRIDED_PRODUCT(type, compute)                                                                       \
  product_of_STRIDED_EX(handle, op_a, op_b, m, n, k, alpha, a, type, lda, stride_a, b, type, ldb, stride_b, beta, c, \
                        type, ldc, stride_c, batch, compute, CUBLAS_GEMM_DEFAULT)

static struct product product_of_HGEMM_STRIDED(HOTGEMM_PARAMETERS_STRIDED(int64_t)) {
  return HOTGEMM_STRIDED_PRODUCT(CUDA_R_16F, CUBLAS_COMPUTE_16F);
}

static struct product product_of_SGEMM_STRIDED(HOTGEMM_PARAMETERS_STRIDED(int64_t)) {
  return HOTGEMM_STRIDED_PRODUCT(CUDA_R_32F, CUBLAS_COMPUTE_32F);
}

static struct product product_of_HGEMM(HOTGEMM_PARAMETERS_GEMM(int64_t)) {
  return product_of_HGEMM_STRIDED(handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

static struct product product_of_SGEMM(HOTGEMM_PARAMETERS_GEMM(int64_t)) {
  return product_of_SGEMM_STRIDED(handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}

static struct product product_of_POINTERS_EX(HOTGEMM_PARAMETERS_POINTERS_EX(int64_t)) {
  struct product product =
      product_of_STRIDED_EX(handle, op_a, op_b, m, n, k, alpha, (const void*)a, type_a, lda, 0, (const void*)b, type_b,
                            ldb, 0, beta, (void*)c, type_c, ldc, 0, batch, compute, algorithm);
  product.has_pointers = true;
  return product;
}

static struct product product_of_HGEMM_POINTERS(HOTGEMM_PARAMETERS_POINTERS(int64_t)) {
  struct product product =
      product_of_POINTERS_EX(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c,
                             CUDA_R_16F, ldc, batch, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
  product.only_elements_are_aligned = true;  // the manual asks for more of cublasGemmBatchedEx alone
  return product;
}

static struct product product_of_SGEMM_POINTERS(HOTGEMM_PARAMETERS_POINTERS(int64_t)) {
  return product_of_POINTERS_EX(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta, c,
                                CUDA_R_32F, ldc, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

#define HOTGEMM_EXPORT(name, kind, Int, major, at)                                \
  HOTGEMM_VERSIONED(#name at "libcublas.so." #major)                              \
  cublasStatus_t name##_##major(HOTGEMM_PARAMETERS_##kind(Int)) {                 \
    const struct cublas* real = real_cublas(major);                               \
    if (settings()->is_on) {                                                      \
      const struct product product = product_of_##kind(HOTGEMM_ARGUMENTS_##kind); \
      if (serve_for_handle(real, handle, &product)) return CUBLAS_STATUS_SUCCESS; \
    }                                                                             \
    if (real->name == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;                 \
    return real->name(HOTGEMM_ARGUMENTS_##kind);                                  \
  }
#define HOTGEMM_EXPORT_BOTH(name, kind, Int) \
  HOTGEMM_EXPORT(name, kind, Int, 12, "@") HOTGEMM_EXPORT(name, kind, Int, 13, "@@")
HOTGEMM_PRODUCTS(HOTGEMM_EXPORT_BOTH)

// libcublas itself calls cublasLtMatmul. Such a call belongs to one that was already passed on, so it is not served.
static bool serve_lt(const struct cublaslt* real, const struct lt_call* call, cudaStream_t stream, const void* caller) {
  if (!settings()->is_on || is_in_libcublas(caller)) return false;
  struct product product;
  const enum reason reason = read_lt_call(real, call, &product);
  if (reason == REASON_SERVED) return serve_on_stream(&product, stream);
  report_call(reason);
  return false;
}

#define HOTGEMM_EXPORT_LT(major, at)                                                                           \
  HOTGEMM_VERSIONED("cublasLtMatmul" at "libcublasLt.so." #major)                                              \
  cublasStatus_t cublasLtMatmul_##major(                                                                       \
      cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,                    \
      cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b, const void* beta,       \
      const void* c, cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,                \
      const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes, cudaStream_t stream) {   \
    const struct cublaslt* real = real_cublaslt(major);                                                        \
    const struct lt_call call = {desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d};       \
    if (serve_lt(real, &call, stream, __builtin_return_address(0))) return CUBLAS_STATUS_SUCCESS;              \
    if (real->cublasLtMatmul == NULL) return CUBLAS_STATUS_NOT_INITIALIZED;                                    \
    return real->cublasLtMatmul(handle, desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, \
                                algorithm, workspace, workspace_bytes, stream);                                \
  }
HOTGEMM_EXPORT_LT(12, "@")
HOTGEMM_EXPORT_LT(13, "@@")
