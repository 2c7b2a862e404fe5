// Descriptors of a real libcublasLt, which need no GPU. HOTGEMM_TEST_CUBLASLT names the library.

#include <cublasLt.h>  // has templates: not in the block below

extern "C" {
#include "interpose/lt_call.h"
}

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>

namespace hotgemm::interpose {
namespace {

class RealLt : public testing::Test {
 protected:
  RealLt() {
    const char* path = std::getenv("HOTGEMM_TEST_CUBLASLT");
    library_ = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  void SetUp() override {
    if (library_ == nullptr) GTEST_SKIP() << "no libcublasLt";
    ASSERT_NE(dlsym(library_, "cublasLtGetVersion"), nullptr) << "the library is one of these tests";
    find(real_.cublasLtMatmulDescGetAttribute, "cublasLtMatmulDescGetAttribute");
    find(real_.cublasLtMatrixLayoutGetAttribute, "cublasLtMatrixLayoutGetAttribute");
    find(desc_create_, "cublasLtMatmulDescCreate");
    find(desc_set_, "cublasLtMatmulDescSetAttribute");
    find(layout_create_, "cublasLtMatrixLayoutCreate");
    find(layout_set_, "cublasLtMatrixLayoutSetAttribute");
    ASSERT_EQ(desc_create_(&call_.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    call_.layout_a = layout_of(8, 16, 24);  // stored as k x m
    call_.layout_b = layout_of(8, 32, 40);
    call_.layout_c = call_.layout_d = layout_of(16, 32, 48);
    set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
    call_.d = this;
  }

  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    ASSERT_NE(function, nullptr) << name;
  }
  cublasLtMatrixLayout_t layout_of(std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
    cublasLtMatrixLayout_t layout = nullptr;
    EXPECT_EQ(layout_create_(&layout, CUDA_R_16BF, rows, cols, ld), CUBLAS_STATUS_SUCCESS);
    return layout;
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    ASSERT_EQ(desc_set_(call_.desc, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS) << attribute;
  }
  template <class T>
  void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
    ASSERT_EQ(layout_set_(layout, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS) << attribute;
  }
  reason read() { return read_lt_call(&real_, &call_, &product_); }

  void* library_;
  cublaslt real_{};
  lt_call call_{};
  product product_{};
  decltype(&cublasLtMatmulDescCreate) desc_create_ = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set_ = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create_ = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set_ = nullptr;
};

TEST_F(RealLt, DefaultsAreServed) {
  ASSERT_EQ(read(), REASON_SERVED);
  EXPECT_EQ(product_.op_a, CUBLAS_OP_T);
  EXPECT_EQ(product_.op_b, CUBLAS_OP_N);
  EXPECT_EQ(product_.m, 16);
  EXPECT_EQ(product_.n, 32);
  EXPECT_EQ(product_.k, 8);
  EXPECT_EQ(product_.batch, 1);
  EXPECT_EQ(product_.a.type, CUDA_R_16BF);
  EXPECT_EQ(product_.a.ld, 24);
  EXPECT_EQ(product_.b.ld, 40);
  EXPECT_EQ(product_.d.ld, 48);
  EXPECT_EQ(product_.d.at, this);
  EXPECT_EQ(product_.compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(product_.scale, CUDA_R_32F);
  EXPECT_EQ(product_.epilogue, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(product_.sm_target, 0);
}

TEST_F(RealLt, EpiloguesAndTargetsAreRead) {
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_RELU_BIAS});
  set<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, this);
  set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, std::int32_t{100});
  ASSERT_EQ(read(), REASON_SERVED);
  EXPECT_EQ(product_.epilogue, CUBLASLT_EPILOGUE_RELU_BIAS);
  EXPECT_EQ(product_.bias, this);
  EXPECT_EQ(product_.sm_target, 100);
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{CUDA_R_32F});
  EXPECT_EQ(read(), REASON_EPILOGUE);
}

TEST_F(RealLt, AuxiliaryMatricesAreRead) {
  std::int64_t ld = 128;
  for (const cublasLtEpilogue_t epilogue : {CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_DGELU}) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(epilogue));
    set<const void*>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, this);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld += 128);
    ASSERT_EQ(read(), REASON_SERVED);
    EXPECT_EQ(product_.epilogue, epilogue);
    EXPECT_EQ(product_.auxiliary.at, this);
    EXPECT_EQ(product_.auxiliary.ld, ld);
  }
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, std::int32_t{CUDA_R_16BF});
  EXPECT_EQ(read(), REASON_SERVED);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, std::int32_t{CUDA_R_8F_E4M3});
  EXPECT_EQ(read(), REASON_EPILOGUE);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, std::int32_t{-1});
  for (const auto attribute :
       {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER}) {
    set<const void*>(attribute, this);
    EXPECT_EQ(read(), REASON_EPILOGUE);
    set<const void*>(attribute, nullptr);
  }
  EXPECT_EQ(read(), REASON_SERVED);
}

TEST_F(RealLt, BatchesAreRead) {
  std::int64_t stride = 1000;
  for (cublasLtMatrixLayout_t layout : {call_.layout_a, call_.layout_b, call_.layout_d}) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{5});
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, ++stride);
  }
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_GELU_AUX});
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, std::int64_t{2000});
  ASSERT_EQ(read(), REASON_SERVED);
  EXPECT_EQ(product_.batch, 5);
  EXPECT_EQ(product_.a.stride, 1001);
  EXPECT_EQ(product_.b.stride, 1002);
  EXPECT_EQ(product_.c.stride, 1003);
  EXPECT_EQ(product_.auxiliary.stride, 2000);
}

TEST_F(RealLt, AScalarForEachProductIsSeen) {
  for (cublasLtMatrixLayout_t layout : {call_.layout_a, call_.layout_b, call_.layout_d}) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{5});
  }
  for (const int attribute : {39, 40}) {  // CUBLASLT_MATMUL_DESC_ALPHA_BATCH_STRIDE, …_BETA_…
    std::int64_t stride = 1;
    const auto number = static_cast<cublasLtMatmulDescAttributes_t>(attribute);
    if (desc_set_(call_.desc, number, &stride, sizeof stride) != CUBLAS_STATUS_SUCCESS) GTEST_SKIP() << "before 13.4";
    EXPECT_EQ(read(), REASON_SCALARS);
    stride = 0;
    set(number, stride);
    EXPECT_EQ(read(), REASON_SERVED);
  }
}

TEST_F(RealLt, WhatIsNotServedIsSeen) {
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{CUBLASLT_POINTER_MODE_DEVICE});
  EXPECT_EQ(read(), REASON_SCALARS);
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{CUBLASLT_POINTER_MODE_HOST});
  set<const void*>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, this);
  EXPECT_EQ(read(), REASON_EPILOGUE);
  set<const void*>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, nullptr);
  set(call_.layout_b, CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_ROW});
  EXPECT_EQ(read(), REASON_LAYOUT);
}

}  // namespace
}  // namespace hotgemm::interpose
