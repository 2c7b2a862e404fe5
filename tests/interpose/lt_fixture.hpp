#pragma once

#include "interpose/bit_matrix.hpp"
#include "interpose/fixture.hpp"

#include <cmath>

namespace hotgemm::interpose {

inline constexpr std::uint64_t kNoAlgorithm[8] = {1, 2, 3, 4, 5, 6, 7, 8};

/// Calls of cublasLtMatmul, and functions of epilogues. The environment of this suite: HOTGEMM_CUBLAS_SERVE=prepared,
/// HOTGEMM_CUBLAS_SGEMM=1.
class Lt : public InterposeTest {
 protected:
  Lt() {
    p_.beta = 0;
    describe();
  }
  ~Lt() override { forget(); }

  void describe() {
    p_.allocate();
    d_ = Matrix::random(4, p_.type_c, p_.m, p_.n, p_.batch, p_.padding);
    bias_ = Matrix::random(5, p_.type_c, p_.m, 1);
    cublasLtMatmulDescCreate(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(p_.op_a));
    set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(p_.op_b));
    layout_a_ = layout_of(p_.a);
    layout_b_ = layout_of(p_.b);
    layout_c_ = layout_of(p_.c);
    layout_d_ = layout_of(d_);
  }
  void forget() {
    cublasLtMatmulDescDestroy(desc_);
    for (cublasLtMatrixLayout_t layout : {layout_a_, layout_b_, layout_c_, layout_d_})
      cublasLtMatrixLayoutDestroy(layout);
  }
  static cublasLtMatrixLayout_t layout_of(const Matrix& matrix) {
    cublasLtMatrixLayout_t layout = nullptr;
    cublasLtMatrixLayoutCreate(&layout, matrix.type(), static_cast<std::uint64_t>(matrix.rows()),
                               static_cast<std::uint64_t>(matrix.cols()), matrix.ld());
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(matrix.batch()));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride());
    return layout;
  }
  template <class T>
  void set(int attribute, T value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(desc_, static_cast<cublasLtMatmulDescAttributes_t>(attribute), &value,
                                             sizeof value),
              CUBLAS_STATUS_SUCCESS);
  }
  template <class T>
  static void set(cublasLtMatrixLayout_t layout, int attribute, T value) {
    ASSERT_EQ(cublasLtMatrixLayoutSetAttribute(layout, static_cast<cublasLtMatrixLayoutAttribute_t>(attribute), &value,
                                               sizeof value),
              CUBLAS_STATUS_SUCCESS);
  }
  void set_epilogue(cublasLtEpilogue_t epilogue) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(epilogue));
    if ((epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_.at());
  }
  void set_auxiliary(const void* at, std::int64_t ld, std::int64_t stride) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, stride);
  }
  void describe(const Product& product) {
    forget();
    p_ = product;
    describe();
  }
  BitMatrix describe_with_bits(const Product& product, cublasLtEpilogue_t epilogue) {
    describe(product);
    const BitMatrix bits(p_.m, p_.n, p_.batch);
    set_epilogue(epilogue);
    set_auxiliary(bits.at(), BitMatrix::kLd, bits.stride());
    return bits;
  }
  Matrix describe_with_matrix(const Product& product, cublasLtEpilogue_t epilogue) {
    describe(product);
    Matrix matrix = Matrix::random(6, p_.type_c, p_.m, p_.n, p_.batch);
    set_epilogue(epilogue);
    set_auxiliary(matrix.at(), matrix.ld(), matrix.stride());
    return matrix;
  }
  float bias_of(cublasLtEpilogue_t epilogue, std::int64_t i) const {
    return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0 ? bias_.get(0, i, 0) : 0;
  }

  template <class Function>
  cublasStatus_t call(Function function) {
    return function(lt_, desc_, &p_.alpha, p_.a.at(), layout_a_, p_.b.at(), layout_b_, &p_.beta, c_at(), layout_c_,
                    d_.at(), layout_d_, algorithm(), workspace_, std::size_t{77}, stream_);
  }
  void expect_served() {
    call_until_served([this] { return call(&cublasLtMatmul); });
  }
  void expect_passed_on() {
    const std::vector<float> before = Product::elements(d_);
    InterposeTest::expect_passed_on("cublasLtMatmul", &cublasLtMatmul, lt_, desc_, &p_.alpha, p_.a.at(), layout_a_,
                                    p_.b.at(), layout_b_, &p_.beta, c_at(), layout_c_, d_.at(), layout_d_, algorithm(),
                                    workspace_, std::size_t{77}, stream_);
    EXPECT_EQ(Product::elements(d_), before);
  }
  const void* c_at() const { return p_.beta != 0 ? p_.c.at() : nullptr; }
  static const cublasLtMatmulAlgo_t* algorithm() { return reinterpret_cast<const cublasLtMatmulAlgo_t*>(kNoAlgorithm); }

  Product p_;
  Matrix d_, bias_;
  cublasLtHandle_t lt_ = reinterpret_cast<cublasLtHandle_t>(0x1230);
  void* workspace_ = reinterpret_cast<void*>(0x4560);
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t layout_a_ = nullptr, layout_b_ = nullptr, layout_c_ = nullptr, layout_d_ = nullptr;
};

inline float relu(float value) { return value < 0 ? 0 : value; }
inline float tanh_of_gelu(float v) { return std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)); }
inline float gelu(float v) { return v / 2 * (1 + tanh_of_gelu(v)); }
inline float slope_of_gelu(float v) {
  const float t = tanh_of_gelu(v);
  return (1 + t) / 2 + v / 2 * (1 - t * t) * 0.7978845608f * (1 + 3 * 0.044715f * v * v);
}

inline void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-5f * (1 + std::abs(expected[i])));  // gelu with erf is off by 1e-4
  }
}

}  // namespace hotgemm::interpose
