// cublasLtMatmul. The environment of this suite: HOTGEMM_CUBLAS_SERVE=prepared, HOTGEMM_CUBLAS_SGEMM=1.

#include "interpose/fixture.hpp"

#include <cmath>
#include <tuple>

namespace hotgemm::interpose {
namespace {

constexpr std::uint64_t kNoAlgorithm[8] = {1, 2, 3, 4, 5, 6, 7, 8};

/// Matrices of bits in cuBLASLt's layout: column-major, the lowest bit of a byte first.
class BitMatrix {
 public:
  BitMatrix() = default;
  BitMatrix(std::int64_t rows, std::int64_t cols, std::int64_t batch)
      : rows_(rows), cols_(cols), batch_(batch), stride_(kLd * cols + 128) {
    at_ = static_cast<std::uint8_t*>(allocate_on_device(static_cast<std::size_t>(stride_ / 8 * batch)));
    std::fill_n(at_, stride_ / 8 * batch, kUntouched);
  }
  void fill(unsigned seed) {
    std::minstd_rand random(seed);
    std::generate_n(at_, stride_ / 8 * batch_, [&] { return static_cast<std::uint8_t>(random() >> 8); });
  }
  bool get(std::int64_t p, std::int64_t i, std::int64_t j) const {
    return (at_[(p * stride_ + j * kLd) / 8 + i / 8] >> (i % 8) & 1) != 0;
  }
  /// All bits as numbers, in the order of Product::elements.
  std::vector<float> bits() const {
    std::vector<float> all;
    for (std::int64_t p = 0; p < batch_; ++p) {
      for (std::int64_t j = 0; j < cols_; ++j) {
        for (std::int64_t i = 0; i < rows_; ++i) all.push_back(get(p, i, j) ? 1 : 0);
      }
    }
    return all;
  }
  /// True if no byte behind the bytes of a column has been written.
  bool has_untouched_gaps() const {
    for (std::int64_t at = 0; at < stride_ / 8 * batch_; ++at) {
      const std::int64_t in_product = at % (stride_ / 8);
      const bool is_of_column = in_product / (kLd / 8) < cols_ && in_product % (kLd / 8) < (rows_ + 7) / 8;
      if (!is_of_column && at_[at] != kUntouched) return false;
    }
    return true;
  }
  std::uint8_t* at() const { return at_; }
  std::int64_t stride() const { return stride_; }
  static constexpr std::int64_t kLd = 256;

 private:
  static constexpr std::uint8_t kUntouched = 0xa5;
  std::int64_t rows_ = 0, cols_ = 0, batch_ = 0, stride_ = 0;
  std::uint8_t* at_ = nullptr;
};

class Lt : public InterposeTest {
 protected:
  Lt() {
    p_.beta = 0;
    describe();
  }
  ~Lt() override { forget(); }

  void describe() {
    p_.allocate();
    d_ = Matrix::random(4, p_.type_c, p_.m, p_.n, p_.batch);
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

TEST_F(Lt, ServesEveryOperationWithAnotherC) {
  for (const cublasOperation_t op_a : {CUBLAS_OP_N, CUBLAS_OP_T}) {
    for (const cublasOperation_t op_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      forget();
      p_ = {.op_a = op_a, .op_b = op_b, .alpha = 2, .beta = -1};
      describe();
      expect_served();
      EXPECT_EQ(Product::elements(d_), p_.expected());
    }
  }
}

TEST_F(Lt, ServesABatch) {
  forget();
  p_ = {.op_a = CUBLAS_OP_T, .batch = 3, .type = CUDA_R_16F, .type_c = CUDA_R_16F, .beta = 1};
  describe();
  expect_served();
  EXPECT_EQ(Product::elements(d_), p_.expected());
  set_epilogue(CUBLASLT_EPILOGUE_BIAS);
  expect_served();
  EXPECT_EQ(Product::elements(d_), p_.expected(p_.c, [&](float v, auto i) { return v + bias_.get(0, i, 0); }));
  set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, std::int64_t{64});
  expect_passed_on();
}

TEST_F(Lt, ServesArraysOfPointers) {
  if (HOTGEMM_FAKE_MAJOR < 13) GTEST_SKIP() << "a library without batch modes";
  forget();
  p_ = {.op_a = CUBLAS_OP_T, .batch = 3, .type = CUDA_R_16F, .type_c = CUDA_R_16F, .beta = 1};
  describe();
  for (const cublasLtMatrixLayout_t layout : {layout_a_, layout_b_, layout_c_, layout_d_}) {
    set(layout, 8, std::int32_t{1});  // CUBLASLT_BATCH_MODE_POINTER_ARRAY
  }
  void* const* const a = p_.a.array();
  void* const* const b = p_.b.array();
  void* const* const c = p_.c.array();
  void* const* const d = d_.array();
  call_until_served([&] {
    return cublasLtMatmul(lt_, desc_, &p_.alpha, a, layout_a_, b, layout_b_, &p_.beta, c, layout_c_,
                          const_cast<void**>(d), layout_d_, algorithm(), workspace_, std::size_t{77}, stream_);
  });
  EXPECT_EQ(Product::elements(d_), p_.expected());
}

float relu(float value) { return value < 0 ? 0 : value; }

TEST_F(Lt, ServesABiasOfRowsAndRelu) {
  set_epilogue(CUBLASLT_EPILOGUE_RELU);
  expect_served();
  EXPECT_EQ(Product::elements(d_), p_.expected(p_.c, [](float v, auto) { return relu(v); }));
  set_epilogue(CUBLASLT_EPILOGUE_BIAS);
  expect_served();
  EXPECT_EQ(Product::elements(d_), p_.expected(p_.c, [&](float v, auto i) { return v + bias_.get(0, i, 0); }));
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(CUDA_R_16BF));  // D's: the default, said aloud
  set_epilogue(CUBLASLT_EPILOGUE_RELU_BIAS);
  expect_served();
  EXPECT_EQ(Product::elements(d_), p_.expected(p_.c, [&](float v, auto i) { return relu(v + bias_.get(0, i, 0)); }));
}

float tanh_of_gelu(float v) { return std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)); }
float gelu(float v) { return v / 2 * (1 + tanh_of_gelu(v)); }
float slope_of_gelu(float v) {
  const float t = tanh_of_gelu(v);
  return (1 + t) / 2 + v / 2 * (1 - t * t) * 0.7978845608f * (1 + 3 * 0.044715f * v * v);
}

void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-5f * (1 + std::abs(expected[i])));  // gelu with erf is off by 1e-4
  }
}

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
      EXPECT_EQ(bits.bits(), p_.expected(p_.c, [&](float v, auto i) { return value(v, i) > 0 ? 1.0f : 0.0f; }));
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

TEST_F(Lt, AsksOnceForCountersThatTheLibraryLacks) {
  expect_served();
  fake_record()->take_refused();
  expect_served();
  set_epilogue(CUBLASLT_EPILOGUE_RELU);
  expect_served();
  EXPECT_EQ(fake_record()->take_refused(), std::vector<int>());
}

TEST_F(Lt, ServesTheGeluWithTanh) {
  for (const cublasLtEpilogue_t epilogue : {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}) {
    describe({.type_c = CUDA_R_32F, .alpha = 0.125f});
    set_epilogue(epilogue);
    expect_served();
    expect_near(Product::elements(d_),
                p_.expected(p_.c, [&](float v, auto i) { return gelu(v + bias_of(epilogue, i)); }));
  }
}

TEST_F(Lt, PassesOnOtherEpilogues) {
  expect_served();
  const BitMatrix bits(p_.m, p_.n, p_.batch);  // is a matrix of all auxiliary types
  set_auxiliary(bits.at(), BitMatrix::kLd, bits.stride());
  constexpr auto kNoAuxiliaryOf = static_cast<cublasLtEpilogue_t>(CUBLASLT_EPILOGUE_DEFAULT | 128);
  constexpr auto kDreluBias = static_cast<cublasLtEpilogue_t>(CUBLASLT_EPILOGUE_DRELU | CUBLASLT_EPILOGUE_BIAS);
  for (const cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_DRELU_BGRAD,
        CUBLASLT_EPILOGUE_DGELU_BGRAD, kNoAuxiliaryOf, kDreluBias}) {
    set_epilogue(epilogue);
    expect_passed_on();
  }
  set_epilogue(CUBLASLT_EPILOGUE_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, std::int64_t{64});  // of no consequence for one product
  expect_served();
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(CUDA_R_32F));
  expect_passed_on();
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{-1});
  set<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  expect_passed_on();
  set_epilogue(CUBLASLT_EPILOGUE_DEFAULT);
  expect_served();
}

/// An attribute of the operation with a value that is not served, and its usual one.
template <class T>
struct Change {
  int attribute;
  T to, usual;
};

TEST_F(Lt, PassesOnOtherOperations) {
  expect_served();
  for (const auto& [attribute, to, usual] :
       {Change<std::int32_t>{CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE, 0},
        Change<std::int32_t>{CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST, 0},
        Change<std::int32_t>{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F},
        Change<std::int32_t>{CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUDA_R_64F, CUDA_R_32F},
        Change<std::int32_t>{CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_T, CUBLAS_OP_N},
        Change<std::int32_t>{CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_FULL}}) {
    SCOPED_TRACE(attribute);
    set(attribute, to);
    expect_passed_on();
    set(attribute, usual);
  }
  std::vector<int> pointers = {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                               CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
                               CUBLASLT_MATMUL_DESC_AMAX_D_POINTER};
  if (HOTGEMM_FAKE_MAJOR < 13) pointers.insert(pointers.end(), {29, 30});  // counters of atomic synchronization
  for (const int attribute : pointers) {
    SCOPED_TRACE(attribute);
    set<const void*>(attribute, bias_.at());
    expect_passed_on();
    set<const void*>(attribute, nullptr);
  }
  expect_served();
}

TEST_F(Lt, PassesOnEmulationOfF32Only) {
  constexpr int kEmulation = 38;  // CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR
  const bool can_emulate = HOTGEMM_FAKE_MAJOR >= 13;
  if (can_emulate) set<const void*>(kEmulation, bias_.at());
  expect_served();
  forget();
  p_ = {.type = CUDA_R_32F, .type_c = CUDA_R_32F};
  describe();
  expect_served();
  if (can_emulate) {
    set<const void*>(kEmulation, bias_.at());
    expect_passed_on();
  }
}

TEST_F(Lt, ServesOneLayoutForCAndD) {
  p_.beta = 1;
  cublasLtMatrixLayout_t kept = std::exchange(layout_c_, layout_d_);
  expect_served();
  EXPECT_EQ(Product::elements(d_), p_.expected());
  layout_c_ = kept;
}

TEST_F(Lt, PassesOnOtherLayouts) {
  expect_served();
  for (const cublasLtMatrixLayout_t layout : {layout_a_, layout_b_, layout_c_, layout_d_}) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<std::int32_t>(CUBLASLT_ORDER_ROW));
    expect_passed_on();
    set(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<std::int32_t>(CUBLASLT_ORDER_COL));
    set(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<std::int32_t>(CUDA_R_8F_E4M3));
    expect_passed_on();
    set(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<std::int32_t>(CUDA_R_16BF));
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
    expect_passed_on();
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{1});
    if (HOTGEMM_FAKE_MAJOR < 13) continue;
    set(layout, 8, std::int32_t{1});  // CUBLASLT_BATCH_MODE_POINTER_ARRAY
    expect_passed_on();
    set(layout, 8, std::int32_t{0});
  }
  set(layout_b_, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{9});
  expect_passed_on();
  set(layout_b_, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{8});
  expect_served();
}

TEST_F(Lt, PassesOnWhatIsMissing) {
  expect_served();
  InterposeTest::expect_passed_on("cublasLtMatmul", &cublasLtMatmul, lt_, nullptr, nullptr, nullptr, nullptr, nullptr,
                                  nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                  std::size_t{0}, nullptr);
  cublasLtMatrixLayout_t kept = std::exchange(layout_a_, nullptr);
  expect_passed_on();
  layout_a_ = kept;
}

TEST_F(Lt, PassesOnWhatLibcublasAsks) {
  expect_served();
  EXPECT_EQ(call(&fake_lt_call_of_cublas), FakeRecord::kAnswer);
  std::vector<std::string> names;
  for (const FakeCall& one : fake_record()->take()) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"the caller of cublasLtMatmul", "cublasLtMatmul",
                                             "the caller of cublasLtMatmul"}));
  expect_served();
}

}  // namespace
}  // namespace hotgemm::interpose
