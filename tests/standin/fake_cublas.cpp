#include "standin/fake_cublas.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstdint>
#include <cstring>

using hotgemm::standin::FakeCublas;

namespace {

FakeCublas fake;
CUstream default_stream = nullptr;
int object = 0;  // all handles point to it, and all descriptions that nothing reads

template <class Handle>
cublasStatus_t make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&object);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t run(CUstream stream, int algorithm) {
  if (fake.broken.contains(algorithm)) return CUBLAS_STATUS_EXECUTION_FAILED;
  fake.launch(stream, algorithm);
  return CUBLAS_STATUS_SUCCESS;
}

using Attributes = decltype(hotgemm::standin::FakeProduct::attributes);

Attributes& attributes_of(cublasLtMatmulDesc_t desc) { return *reinterpret_cast<Attributes*>(desc); }

int number_of(const cublasLtMatmulAlgo_t& algorithm) { return static_cast<int>(algorithm.data[7]); }

}  // namespace

extern "C" {

FakeCublas* fake_cublas() { return &fake; }

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) { return make(handle); }
cublasStatus_t cublasDestroy_v2(cublasHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = fake.version;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t stream) {
  default_stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
const char* cublasGetStatusName(cublasStatus_t) { return "FAKE_STATUS"; }
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                            const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                            cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return run(default_stream, FakeCublas::kDefault);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                          const void*, const void*, cudaDataType, int, long long, const void*,
                                          cudaDataType, int, long long, const void*, void*, cudaDataType, int,
                                          long long, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return run(default_stream, FakeCublas::kDefault);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                   const void* const first[], cudaDataType, int, const void* const second[],
                                   cudaDataType, int, const void* beta, void* const d[], cudaDataType, int, int batch,
                                   cublasComputeType_t, cublasGemmAlgo_t) {
  fake.last = {.attributes = {},
               .first = first,
               .second = second,
               .c = nullptr,
               .d = d,
               .batch = batch,
               .beta = *static_cast<const float*>(beta)};
  return run(default_stream, FakeCublas::kDefault);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return make(handle); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t, cudaDataType_t) {
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Attributes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete &attributes_of(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  std::uint64_t word = 0;
  if (bytes > sizeof word) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&word, value, bytes);
  attributes_of(desc)[attribute] = word;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType, uint64_t, uint64_t, int64_t) {
  return make(layout);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void*, size_t) {
  constexpr int kBatchMode = 8;
  return attribute == kBatchMode && !fake.has_batch_mode ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) { return make(preference); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  ++fake.asked;
  for (int i = 0; i < fake.algorithms; ++i) {
    results[i] = {};
    results[i].algo.data[0] = 0xfedcba9876543210;
    results[i].algo.data[7] = static_cast<std::uint64_t>(i + 1);
  }
  *returned = fake.algorithms;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result) {
  *result = {};
  return fake.refused.contains(number_of(*algorithm)) ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t, void* value, size_t,
                                                    size_t* written) {
  *static_cast<int*>(value) = number_of(*algorithm);
  *written = sizeof(int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void*, const void* first,
                              cublasLtMatrixLayout_t, const void* second, cublasLtMatrixLayout_t, const void* beta,
                              const void* c, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t, cudaStream_t stream) {
  fake.last = {.attributes = attributes_of(desc),
               .first = first,
               .second = second,
               .c = c,
               .d = d,
               .beta = *static_cast<const float*>(beta)};
  return run(stream, number_of(*algorithm));
}

}  // extern "C"
