// Every condition that is not met passes a call on, with its arguments as they are. The environment of this suite:
// HOTGEMM_CUBLAS_SERVE=prepared.

#include "interpose/fixture.hpp"

#include <gmock/gmock.h>

#include <dlfcn.h>

#include <limits>
#include <type_traits>

namespace hotgemm::interpose {
namespace {

/// A call of cublasGemmEx whose problem is prepared: as it is, it would be served.
class PassedOn : public InterposeTest {
 protected:
  PassedOn() {
    p_.beta = 1;
    p_.allocate();
    call_until_served([this] { return call(bound::cublasGemmEx); });
    before_ = p_.elements();
  }
  ~PassedOn() override {
    EXPECT_EQ(p_.elements(), before_) << "a call that is passed on has changed nothing";
    EXPECT_EQ(call(bound::cublasGemmEx), CUBLAS_STATUS_SUCCESS) << "the call itself is served all the while";
  }

  template <class Function>
  cublasStatus_t call(Function function) {
    return function(handle_, p_.op_a, p_.op_b, p_.m, p_.n, p_.k, alpha_, p_.a.at(), type_a_, lda_, p_.b.at(), type_b_,
                    p_.b.int_ld(), &p_.beta, p_.c.at(), type_c_, p_.c.int_ld(), compute_, CUBLAS_GEMM_DEFAULT);
  }
  /// The call as the fields say it now.
  void expect_gemm_ex_passed_on(cublasHandle_t handle) {
    expect_passed_on("cublasGemmEx", bound::cublasGemmEx, handle, p_.op_a, p_.op_b, m_, p_.n, p_.k, alpha_, p_.a.at(),
                     type_a_, lda_, p_.b.at(), type_b_, p_.b.int_ld(), &p_.beta, p_.c.at(), type_c_, p_.c.int_ld(),
                     compute_, CUBLAS_GEMM_DEFAULT);
    alpha_ = &p_.alpha;
    type_a_ = type_b_ = type_c_ = CUDA_R_16BF;
    compute_ = CUBLAS_COMPUTE_32F;
    lda_ = p_.a.int_ld();
    m_ = p_.m;
  }
  void expect_gemm_ex_passed_on() { expect_gemm_ex_passed_on(handle_); }

  Product p_;
  int m_ = p_.m, lda_ = p_.m + 8;
  const void* alpha_ = &p_.alpha;
  cudaDataType type_a_ = CUDA_R_16BF, type_b_ = CUDA_R_16BF, type_c_ = CUDA_R_16BF;
  cublasComputeType_t compute_ = CUBLAS_COMPUTE_32F;

 private:
  std::vector<float> before_;
};

TEST_F(PassedOn, ScalarsOnTheDevice) {
  cublasSetPointerMode_v2(handle_, CUBLAS_POINTER_MODE_DEVICE);
  expect_gemm_ex_passed_on();
  cublasSetPointerMode_v2(handle_, CUBLAS_POINTER_MODE_HOST);
}

TEST_F(PassedOn, MissingScalars) {
  alpha_ = nullptr;
  expect_gemm_ex_passed_on();
}

TEST_F(PassedOn, OtherMathModes) {
  for (const int mode : {static_cast<int>(CUBLAS_PEDANTIC_MATH), 4, 8}) {  // emulation of f32 and f64
    cublasSetMathMode(handle_, static_cast<cublasMath_t>(mode));
    expect_gemm_ex_passed_on();
  }
  cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH);
}

TEST_F(PassedOn, OtherComputeTypes) {
  for (const cublasComputeType_t compute :
       {CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_FAST_16BF,
        CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32I}) {
    compute_ = compute;
    expect_gemm_ex_passed_on();
  }
}

TEST_F(PassedOn, OtherTypes) {
  type_b_ = CUDA_R_16F;
  expect_gemm_ex_passed_on();
  type_c_ = CUDA_R_16F;
  expect_gemm_ex_passed_on();
  type_a_ = type_b_ = CUDA_R_8I;
  expect_gemm_ex_passed_on();
  type_a_ = type_b_ = type_c_ = CUDA_R_64F;
  expect_gemm_ex_passed_on();
  type_a_ = type_b_ = type_c_ = CUDA_C_32F;
  expect_gemm_ex_passed_on();
}

TEST_F(PassedOn, F32UnlessItIsAskedFor) {
  type_a_ = type_b_ = type_c_ = CUDA_R_32F;
  expect_gemm_ex_passed_on();
}

TEST_F(PassedOn, NothingToCompute) {
  for (const int m : {0, -1, std::numeric_limits<int>::min()}) {
    m_ = m;
    expect_gemm_ex_passed_on();
  }
}

TEST_F(PassedOn, ArgumentsThatAreWrong) {
  lda_ = p_.m - 1;
  expect_gemm_ex_passed_on();
  expect_gemm_ex_passed_on(nullptr);
}

TEST_F(PassedOn, ASmTargetThatNoKernelKeeps) {
  cublasSetSmCountTarget(handle_, -3);
  expect_gemm_ex_passed_on();
  cublasSetSmCountTarget(handle_, 0);
}

TEST_F(PassedOn, ToTheLibraryThatIsLoadedWhateverTheVersion) {
  const auto looked_up =
      reinterpret_cast<std::remove_const_t<decltype(bound::cublasGemmEx)>>(dlsym(RTLD_DEFAULT, "cublasGemmEx"));
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(looked_up), &info), 0);
  EXPECT_THAT(info.dli_fname, testing::HasSubstr("hotgemm_cublas"));
  expect_passed_on("cublasGemmEx", looked_up, nullptr, p_.op_a, p_.op_b, m_, p_.n, p_.k, alpha_, p_.a.at(), type_a_,
                   lda_, p_.b.at(), type_b_, p_.b.int_ld(), &p_.beta, p_.c.at(), type_c_, p_.c.int_ld(), compute_,
                   CUBLAS_GEMM_DEFAULT);
}

// The values are no addresses of matrices: each function has its own.
template <class T>
T* address(std::uintptr_t value) {
  return reinterpret_cast<T*>(value);
}

TEST_F(PassedOn, EveryFunctionWithItsArguments) {
  const auto n = CUBLAS_OP_N, t = CUBLAS_OP_T;
  const auto f32 = CUDA_R_32F;  // passed on without a look at the rest
  const void* alpha = address<void>(0x1000);
  const void* beta = address<void>(0x2000);
  const void* a = address<void>(0x3000);
  const void* b = address<void>(0x4000);
  void* c = address<void>(0x5000);
  const auto compute = CUBLAS_COMPUTE_32F;
  const auto algorithm = CUBLAS_GEMM_ALGO3;
  const long long sa = 1LL << 40, sb = (1LL << 41) + 1, sc = -(1LL << 42);
  const std::int64_t m64 = (1LL << 33) + 1, n64 = (1LL << 34) + 2, k64 = (1LL << 35) + 3, ld64 = 1LL << 36;
#define HOTGEMM_EXPECT(name, ...) expect_passed_on(#name, bound::name, handle_, t, n, __VA_ARGS__)
  HOTGEMM_EXPECT(cublasGemmEx, 1, 2, 3, alpha, a, f32, 4, b, f32, 5, beta, c, f32, 6, compute, algorithm);
  HOTGEMM_EXPECT(cublasGemmEx_64, m64, n64, k64, alpha, a, f32, ld64, b, f32, ld64 + 1, beta, c, f32, ld64 + 2, compute,
                 algorithm);
  HOTGEMM_EXPECT(cublasGemmStridedBatchedEx, 1, 2, 3, alpha, a, f32, 4, sa, b, f32, 5, sb, beta, c, f32, 6, sc, 7,
                 compute, algorithm);
  HOTGEMM_EXPECT(cublasGemmStridedBatchedEx_64, m64, n64, k64, alpha, a, f32, ld64, sa, b, f32, ld64 + 1, sb, beta, c,
                 f32, ld64 + 2, sc, std::int64_t{7}, compute, algorithm);
  HOTGEMM_EXPECT(cublasSgemmEx, 1, 2, 3, alpha, a, f32, 4, b, f32, 5, beta, c, f32, 6);
  HOTGEMM_EXPECT(cublasSgemmEx_64, m64, n64, k64, alpha, a, f32, ld64, b, f32, ld64 + 1, beta, c, f32, ld64 + 2);
  HOTGEMM_EXPECT(cublasSgemm_v2, 1, 2, 3, alpha, a, 4, b, 5, beta, c, 6);
  HOTGEMM_EXPECT(cublasSgemm_v2_64, m64, n64, k64, alpha, a, ld64, b, ld64 + 1, beta, c, ld64 + 2);
  HOTGEMM_EXPECT(cublasSgemmStridedBatched, 1, 2, 3, alpha, a, 4, sa, b, 5, sb, beta, c, 6, sc, 7);
  HOTGEMM_EXPECT(cublasSgemmStridedBatched_64, m64, n64, k64, alpha, a, ld64, sa, b, ld64 + 1, sb, beta, c, ld64 + 2,
                 sc, std::int64_t{7});
  // Sums of f16: the scalars are read, so none are given.
  const void* none = nullptr;
  HOTGEMM_EXPECT(cublasHgemm, 1, 2, 3, none, a, 4, b, 5, none, c, 6);
  HOTGEMM_EXPECT(cublasHgemm_64, m64, n64, k64, none, a, ld64, b, ld64 + 1, none, c, ld64 + 2);
  HOTGEMM_EXPECT(cublasHgemmStridedBatched, 1, 2, 3, none, a, 4, sa, b, 5, sb, none, c, 6, sc, 7);
  HOTGEMM_EXPECT(cublasHgemmStridedBatched_64, m64, n64, k64, none, a, ld64, sa, b, ld64 + 1, sb, none, c, ld64 + 2, sc,
                 std::int64_t{7});
  const auto* as = address<const void* const>(0x6000);
  const auto* bs = address<const void* const>(0x7000);
  const auto* cs = address<void* const>(0x8000);
  const auto f16 = CUDA_R_16F;
  HOTGEMM_EXPECT(cublasGemmBatchedEx, 1, 2, 3, none, as, f16, 4, bs, f16, 5, none, cs, f16, 6, 7, compute, algorithm);
  HOTGEMM_EXPECT(cublasGemmBatchedEx_64, m64, n64, k64, none, as, f16, ld64, bs, f16, ld64 + 1, none, cs, f16, ld64 + 2,
                 std::int64_t{7}, compute, algorithm);
  HOTGEMM_EXPECT(cublasHgemmBatched, 1, 2, 3, none, as, 4, bs, 5, none, cs, 6, 7);
  HOTGEMM_EXPECT(cublasHgemmBatched_64, m64, n64, k64, none, as, ld64, bs, ld64 + 1, none, cs, ld64 + 2,
                 std::int64_t{7});
  HOTGEMM_EXPECT(cublasSgemmBatched, 1, 2, 3, alpha, as, 4, bs, 5, beta, cs, 6, 7);
  HOTGEMM_EXPECT(cublasSgemmBatched_64, m64, n64, k64, alpha, as, ld64, bs, ld64 + 1, beta, cs, ld64 + 2,
                 std::int64_t{7});
#undef HOTGEMM_EXPECT
}

}  // namespace
}  // namespace hotgemm::interpose
