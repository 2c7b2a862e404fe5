// Calls that are served give exact results. The environment of this suite: HOTGEMM_CUBLAS_SERVE=prepared,
// HOTGEMM_CUBLAS_SGEMM=1.

#include "interpose/fixture.hpp"

#include <array>
#include <bit>
#include <map>

namespace hotgemm::interpose {
namespace {

class Served : public InterposeTest {
 protected:
  /// Calls `call` until it is served, and expects the right C of it.
  static void expect_served(Product& p, const std::function<cublasStatus_t()>& call) {
    p.refill_c();
    call_until_served(call);
    // A call in place has changed C, so it is filled again for the call that is compared.
    p.refill_c();
    const std::vector<float> expected = p.expected();
    EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(p.elements(), expected);
    EXPECT_EQ(fake_record()->take().size(), 0u);
  }
  cublasStatus_t gemm_ex(const Product& p, cublasComputeType_t compute, const void* alpha, const void* beta) {
    return bound::cublasGemmEx(handle_, p.op_a, p.op_b, p.m, p.n, p.k, alpha, p.a.at(), p.type, p.a.int_ld(), p.b.at(),
                               p.type, p.b.int_ld(), beta, p.c.at(), p.type_c, p.c.int_ld(), compute,
                               CUBLAS_GEMM_DEFAULT);
  }
  cublasStatus_t gemm_strided(const Product& p) {
    return bound::cublasGemmStridedBatchedEx(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.at(), p.type,
                                             p.a.int_ld(), p.a.stride(), p.b.at(), p.type, p.b.int_ld(), p.b.stride(),
                                             &p.beta, p.c.at(), p.type_c, p.c.int_ld(), p.c.stride(), p.batch,
                                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }
  /// The addresses of a batch's matrices, in device memory.
  struct Arrays {
    explicit Arrays(const Product& p) : a(p.a.array()), b(p.b.array()), c(p.c.array()) {}
    void* const* a;
    void* const* b;
    void* const* c;
  };
  cublasStatus_t gemm_by_pointers(const Product& p, const Arrays& arrays) {
    return bound::cublasGemmBatchedEx(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, arrays.a, p.type, p.a.int_ld(),
                                      arrays.b, p.type, p.b.int_ld(), &p.beta, arrays.c, p.type_c, p.c.int_ld(),
                                      p.batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }
};

std::uint16_t half(float value) { return standin::narrow_f16(value); }

TEST_F(Served, EveryOperationAndScalar) {
  for (const cublasOperation_t op_a : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    for (const cublasOperation_t op_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      for (const auto& [alpha, beta] : std::map<float, float>{{1, 0}, {2, -1}, {0, 1}}) {
        SCOPED_TRACE(testing::Message() << op_a << op_b << " alpha " << alpha << " beta " << beta);
        Product p{.op_a = op_a, .op_b = op_b, .alpha = alpha, .beta = beta};
        p.allocate();
        expect_served(p, [&] { return gemm_ex(p, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta); });
      }
    }
  }
}

TEST_F(Served, RowsWithoutGaps) {
  for (const cublasOperation_t op_a : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    for (const cublasOperation_t op_b : {CUBLAS_OP_N, CUBLAS_OP_C}) {
      for (const auto& [m, n, k] : {std::array{1, 24, 16}, {16, 1, 24}, {16, 24, 1}, {1, 1, 16}, {1, 16, 1}}) {
        SCOPED_TRACE(testing::Message() << op_a << op_b << " " << m << " " << n << " " << k);
        Product p{.op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, .padding = 0, .alpha = 2, .beta = -1};
        p.allocate();
        expect_served(p, [&] { return gemm_ex(p, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta); });
      }
    }
  }
}

TEST_F(Served, RowsWithoutGapsInBatches) {
  for (const auto& [m, n, k] : {std::array{1, 24, 16}, {16, 1, 24}, {16, 24, 1}}) {
    SCOPED_TRACE(testing::Message() << m << " " << n << " " << k);
    Product p{.op_a = CUBLAS_OP_T, .op_b = CUBLAS_OP_T, .m = m, .n = n, .k = k, .batch = 3, .padding = 0, .beta = 1};
    p.allocate();
    expect_served(p, [&] { return gemm_strided(p); });
    const Arrays arrays(p);
    expect_served(p, [&] { return gemm_by_pointers(p, arrays); });
  }
}

TEST_F(Served, EveryType) {
  struct Types {
    cudaDataType type, type_c;
  };
  for (const auto& [type, type_c] :
       {Types{CUDA_R_16BF, CUDA_R_16BF}, Types{CUDA_R_16BF, CUDA_R_32F}, Types{CUDA_R_16F, CUDA_R_16F},
        Types{CUDA_R_16F, CUDA_R_32F}, Types{CUDA_R_32F, CUDA_R_32F}}) {
    SCOPED_TRACE(testing::Message() << type << " " << type_c);
    Product p{.type = type, .type_c = type_c, .alpha = 0.5f, .beta = 2};
    p.allocate();
    expect_served(p, [&] { return gemm_ex(p, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta); });
  }
}

TEST_F(Served, SumsOfHalfHaveScalarsOfHalf) {
  for (const float alpha : {1.0f, -0.5f, 0x1p-24f, 65504.0f}) {  // the smallest and the largest half too
    Product p{.type = CUDA_R_16F, .type_c = CUDA_R_16F, .alpha = alpha, .beta = 1};
    p.allocate();
    const std::uint16_t half_alpha = half(p.alpha), half_beta = half(p.beta);
    expect_served(p, [&] { return gemm_ex(p, CUBLAS_COMPUTE_16F, &half_alpha, &half_beta); });
  }
}

TEST_F(Served, IntegersHaveScalarsOfIntegers) {
  Product p{.type = CUDA_R_8I, .type_c = CUDA_R_32I, .alpha = 3, .beta = -2};
  p.allocate();
  const std::int32_t alpha = 3, beta = -2;
  expect_served(p, [&] { return gemm_ex(p, CUBLAS_COMPUTE_32I, &alpha, &beta); });
  const std::int32_t beyond_float = (1 << 24) + 1;
  EXPECT_EQ(gemm_ex(p, CUBLAS_COMPUTE_32I, &beyond_float, &beta), FakeRecord::kAnswer);
  fake_record()->take();
}

TEST_F(Served, SizesOf64Bits) {
  Product p{.op_b = CUBLAS_OP_T, .m = 40, .beta = 1};
  p.allocate();
  expect_served(p, [&] {
    return bound::cublasGemmEx_64(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.at(), p.type, p.a.ld(),
                                  p.b.at(), p.type, p.b.ld(), &p.beta, p.c.at(), p.type_c, p.c.ld(), CUBLAS_COMPUTE_32F,
                                  CUBLAS_GEMM_DEFAULT_TENSOR_OP);
  });
}

TEST_F(Served, Batches) {
  for (const cudaDataType type : {CUDA_R_16BF, CUDA_R_16F}) {
    Product p{.op_a = CUBLAS_OP_T, .batch = 3, .type = type, .type_c = type, .beta = 1};
    p.allocate();
    expect_served(p, [&] { return gemm_strided(p); });
    expect_served(p, [&] {
      return bound::cublasGemmStridedBatchedEx_64(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.at(), type,
                                                  p.a.ld(), p.a.stride(), p.b.at(), type, p.b.ld(), p.b.stride(),
                                                  &p.beta, p.c.at(), type, p.c.ld(), p.c.stride(), p.batch,
                                                  CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    });
  }
}

TEST_F(Served, BatchesByPointers) {
  // The manual of cuBLAS asks for addresses at multiples of 16 bytes if k is a multiple of 8, and here for no
  // alignment.
  for (const auto& [type, k] : {std::pair(CUDA_R_16BF, 8), std::pair(CUDA_R_16F, 5)}) {
    Product p{.op_a = CUBLAS_OP_T, .k = k, .batch = 3, .type = type, .type_c = type, .beta = 1};
    p.allocate();
    const Arrays arrays(p);
    expect_served(p, [&] { return gemm_by_pointers(p, arrays); });
    expect_served(p, [&] {
      return bound::cublasGemmBatchedEx_64(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, arrays.a, p.type, p.a.ld(),
                                           arrays.b, p.type, p.b.ld(), &p.beta, arrays.c, p.type_c, p.c.ld(), p.batch,
                                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    });
  }
}

TEST_F(Served, BatchesByPointersOfOneType) {
  Product h{.batch = 2, .type = CUDA_R_16F, .type_c = CUDA_R_16F, .alpha = 2, .beta = 1};
  h.allocate();
  Product s{.batch = 2, .type = CUDA_R_32F, .type_c = CUDA_R_32F, .alpha = 2, .beta = 1};
  s.allocate();
  const std::uint16_t alpha = half(h.alpha), beta = half(h.beta);
  const auto calls = [&](const Product& p, auto function, auto wide, const void* factor, const void* of_c) {
    const Arrays arrays(p);
    return std::array<std::function<cublasStatus_t()>, 2>{
        [=, &p, this] {
          return function(handle_, p.op_a, p.op_b, p.m, p.n, p.k, factor, arrays.a, p.a.int_ld(), arrays.b,
                          p.b.int_ld(), of_c, arrays.c, p.c.int_ld(), p.batch);
        },
        [=, &p, this] {
          return wide(handle_, p.op_a, p.op_b, p.m, p.n, p.k, factor, arrays.a, p.a.ld(), arrays.b, p.b.ld(), of_c,
                      arrays.c, p.c.ld(), p.batch);
        }};
  };
  for (const auto& call : calls(h, bound::cublasHgemmBatched, bound::cublasHgemmBatched_64, &alpha, &beta))
    expect_served(h, call);
  for (const auto& call : calls(s, bound::cublasSgemmBatched, bound::cublasSgemmBatched_64, &s.alpha, &s.beta))
    expect_served(s, call);
}

/// Calls a function of kind GEMM, and one of kind STRIDED, with sizes of type Int.
template <class Int, class Gemm, class Strided>
std::array<std::function<cublasStatus_t()>, 2> calls_of(cublasHandle_t handle, const Product& p, Gemm gemm,
                                                        Strided strided, const void* alpha, const void* beta) {
  const auto a = static_cast<Int>(p.a.ld()), b = static_cast<Int>(p.b.ld()), c = static_cast<Int>(p.c.ld());
  return {[=, &p] {
            return gemm(handle, p.op_a, p.op_b, p.m, p.n, p.k, alpha, p.a.at(), a, p.b.at(), b, beta, p.c.at(), c);
          },
          [=, &p] {
            return strided(handle, p.op_a, p.op_b, p.m, p.n, p.k, alpha, p.a.at(), a, p.a.stride(), p.b.at(), b,
                           p.b.stride(), beta, p.c.at(), c, p.c.stride(), p.batch);
          }};
}

TEST_F(Served, FunctionsOfOneType) {
  for (const int batch : {1, 2}) {
    Product h{.op_b = CUBLAS_OP_T, .batch = batch, .type = CUDA_R_16F, .type_c = CUDA_R_16F, .alpha = 2, .beta = 1};
    h.allocate();
    Product s{.op_b = CUBLAS_OP_T, .batch = batch, .type = CUDA_R_32F, .type_c = CUDA_R_32F, .alpha = 2, .beta = 1};
    s.allocate();
    const std::uint16_t alpha = half(h.alpha), beta = half(h.beta);
    const std::size_t which = batch == 1 ? 0 : 1;
    expect_served(
        h, calls_of<int>(handle_, h, bound::cublasHgemm, bound::cublasHgemmStridedBatched, &alpha, &beta)[which]);
    expect_served(h, calls_of<std::int64_t>(handle_, h, bound::cublasHgemm_64, bound::cublasHgemmStridedBatched_64,
                                            &alpha, &beta)[which]);
    expect_served(s, calls_of<int>(handle_, s, bound::cublasSgemm_v2, bound::cublasSgemmStridedBatched, &s.alpha,
                                   &s.beta)[which]);
    expect_served(s, calls_of<std::int64_t>(handle_, s, bound::cublasSgemm_v2_64, bound::cublasSgemmStridedBatched_64,
                                            &s.alpha, &s.beta)[which]);
  }
}

TEST_F(Served, SgemmExTakesTypes) {
  Product p{.type = CUDA_R_16F, .type_c = CUDA_R_32F, .alpha = 2, .beta = 1};
  p.allocate();
  expect_served(p, [&] {
    return bound::cublasSgemmEx(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.at(), p.type, p.a.int_ld(),
                                p.b.at(), p.type, p.b.int_ld(), &p.beta, p.c.at(), p.type_c, p.c.int_ld());
  });
  expect_served(p, [&] {
    return bound::cublasSgemmEx_64(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.at(), p.type, p.a.ld(),
                                   p.b.at(), p.type, p.b.ld(), &p.beta, p.c.at(), p.type_c, p.c.ld());
  });
}

TEST_F(Served, MathModesThatAreOfNoConsequence) {
  Product p;
  p.allocate();
  const auto call = [&] { return gemm_ex(p, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta); };
  expect_served(p, call);
  for (const int mode : {static_cast<int>(CUBLAS_DEFAULT_MATH), static_cast<int>(CUBLAS_TENSOR_OP_MATH),
                         static_cast<int>(CUBLAS_TF32_TENSOR_OP_MATH)}) {
    for (const int flag : {0, static_cast<int>(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)}) {
      cublasSetMathMode(handle_, static_cast<cublasMath_t>(mode | flag));
      EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS) << mode << " " << flag;
    }
  }
}

TEST_F(Served, F32InPlainMathOnly) {
  Product p{.type = CUDA_R_32F, .type_c = CUDA_R_32F};
  p.allocate();
  const auto call = [&] { return gemm_ex(p, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta); };
  expect_served(p, call);
  for (const cublasMath_t mode : {CUBLAS_TENSOR_OP_MATH, CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH}) {
    cublasSetMathMode(handle_, mode);
    EXPECT_EQ(call(), FakeRecord::kAnswer) << mode;
  }
  fake_record()->take();
}

// The stand-in's GPU has 132 SMs.
TEST_F(Served, ATargetOfSmsIsALimit) {
  Product p{.m = 640, .n = 640};
  p.allocate();
  cublasSetSmCountTarget(handle_, 20);
  device().standin().set_sm_limit(20);
  expect_served(p, [&] { return gemm_ex(p, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta); });
  device().standin().set_sm_limit(0);
}

TEST_F(Served, ACallOnACapturingStreamIfItsKernelIsLoaded) {
  Product p;
  p.allocate();
  const auto call = [&] { return gemm_ex(p, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta); };
  expect_served(p, call);
  Product unprepared{.m = 72, .n = 40, .type = CUDA_R_16F, .type_c = CUDA_R_32F};
  unprepared.allocate();
  const auto begin = device().find<decltype(&cuStreamBeginCapture)>("cuStreamBeginCapture");
  const auto end = device().find<decltype(&cuStreamEndCapture)>("cuStreamEndCapture");
  ASSERT_EQ(begin(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(gemm_ex(unprepared, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta), FakeRecord::kAnswer);
  CUgraph graph = nullptr;
  EXPECT_EQ(end(stream_, &graph), CUDA_SUCCESS) << "what hotgemm prepares does not spoil the capture";
  device().find<decltype(&cuGraphDestroy)>("cuGraphDestroy")(graph);
}

TEST_F(Served, AThreadWithoutAContextHasThatOfItsStream) {
  Product p;
  p.allocate();
  const auto call = [&] { return gemm_ex(p, CUBLAS_COMPUTE_32F, &p.alpha, &p.beta); };
  expect_served(p, call);
  std::thread([&] { EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS); }).join();
}

TEST_F(Served, FromManyThreads) {
  constexpr int kThreads = 8, kServedCalls = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      device().make_current();
      cublasHandle_t handle = nullptr;
      cublasCreate_v2(&handle);
      Product p{.m = 8 * (1 + t % 4), .n = 8};  // two threads for each problem
      p.allocate();
      cublasSetStream_v2(handle, device().make_stream());
      const std::vector<float> expected = p.expected();
      const auto start = std::chrono::steady_clock::now();
      for (int served = 0; served < kServedCalls;) {
        p.c.fill([](auto...) { return 77.0f; });
        const cublasStatus_t status = bound::cublasGemmEx(
            handle, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.at(), p.type, p.a.int_ld(), p.b.at(), p.type,
            p.b.int_ld(), &p.beta, p.c.at(), p.type_c, p.c.int_ld(), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
        if (status == CUBLAS_STATUS_SUCCESS) {
          ++served;
          ASSERT_EQ(p.elements(), expected);
        } else {
          ASSERT_EQ(status, FakeRecord::kAnswer);
          ASSERT_EQ(p.elements().front(), 77.0f) << "a call that is passed on has changed nothing";
          ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << "no call was served";
        }
      }
      cublasDestroy_v2(handle);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hotgemm::interpose
