// A library in place of libcublas, with its soname and versions: it notes which calls reach it.

#include "interpose/fake.hpp"
#include "interpose/signatures.h"

#include <cublas_v2.h>

using hotgemm::interpose::FakeHandle;

namespace {

FakeHandle* state_of(cublasHandle_t handle) { return reinterpret_cast<FakeHandle*>(handle); }

template <class To, class From>
cublasStatus_t give(cublasHandle_t handle, To* to, From FakeHandle::*member) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *to = static_cast<To>(state_of(handle)->*member);
  return CUBLAS_STATUS_SUCCESS;
}

template <class To, class From>
cublasStatus_t take(cublasHandle_t handle, To FakeHandle::*member, From value) {
  state_of(handle)->*member = static_cast<To>(value);
  return CUBLAS_STATUS_SUCCESS;
}

/// Called with the arguments of a function, it notes them.
struct Noted {
  const char* name;
  template <class... Arguments>
  cublasStatus_t operator()(Arguments... arguments) const {
    return fake_record()->add(name, arguments...);
  }
};

}  // namespace

extern "C" {

// cublas_v2.h declares some of these with pointers to other types: so they have other names here than in the library.
#define HOTGEMM_FAKE(name, kind, Int)                           \
  __attribute__((symver(#name "@@" HOTGEMM_FAKE_VERSION)))      \
  cublasStatus_t noted_##name(HOTGEMM_PARAMETERS_##kind(Int)) { \
    return Noted{#name}(HOTGEMM_ARGUMENTS_##kind);              \
  }
HOTGEMM_PRODUCTS(HOTGEMM_FAKE)

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new FakeHandle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete state_of(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return take(handle, &FakeHandle::stream, stream);
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return give(handle, stream, &FakeHandle::stream);
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return take(handle, &FakeHandle::pointer_mode, mode);
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return give(handle, mode, &FakeHandle::pointer_mode);
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return take(handle, &FakeHandle::math_mode, mode);
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return give(handle, mode, &FakeHandle::math_mode);
}
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int target) {
  return take(handle, &FakeHandle::sm_count_target, target);
}
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* target) {
  return give(handle, target, &FakeHandle::sm_count_target);
}

cublasStatus_t fake_lt_call_of_cublas(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                                      const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                                      cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                                      cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                                      const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t bytes,
                                      cudaStream_t stream) {
  fake_record()->add("the caller of cublasLtMatmul");
  const cublasStatus_t status = cublasLtMatmul(handle, desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d,
                                               layout_d, algorithm, workspace, bytes, stream);
  fake_record()->add("the caller of cublasLtMatmul");  // so that the call is no jump
  return status;
}

}  // extern "C"
