// cublasLtMatmul with an auxiliary matrix.

#include "interpose/lt_fixture.hpp"

#include <tuple>

namespace hotgemm::interpose {
namespace {

/// Products with an auxiliary matrix: one, and a batch whose columns of D end within a byte of bits.
const std::vector<Product> kWithAuxiliary = {
    {.op_b = CUBLAS_OP_T, .alpha = 2, .beta = -1},
    {.op_a = CUBLAS_OP_T, .m = 21, .batch = 3, .type = CUDA_R_16F, .type_c = CUDA_R_16F, .beta = 1}};

TEST_F(Lt, ServesReluThatStoresBits) {
  for (const Product& product : kWithAuxiliary) {
    for (const cublasLtEpilogue_t epilogue : {CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_RELU_AUX_BIAS}) {
      const BitMatrix bits = describe_with_bits(product, epilogue);
      expect_served();
      const auto value = [&](float v, auto i) { return v + bias_of(epilogue, i); };
      EXPECT_EQ(Product::elements(d_), p_.expected(p_.c, [&](float v, auto i) { return relu(value(v, i)); }));
      EXPECT_EQ(bits.bits(), p_.expected(p_.c, [&](float v, auto i) { return value(v, i) >= 0 ? 1.0f : 0.0f; }));
      EXPECT_TRUE(bits.has_untouched_gaps());
    }
  }
}

TEST_F(Lt, ServesTheDerivativeOfReluByBits) {
  for (const Product& product : kWithAuxiliary) {
    BitMatrix bits = describe_with_bits(product, CUBLASLT_EPILOGUE_DRELU);
    bits.fill(7);
    expect_served();
    EXPECT_EQ(Product::elements(d_),
              p_.expected_at(p_.c, [&](float v, auto p, auto i, auto j) { return bits.get(p, i, j) ? v : 0; }));
  }
}

TEST_F(Lt, ServesGeluThatStoresItsArgument) {
  for (Product product : kWithAuxiliary) {
    product.type_c = CUDA_R_32F;
    for (const cublasLtEpilogue_t epilogue : {CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}) {
      const Matrix auxiliary = describe_with_matrix(product, epilogue);
      expect_served();
      const auto value = [&](float v, auto i) { return v + bias_of(epilogue, i); };
      EXPECT_EQ(Product::elements(auxiliary), p_.expected(p_.c, value));
      expect_near(Product::elements(d_), p_.expected(p_.c, [&](float v, auto i) { return gelu(value(v, i)); }));
    }
  }
}

TEST_F(Lt, StoresTheArgumentOfGeluInTheTypeOfD) {
  const Matrix auxiliary = describe_with_matrix({.type_c = CUDA_R_16BF}, CUBLASLT_EPILOGUE_GELU_AUX);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, std::int32_t{CUDA_R_16BF});  // the default, said aloud
  expect_served();
  EXPECT_EQ(Product::elements(auxiliary), p_.expected());
}

TEST_F(Lt, ServesTheDerivativeOfGelu) {
  for (Product product : kWithAuxiliary) {
    Matrix auxiliary = describe_with_matrix(product, CUBLASLT_EPILOGUE_DGELU);
    // Slopes of 0, 1/2 and 1: exact.
    const auto argument = [](auto p, auto i, auto j) { return static_cast<float>(((p + i + 2 * j) % 3 - 1) * 64); };
    auxiliary.fill(argument);
    expect_served();
    EXPECT_EQ(Product::elements(d_), p_.expected_at(p_.c, [&](float v, auto p, auto i, auto j) {
      return v * (argument(p, i, j) + 64) / 128;
    }));
    product.type_c = CUDA_R_32F;
    auxiliary = describe_with_matrix(product, CUBLASLT_EPILOGUE_DGELU);
    expect_served();
    expect_near(Product::elements(d_), p_.expected_at(p_.c, [&](float v, auto p, auto i, auto j) {
      return v * slope_of_gelu(auxiliary.get(p, i, j));
    }));
  }
}

TEST_F(Lt, PassesOnOtherMatricesOfBits) {
  const BitMatrix bits = describe_with_bits(kWithAuxiliary[1], CUBLASLT_EPILOGUE_RELU_AUX);
  expect_served();
  for (const auto& [at, ld, stride] :
       {std::tuple(static_cast<std::uint8_t*>(nullptr), BitMatrix::kLd, bits.stride()),
        std::tuple(bits.at() + 8, BitMatrix::kLd, bits.stride()), std::tuple(bits.at(), std::int64_t{0}, bits.stride()),
        std::tuple(bits.at(), std::int64_t{64}, bits.stride()), std::tuple(bits.at(), BitMatrix::kLd, std::int64_t{0}),
        std::tuple(bits.at(), BitMatrix::kLd, bits.stride() + 8)}) {
    set_auxiliary(at, ld, stride);
    expect_passed_on();
  }
  set_auxiliary(bits.at(), BitMatrix::kLd, bits.stride());
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, std::int32_t{CUDA_R_16F});  // bits have no type
  expect_passed_on();
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, std::int32_t{-1});
  expect_served();
}

TEST_F(Lt, PassesOnOtherAuxiliaryMatrices) {
  const Matrix auxiliary = describe_with_matrix(kWithAuxiliary[1], CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  expect_served();
  for (const int attribute :
       {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER}) {
    set<const void*>(attribute, bias_.at());
    expect_passed_on();
    set<const void*>(attribute, nullptr);
  }
  for (const cudaDataType type : {CUDA_R_16BF, CUDA_R_8F_E4M3, CUDA_R_32F}) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, static_cast<std::int32_t>(type));
    expect_passed_on();
  }
  set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, std::int32_t{-1});
  set_auxiliary(nullptr, auxiliary.ld(), auxiliary.stride());
  expect_passed_on();
  set_auxiliary(d_.at(), d_.ld(), d_.stride());
  expect_passed_on();
  set_auxiliary(auxiliary.at(), p_.m - 1, auxiliary.stride());
  expect_passed_on();
  set_auxiliary(auxiliary.at(), auxiliary.ld(), auxiliary.stride());
  expect_served();
  if (HOTGEMM_FAKE_MAJOR < 13) return;
  for (const cublasLtMatrixLayout_t layout : {layout_a_, layout_b_, layout_c_, layout_d_}) {
    set(layout, 8, std::int32_t{1});  // CUBLASLT_BATCH_MODE_POINTER_ARRAY
  }
  expect_passed_on();
}

TEST_F(Lt, PassesOnAuxiliaryMatricesBesideIntegers) {
  describe_with_matrix({.type = CUDA_R_8I, .type_c = CUDA_R_32I}, CUBLASLT_EPILOGUE_GELU_AUX);
  set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, static_cast<std::int32_t>(CUBLAS_COMPUTE_32I));
  set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, static_cast<std::int32_t>(CUDA_R_32I));
  p_.alpha = 0;  // the same bits as an integer
  expect_passed_on();
}

}  // namespace
}  // namespace hotgemm::interpose
