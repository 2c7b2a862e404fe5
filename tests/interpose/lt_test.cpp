// cublasLtMatmul.

#include "interpose/lt_fixture.hpp"

namespace hotgemm::interpose {
namespace {

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

TEST_F(Lt, ServesRowsWithoutGaps) {
  for (const int gap_of_c : {0, 8}) {
    forget();
    p_ = {.op_a = CUBLAS_OP_T, .m = 1, .batch = 3, .padding = 0, .beta = -1};
    describe();
    cublasLtMatrixLayoutDestroy(layout_c_);
    p_.c = Matrix::random(3, p_.type_c, p_.m, p_.n, p_.batch, gap_of_c);
    layout_c_ = layout_of(p_.c);
    expect_served();
    EXPECT_EQ(Product::elements(d_), p_.expected());
    set_epilogue(CUBLASLT_EPILOGUE_BIAS);
    expect_served();
    EXPECT_EQ(Product::elements(d_), p_.expected(p_.c, [&](float v, auto i) { return v + bias_.get(0, i, 0); }));
  }
}

TEST_F(Lt, PassesOnAScalarForEachProduct) {
  if (HOTGEMM_FAKE_MAJOR < 13) GTEST_SKIP() << "a library without distances of scalars";
  for (const int attribute : {39, 40}) {  // CUBLASLT_MATMUL_DESC_ALPHA_BATCH_STRIDE, …_BETA_…
    describe({.batch = 3, .beta = 1});
    expect_served();
    set(attribute, std::int64_t{1});
    expect_passed_on();
    describe({.beta = 1});
    set(attribute, std::int64_t{1});  // of no consequence for one product
    expect_served();
  }
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
