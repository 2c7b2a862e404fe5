// Settings by the environment. Each suite here runs in an environment of its own, which interpose_test.py makes.

#include "interpose/fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace hotgemm::interpose {
namespace {

class EnvironmentTest : public InterposeTest {
 protected:
  EnvironmentTest() { p_.allocate(); }

  cublasStatus_t call(const Product& p) {
    return bound::cublasGemmEx(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &p.alpha, p.a.at(), p.type, p.a.int_ld(),
                               p.b.at(), p.type, p.b.int_ld(), &p.beta, p.c.at(), p.type_c, p.c.int_ld(),
                               CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }
  cublasStatus_t call() { return call(p_); }
  /// Calls for as long as hotgemm might take to prepare the problem, and expects that cuBLAS gets each call.
  void expect_never_served() {
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(call(), FakeRecord::kAnswer);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(fake_record()->take().size(), 100u);
  }
  static bool is_open() { return dlopen(std::getenv("HOTGEMM_TEST_LIBRARY"), RTLD_NOW | RTLD_NOLOAD) != nullptr; }

  Product p_;
};

using Off = EnvironmentTest;  // HOTGEMM_CUBLAS=off
TEST_F(Off, NothingIsServedAndNothingOpened) {
  expect_never_served();
  EXPECT_FALSE(is_open());
}

using OtherMajor = EnvironmentTest;  // HOTGEMM_CUBLAS=off
TEST_F(OtherMajor, GetsItsCallsOnceItIsLoaded) {
  const char* const version = HOTGEMM_FAKE_MAJOR == 12 ? "libcublas.so.13" : "libcublas.so.12";
  const auto gemm = reinterpret_cast<decltype(&::cublasHgemm)>(dlvsym(RTLD_DEFAULT, "cublasHgemm", version));
  ASSERT_NE(gemm, nullptr);
  const auto call_other = [gemm] {
    return gemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 0, 0, 0, nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr, 0);
  };
  EXPECT_EQ(call_other(), FakeRecord::kAnswer);
  EXPECT_EQ(fake_record()->take().size(), 1u) << "the major that is loaded";
  void* const library = dlopen(std::getenv("HOTGEMM_TEST_OTHER_CUBLAS"), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  FakeRecord* const record = reinterpret_cast<decltype(&fake_record)>(dlsym(library, "fake_record"))();
  EXPECT_EQ(call_other(), FakeRecord::kAnswer);
  EXPECT_EQ(record->take().size(), 1u);
  EXPECT_EQ(fake_record()->take().size(), 0u);
}

using NoLibrary = EnvironmentTest;  // HOTGEMM_LIBRARY names no library
TEST_F(NoLibrary, NothingIsServed) { expect_never_served(); }

using Beside = EnvironmentTest;  // HOTGEMM_LIBRARY is not set: libhotgemm lies beside the interposer
TEST_F(Beside, IsOpenedByTheFirstCallThatMayBeServed) {
  p_.type = CUDA_R_32F;
  EXPECT_EQ(call(), FakeRecord::kAnswer);
  fake_record()->take();
  EXPECT_FALSE(is_open());
  p_.type = CUDA_R_16BF;
  call_until_served([this] { return call(); });
  EXPECT_TRUE(is_open());
}

using AsFast = EnvironmentTest;  // a record says that hotgemm is as fast
TEST_F(AsFast, IsServed) {
  call_until_served([this] { return call(); });
  const std::vector<float> expected = p_.expected();
  EXPECT_EQ(p_.elements(), expected);
}

using Slower = EnvironmentTest;  // no record, or one that says that hotgemm is slower
TEST_F(Slower, IsPassedOn) { expect_never_served(); }

using PlainF32 = EnvironmentTest;  // HOTGEMM_CUBLAS_SGEMM=1, and a variable that asks for another arithmetic
TEST_F(PlainF32, IsNotServed) {
  call_until_served([this] { return call(); });  // of no consequence for other types
  p_.type = p_.type_c = CUDA_R_32F;
  p_.allocate();
  expect_never_served();
}

using Report = EnvironmentTest;
TEST_F(Report, ListsArraysOfHalves) {
  Product p{.k = 8, .batch = 2, .type = CUDA_R_16F, .type_c = CUDA_R_16F};
  p.allocate();
  const std::uint16_t one = 0x3c00, zero = 0;
  EXPECT_EQ(bound::cublasHgemmBatched(handle_, p.op_a, p.op_b, p.m, p.n, p.k, &one, p.a.array(), p.a.int_ld(),
                                      p.b.array(), p.b.int_ld(), &zero, p.c.array(), p.c.int_ld(), p.batch),
            FakeRecord::kAnswer);
}

TEST_F(Report, CountsCalls) {
  call_until_served([this] { return call(); });
  for (int i = 0; i < 9; ++i) EXPECT_EQ(call(), CUBLAS_STATUS_SUCCESS);  // 10 served
  cublasSetMathMode(handle_, CUBLAS_PEDANTIC_MATH);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(), FakeRecord::kAnswer);
  cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH);
  cublasSetSmCountTarget(handle_, -3);
  EXPECT_EQ(call(), FakeRecord::kAnswer);
}
TEST_F(Report, ListsProblems) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(call(), FakeRecord::kAnswer);
  p_.n = 40;
  p_.op_b = CUBLAS_OP_T;
  p_.beta = 1;
  p_.allocate();
  for (int i = 0; i < 7; ++i) EXPECT_EQ(call(), FakeRecord::kAnswer);
}
TEST_F(Report, ListsRowsWithoutGaps) {
  for (const auto& [m, n, k] : {std::array{16, 24, 1}, {16, 1, 24}, {1, 24, 16}}) {
    p_ = {.op_a = CUBLAS_OP_T, .m = m, .n = n, .k = k, .padding = 0};
    p_.allocate();
    EXPECT_EQ(call(), FakeRecord::kAnswer);
  }
  p_ = {.m = 1, .n = 24, .k = 16, .padding = 1};
  p_.allocate();
  EXPECT_EQ(call(), FakeRecord::kAnswer);
}
TEST_F(Report, ListsAsManyProblemsAsItHolds) {
  p_.n = 2100;
  p_.allocate();
  for (p_.n = 1; p_.n <= 2100; ++p_.n) {
    EXPECT_EQ(call(), FakeRecord::kAnswer);
  }
  p_.n = 2048;
  EXPECT_EQ(call(), FakeRecord::kAnswer);
}
TEST_F(Report, CountsCallsOfManyThreads) {
  constexpr int kThreads = 8, kCalls = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      device().make_current();
      Product p = p_;
      for (p.n = 1; p.n <= 24; ++p.n) {  // each problem is new to all threads at about the same time
        for (int i = 0; i < kCalls / 24; ++i) EXPECT_EQ(call(p), FakeRecord::kAnswer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
TEST_F(Report, IsNotAChilds) {
  EXPECT_EQ(call(), FakeRecord::kAnswer);
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hotgemm::interpose
