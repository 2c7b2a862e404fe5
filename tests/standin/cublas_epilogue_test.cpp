// The epilogues that cuBLASLt has, and how it is asked for them.

#include "standin/fake_cublas.hpp"
#include "standin/runtime_fixture.hpp"

#include "gpu/cublas.hpp"
#include "gpu/operand_pool.hpp"

#include <cublasLt.h>

namespace hotgemm::standin {
namespace {

/// Its fake cuBLAS keeps the description of the last product, and computes nothing.
class CublasEpilogueTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    fake_.launch = [](CUstream, int) {};
  }
  void TearDown() override {
    forget_fake_cublas();
    RuntimeTest::TearDown();
  }

  FakeCublas& fake_ = use_fake_cublas(HOTGEMM_FAKE_CUBLAS);
};

TEST_F(CublasEpilogueTest, EachSetHasItsOwnBiasInCublas) {
  const Workload problem = parse_workload("64 48 32 nt bf16 epilogue=bias+gelu");
  const OperandPool pool(driver_, problem, 1 << 16, 1 << 18);
  CublasBaseline cublas(driver_);
  const std::vector<CublasContender> all = cublas.lt_heuristics(problem, pool.sets(), 1, 0);
  ASSERT_EQ(all.size(), 3U);
  ASSERT_GT(pool.sets().size(), 1U);
  for (std::size_t i = 0; i < pool.sets().size(); ++i) {
    all[1].contender.launch(stream(), static_cast<int>(i));
    EXPECT_EQ(fake_.last.attributes.at(CUBLASLT_MATMUL_DESC_EPILOGUE), CUBLASLT_EPILOGUE_GELU_BIAS);
    EXPECT_EQ(fake_.last.attributes.at(CUBLASLT_MATMUL_DESC_BIAS_POINTER), pool.sets()[i].epilogue.bias);
    EXPECT_EQ(fake_.last.attributes.at(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE), CUDA_R_16BF);
    EXPECT_EQ(fake_.last.beta, 0);
  }
}

TEST_F(CublasEpilogueTest, AResidualIsTheCOfCublas) {
  const Workload problem = parse_workload("64 48 32 nt bf16 epilogue=bias+residual");
  const OperandPool pool(driver_, problem, 1 << 16, 1 << 18);
  CublasBaseline cublas(driver_);
  cublas.default_gemm(problem, pool.sets(), 1, 0).launch(stream(), 1);
  const OperandSet& set = pool.sets()[1];
  EXPECT_EQ(fake_.last.attributes.at(CUBLASLT_MATMUL_DESC_EPILOGUE), CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(reinterpret_cast<CUdeviceptr>(fake_.last.c), set.epilogue.residual);
  EXPECT_EQ(fake_.last.beta, 1);
}

TEST_F(CublasEpilogueTest, ScalesOfFp8ChangePlaces) {
  const Workload problem = parse_workload("64 64 64 nt e4m3*e4m3>e4m3 epilogue=scale_a+scale_b+bias+scale_d");
  const OperandPool pool(driver_, problem, 1 << 16, 1 << 18);
  CublasBaseline cublas(driver_);
  cublas.default_gemm(problem, pool.sets(), 1, 0).launch(stream(), 0);
  const EpilogueSet& set = pool.sets()[0].epilogue;
  const auto& attributes = fake_.last.attributes;
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), set.scale_b) << "its first operand is our B";
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), set.scale_a);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER), set.scale_d);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE), CUDA_R_16BF);
}

TEST_F(CublasEpilogueTest, ADerivativeReadsTheAuxiliaryMatrix) {
  const Workload problem = parse_workload("64 48 32 nt bf16 epilogue=dgelu");
  const OperandPool pool(driver_, problem, 1 << 16, 1 << 18);
  CublasBaseline cublas(driver_);
  cublas.default_gemm(problem, pool.sets(), 1, 0).launch(stream(), 1);
  const EpilogueSet& set = pool.sets()[1].epilogue;
  const auto& attributes = fake_.last.attributes;
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_EPILOGUE), CUBLASLT_EPILOGUE_DGELU);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER), set.auxiliary);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD), static_cast<std::uint64_t>(set.ld_auxiliary));
}

TEST_F(CublasEpilogueTest, ReluHasBitsAndAGradientOfTheBias) {
  const Workload problem = parse_workload("64 48 32 nt bf16 epilogue=drelu:bits+bias_gradient");
  const OperandPool pool(driver_, problem, 1 << 16, 1 << 18);
  CublasBaseline cublas(driver_);
  cublas.default_gemm(problem, pool.sets(), 1, 0).launch(stream(), 1);
  const EpilogueSet& set = pool.sets()[1].epilogue;
  const auto& attributes = fake_.last.attributes;
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_EPILOGUE), CUBLASLT_EPILOGUE_DRELU_BGRAD);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER), set.auxiliary);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD), 128U) << "in bits";
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_BIAS_POINTER), set.bias_gradient);
}

TEST_F(CublasEpilogueTest, ScalesOfBlocksChangePlacesToo) {
  const Workload problem = parse_workload("64 144 640 nt e4m3 epilogue=scale_a:block_1x128+scale_b:block_128x128+bias");
  const OperandPool pool(driver_, problem, 1 << 16, 1 << 19);
  CublasBaseline cublas(driver_);
  fake_.version = 120900;
  ASSERT_FALSE(cublas.lt_heuristics(problem, pool.sets(), 1, 0).empty());
  cublas.default_gemm(problem, pool.sets(), 1, 0).launch(stream(), 0);
  const EpilogueSet& set = pool.sets()[0].epilogue;
  const auto& attributes = fake_.last.attributes;
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), set.scale_b);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_A_SCALE_MODE), CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), set.scale_a);
  EXPECT_EQ(attributes.at(CUBLASLT_MATMUL_DESC_B_SCALE_MODE), CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
  EXPECT_EQ(set.ld_scale_a, 64) << "rows without gaps";
  EXPECT_EQ(set.ld_scale_b, 8) << "a multiple of 4, for 5 blocks of k";
  fake_.version = 120804;
  EXPECT_TRUE(cublas.lt_heuristics(problem, pool.sets(), 1, 0).empty());
}

struct RivalCase {
  const char* problem;
  bool has_rival;
};
constexpr RivalCase kRivals[] = {
    {"64 64 64 nt bf16 epilogue=bias", true},
    {"64 64 64 nn f16 epilogue=relu", true},
    {"64 64 64 nt bf16 epilogue=bias+relu", true},
    {"64 64 64 nt f32 epilogue=gelu", true},
    {"64 64 64 nt bf16 epilogue=bias+gelu beta=1", true},
    {"64 64 64 nt bf16 epilogue=bias+aux+gelu", true},
    {"64 64 64 nt bf16 epilogue=dgelu", true},
    {"64 64 64 nt bf16 epilogue=residual", true},
    {"64 64 64 nt bf16 epilogue=aux:bits+relu", true},
    {"64 64 64 nt bf16 epilogue=bias+aux:bits+relu", true},
    {"64 64 64 nt f16 epilogue=drelu:bits", true},
    {"64 64 64 nt bf16 epilogue=drelu:bits+bias_gradient", true},
    {"64 64 64 nt bf16 epilogue=dgelu+bias_gradient", true},
    {"64 64 64 nt bf16 epilogue=bias_gradient", false},
    {"64 64 64 nt bf16 epilogue=dgelu+bias_gradient:row", false},
    {"64 64 64 nt bf16 epilogue=drelu+bias_gradient", false},
    {"64 64 128 nt e4m3 epilogue=scale_a:block_1x128+scale_b:block_128x128", true},
    {"66 64 128 nt e4m3 epilogue=scale_a:block_1x128+scale_b:block_128x128", false},
    {"64 64 128 nt e4m3 groups=2 epilogue=scale_a:block_1x128+scale_b:block_128x128", false},
    {"64 64 128 nt e4m3*e4m3>e4m3 epilogue=scale_a:block_1x128+scale_b:block_128x128", false},
    {"64 64 64 nt bf16 epilogue=bias+residual", true},
    {"64 64 64 nt e4m3 epilogue=scale_a+scale_b+bias", true},
    {"64 64 64 nt e4m3*e4m3>e4m3 epilogue=scale_a+scale_d", true},
    {"64 64 64 nt bf16 epilogue=bias:row", false},
    {"64 64 64 nt bf16 epilogue=bias+silu", false},
    {"64 64 64 nt bf16 epilogue=gelu_erf", false},
    {"64 64 64 nt bf16 epilogue=bias+gelu+residual", false},
    {"64 64 64 nt bf16 epilogue=residual beta=1", false},
    {"64 64 64 nt bf16 epilogue=bias+aux+relu", false},
    {"64 64 64 nt bf16 epilogue=aux", false},
    {"64 63 64 nt bf16 epilogue=dgelu", false},
    {"64 64 64 nt f32 epilogue=dgelu", false},
    {"64 64 64 nt bf16 epilogue=bias+dgelu", false},
    {"64 64 64 nt bf16 epilogue=drelu", false},
    {"64 64 64 nt bf16 epilogue=bias+amax", false},
    {"64 64 64 nt bf16 epilogue=clamp", false},
    {"64 63 64 nt bf16 epilogue=bias+aux+gelu", false},
    {"64 64 64 nt bf16 epilogue=scale_a", false},
    {"64 64 64 nt bf16 epilogue=scale_d", false},
    {"64 64 64 nt bf16 epilogue=scalars", false},
    {"64 64 64 nt e4m3 epilogue=scale_a:vector", false},
    {"64 64 64 nt e4m3*e4m3>f32 epilogue=bias", false},
    {"64 64 64 nn e4m3 epilogue=bias", false},
    {"64 64 64 nt s8*s8>s8 epilogue=bias", false},
};

TEST(FusedRival, IsWhatCublasLtHas) {
  for (const RivalCase& c : kRivals) {
    const Workload problem = parse_workload(c.problem);
    EXPECT_EQ(CublasBaseline::has_rival(problem), c.has_rival) << c.problem;
    EXPECT_TRUE(CublasBaseline::is_lt_only(problem)) << c.problem;
  }
  EXPECT_FALSE(CublasBaseline::is_lt_only(parse_workload("64 64 64 nt bf16")));
}

}  // namespace
}  // namespace hotgemm::standin
