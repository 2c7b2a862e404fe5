// Batches by pointers, as cuBLAS is asked for them.

#include "standin/fake_cublas.hpp"
#include "standin/runtime_fixture.hpp"

#include "gpu/cublas.hpp"
#include "gpu/operand_pool.hpp"

namespace hotgemm::standin {
namespace {

/// Its fake cuBLAS keeps the addresses of the last product, and computes nothing.
class CublasBatchTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    fake_.launch = [](CUstream, int) {};
  }
  void TearDown() override {
    forget_fake_cublas();
    RuntimeTest::TearDown();
  }
  void expect_arrays(const PointerSet& of) const {
    const auto address = [](const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); };
    EXPECT_EQ(address(fake_.last.first), of.b) << "its first operand is our B";
    EXPECT_EQ(address(fake_.last.second), of.a);
    EXPECT_EQ(address(fake_.last.d), of.d);
  }

  FakeCublas& fake_ = use_fake_cublas(HOTGEMM_FAKE_CUBLAS);
  Workload problem_ = parse_workload("64 48 32 nt bf16 batch=3,pointers beta=1");
};

TEST_F(CublasBatchTest, ItGetsTheArraysOfEachSet) {
  const OperandPool pool(driver_, problem_, 1 << 18, 1 << 20);
  CublasBaseline cublas(driver_);
  const Contender by_default = cublas.default_gemm(problem_, pool.sets(), 1, 1);
  EXPECT_EQ(by_default.name, "cublasGemmBatchedEx");
  const std::vector<CublasContender> all = cublas.lt_heuristics(problem_, pool.sets(), 1, 1);
  ASSERT_EQ(all.size(), 3U);
  ASSERT_GT(pool.sets().size(), 1U);
  for (std::size_t i = 0; i < pool.sets().size(); ++i) {
    by_default.launch(stream(), static_cast<int>(i));
    expect_arrays(pool.sets()[i].pointers);
    EXPECT_EQ(fake_.last.batch, 3);
    all[1].contender.launch(stream(), static_cast<int>(i));
    expect_arrays(pool.sets()[i].pointers);
    EXPECT_EQ(reinterpret_cast<CUdeviceptr>(fake_.last.c), pool.sets()[i].pointers.c);
  }
}

TEST_F(CublasBatchTest, AnOlderCublasLtHasNoAlgorithm) {
  fake_.has_batch_mode = false;
  const OperandPool pool(driver_, problem_, 1 << 16, 1 << 18);
  CublasBaseline cublas(driver_);
  EXPECT_TRUE(cublas.lt_heuristics(problem_, pool.sets(), 1, 1).empty());
  EXPECT_NO_THROW(cublas.default_gemm(problem_, pool.sets(), 1, 1).launch(stream(), 0));
}

TEST_F(CublasBatchTest, WhatOnlyCublasLtComputesHasNoRival) {
  for (const char* text : {"64 64 64 nt bf16 batch=3,pointers epilogue=bias", "64 64 64 nt e4m3 batch=3,pointers"})
    EXPECT_FALSE(CublasBaseline::has_rival(parse_workload(text))) << text;
  EXPECT_TRUE(CublasBaseline::has_rival(parse_workload("64 64 64 nt s8 batch=3,pointers")));
}

}  // namespace
}  // namespace hotgemm::standin
