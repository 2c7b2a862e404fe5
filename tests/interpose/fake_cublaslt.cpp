// A library in place of libcublasLt, with its soname and version: it notes which calls reach it, and keeps attributes.

#include "interpose/fake.hpp"

#include <cublasLt.h>

#include <cstring>
#include <map>

using hotgemm::interpose::FakeRecord;

namespace {

/// The attributes of a descriptor: bytes of the size that they have in cuBLASLt.
using Attributes = std::map<int, std::vector<std::byte>>;

template <class Handle>
Attributes& attributes_of(Handle handle) {
  return *reinterpret_cast<Attributes*>(handle);
}

template <class T>
void set(Attributes& attributes, int attribute, T value) {
  attributes[attribute].resize(sizeof value);
  std::memcpy(attributes[attribute].data(), &value, sizeof value);
}

cublasStatus_t write(Attributes& attributes, int attribute, const void* value, std::size_t bytes) {
  const auto found = attributes.find(attribute);
  if (found == attributes.end() || found->second.size() != bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(found->second.data(), value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t read(const Attributes& attributes, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  const auto found = attributes.find(attribute);
  if (found == attributes.end() || found->second.size() > bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, found->second.data(), found->second.size());
  *written = found->second.size();
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

FakeRecord* fake_record() {
  static auto* record = new FakeRecord();
  return record;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
  auto* all = new Attributes();
  set<std::int32_t>(*all, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute);
  set<std::int32_t>(*all, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale);
  set<std::int32_t>(*all, CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_FULL);
  set<std::uint32_t>(*all, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  set<std::int32_t>(*all, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1);
  set<std::int32_t>(*all, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, -1);
  for (const int number : {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
                           CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE}) {
    set<std::int64_t>(*all, number, 0);
  }
  for (const int number : {CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB,
                           CUBLASLT_MATMUL_DESC_TRANSC, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET}) {
    set<std::int32_t>(*all, number, 0);
  }
  for (const int pointer :
       {CUBLASLT_MATMUL_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER,
        CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER,
        CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER}) {
    set<const void*>(*all, pointer, nullptr);
  }
  for (const int pointer : {29, 30}) {  // CUBLASLT_MATMUL_DESC_ATOMIC_SYNC_IN_COUNTERS_POINTER, …_OUT_…
    if (HOTGEMM_FAKE_MAJOR < 13) set<const void*>(*all, pointer, nullptr);
  }
  if (HOTGEMM_FAKE_MAJOR >= 13) set<const void*>(*all, 38, nullptr);  // CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR
  for (const int stride : {39, 40}) {  // CUBLASLT_MATMUL_DESC_ALPHA_BATCH_STRIDE, …_BETA_…
    if (HOTGEMM_FAKE_MAJOR >= 13) set<std::int64_t>(*all, stride, 0);
  }
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(all);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete &attributes_of(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return write(attributes_of(desc), attribute, value, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              void* value, std::size_t bytes, std::size_t* written) {
  if (!attributes_of(desc).contains(attribute)) fake_record()->add_refused(attribute);
  return read(attributes_of(desc), attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t ld) {
  auto* all = new Attributes();
  set<std::int32_t>(*all, CUBLASLT_MATRIX_LAYOUT_TYPE, type);
  set<std::int32_t>(*all, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL);
  set<std::uint64_t>(*all, CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
  set<std::uint64_t>(*all, CUBLASLT_MATRIX_LAYOUT_COLS, cols);
  set<std::int64_t>(*all, CUBLASLT_MATRIX_LAYOUT_LD, ld);
  set<std::int32_t>(*all, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1);
  set<std::int64_t>(*all, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
  if (HOTGEMM_FAKE_MAJOR >= 13) set<std::int32_t>(*all, 8, 0);  // CUBLASLT_MATRIX_LAYOUT_BATCH_MODE
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(all);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &attributes_of(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  return write(attributes_of(layout), attribute, value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void* value,
                                                std::size_t bytes, std::size_t* written) {
  return read(attributes_of(layout), attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b,
                              const void* beta, const void* c, cublasLtMatrixLayout_t layout_c, void* d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t bytes, cudaStream_t stream) {
  return fake_record()->add("cublasLtMatmul", handle, desc, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d,
                            layout_d, algorithm, workspace, bytes, stream);
}

}  // extern "C"
