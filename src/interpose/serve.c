#include "interpose/serve.h"

#include "interpose/library.h"
#include "interpose/report.h"
#include "interpose/settings.h"
#include "interpose/translate.h"

#include <stddef.h>

static bool is_f32(const struct product* product) { return product->a.type == CUDA_R_32F; }

// The default, and for elements of 16 bits also the modes that round elements of f32 only. That sums must not be
// reduced in less than the compute type is true of every kernel.
static bool is_plain_math(cublasMath_t mode, const struct product* product) {
  const int arithmetic = (int)mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  if (arithmetic == CUBLAS_DEFAULT_MATH) return true;
  return !is_f32(product) && (arithmetic == CUBLAS_TF32_TENSOR_OP_MATH || arithmetic == CUBLAS_TENSOR_OP_MATH);
}

// Scalars on the device are passed on: hotgemm would read C for a beta of 0 there, and cuBLAS does not.
static enum reason read_handle(const struct cublas* real, cublasHandle_t handle, struct product* product,
                               cudaStream_t* stream) {
  if (real->cublasGetPointerMode_v2 == NULL || real->cublasGetMathMode == NULL ||
      real->cublasGetSmCountTarget == NULL || real->cublasGetStream_v2 == NULL) {
    return REASON_HANDLE;
  }
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_DEVICE;
  cublasMath_t math_mode = CUBLAS_PEDANTIC_MATH;
  int sm_target = 0;
  if (real->cublasGetPointerMode_v2(handle, &pointer_mode) != CUBLAS_STATUS_SUCCESS ||
      real->cublasGetMathMode(handle, &math_mode) != CUBLAS_STATUS_SUCCESS ||
      real->cublasGetSmCountTarget(handle, &sm_target) != CUBLAS_STATUS_SUCCESS ||
      real->cublasGetStream_v2(handle, stream) != CUBLAS_STATUS_SUCCESS) {
    return REASON_HANDLE;
  }
  if (pointer_mode != CUBLAS_POINTER_MODE_HOST) return REASON_SCALARS;
  if (!is_plain_math(math_mode, product)) return REASON_ARITHMETIC;
  product->sm_target = sm_target;
  return REASON_SERVED;
}

static enum reason reason_of(hotgemm_status status) {
  switch (status) {
    case HOTGEMM_SUCCESS: return REASON_SERVED;
    case HOTGEMM_NOT_PREPARED: return REASON_DECLINED;
    case HOTGEMM_NOT_SUPPORTED: return REASON_NOT_SUPPORTED;
    case HOTGEMM_INVALID_ARGUMENT: return REASON_INVALID;
    default: return REASON_FAILED;
  }
}

static enum reason launch(const struct product* product, cudaStream_t stream) {
  if (is_f32(product) && !settings()->serves_f32) return REASON_F32;
  if (is_f32(product) && !settings()->has_plain_f32) return REASON_ARITHMETIC;
  hotgemm_problem problem;
  hotgemm_operands operands;
  const enum reason reason = translate(product, &problem, &operands);
  if (reason != REASON_SERVED) return reason;
  const struct hotgemm* hotgemm = open_hotgemm();
  if (hotgemm == NULL) return REASON_NO_LIBRARY;
  hotgemm_call call = HOTGEMM_CALL_INIT;
  call.flags = settings()->call_flags;
  const hotgemm_status status = hotgemm->gemm(hotgemm->context, &problem, &operands, stream, &call);
  if (status == HOTGEMM_NOT_PREPARED) {
    report_problem(hotgemm, &problem, &operands);
  } else if (status != HOTGEMM_SUCCESS) {
    report_failure(hotgemm, reason_of(status));
  }
  return reason_of(status);
}

bool serve_for_handle(const struct cublas* real, cublasHandle_t handle, const struct product* product) {
  struct product complete = *product;
  cudaStream_t stream = NULL;
  enum reason reason = read_handle(real, handle, &complete, &stream);
  if (reason == REASON_SERVED) reason = launch(&complete, stream);
  report_call(reason);
  return reason == REASON_SERVED;
}

bool serve_on_stream(const struct product* product, cudaStream_t stream) {
  const enum reason reason = launch(product, stream);
  report_call(reason);
  return reason == REASON_SERVED;
}
