// The operands of an epilogue that `bench` makes.

#include "standin/runtime_fixture.hpp"

#include "emulate/number.hpp"
#include "gpu/operand_pool.hpp"

#include <algorithm>
#include <cmath>

namespace hotgemm::standin {
namespace {

class FusedPoolTest : public RuntimeTest {};

constexpr const char* kAllParts = "scale_a:vector+scale_b+bias:row+aux+relu+residual+amax+scale_d+scalars";

TEST_F(FusedPoolTest, HoldsALongGradientOfABias) {
  const Workload problem = parse_workload("64 40000 64 nn f16 epilogue=bias_gradient");
  const OperandPool pool(driver_, problem, 1, std::int64_t{1} << 30);
  EXPECT_LE(pool.sets().back().epilogue.bias_gradient + 4 * 40000, pool.begin() + pool.bytes());
}

TEST_F(FusedPoolTest, HoldsWhatTheEpilogueNeedsBetweenGuards) {
  const Workload problem = parse_workload(std::string("33 17 40 nt f16 align=2 beta=1 epilogue=") + kAllParts);
  const OperandPool pool(driver_, problem, 1 << 16, 1 << 20);
  ASSERT_GT(pool.sets().size(), 2U);
  std::vector<std::pair<CUdeviceptr, std::int64_t>> blocks;  // address and bytes
  for (const OperandSet& set : pool.sets()) {
    const EpilogueSet& e = set.epilogue;
    EXPECT_EQ(e.ld_residual, set.ldd);
    EXPECT_EQ(e.ld_auxiliary, set.ldd);
    blocks.insert(blocks.end(), {{e.scale_a, 4 * problem.m},
                                 {e.scale_b, 4},
                                 {e.scale_d, 4},
                                 {e.amax, 4},
                                 {e.scalars, 8},
                                 {e.bias, 2 * problem.m},
                                 {e.residual, 2 * problem.m * e.ld_residual},
                                 {e.auxiliary, 2 * problem.m * e.ld_auxiliary},
                                 {set.a, 2 * problem.m * set.lda},
                                 {set.b, 2 * problem.n * set.ldb},
                                 {set.c, 2 * problem.m * set.ldc},
                                 {set.d, 2 * problem.m * set.ldd}});
  }
  std::ranges::sort(blocks);
  CUdeviceptr end = pool.begin() + OperandPool::kEndGuardBytes - OperandPool::kGuardBytes;
  for (const auto& [begin, bytes] : blocks) {
    EXPECT_GE(begin, end + OperandPool::kGuardBytes);
    end = begin + static_cast<CUdeviceptr>(bytes);
  }
  EXPECT_GE(pool.begin() + pool.bytes(), end + OperandPool::kEndGuardBytes);
}

TEST_F(FusedPoolTest, HasBitsInRowsOf16Bytes) {
  const Workload problem = parse_workload("33 200 40 nt f16 batch=2 epilogue=aux:bits+relu+bias_gradient");
  const OperandPool pool(driver_, problem, 1 << 10, 1 << 20);
  const EpilogueSet& e = pool.sets().front().epilogue;
  EXPECT_EQ(e.auxiliary % 16, 0U);
  EXPECT_EQ(e.ld_auxiliary, 256);
  EXPECT_EQ(e.stride_auxiliary % 128, 0);
  EXPECT_GE(e.stride_auxiliary, 33 * 256);
  EXPECT_NO_THROW(
      context(Policy::estimate).plan(problem).launch(stream(), OperandPool::operands(pool.sets()[0], 1, 0)));
}

TEST_F(FusedPoolTest, HasRoomForTheBareProductOfAGatedOne) {
  const Workload problem = parse_workload("33 40 24 nt f16 epilogue=swiglu+residual");
  const OperandPool pool(driver_, problem, 1 << 10, 1 << 20);
  EXPECT_GE(pool.sets().front().ldd, 40);
  EXPECT_EQ(pool.sets().front().epilogue.ld_residual, pool.sets().front().ldd);
}

TEST_F(FusedPoolTest, OperandsOfTheEpilogueCountInWhatFits) {
  const auto bytes_of = [](const Workload& problem) {
    std::int64_t bytes = 1 << 10;
    for (;; bytes += 256) {
      try {
        OperandPool::check_fits(problem, bytes, bytes);
        return bytes;
      } catch (const Error&) {
      }
    }
  };
  const Workload bare = parse_workload("64 64 64 nt bf16"),
                 fused = parse_workload("64 64 64 nt bf16 epilogue=residual+aux");
  EXPECT_EQ(bytes_of(fused) - bytes_of(bare), 2 * (64 * 64 * 2 + OperandPool::kGuardBytes));
  EXPECT_EQ(
      bytes_of(parse_workload("200 64 64 nt bf16 epilogue=bias:row")) - bytes_of(parse_workload("200 64 64 nt bf16")),
      512 + OperandPool::kGuardBytes);
}

TEST_F(FusedPoolTest, ACallTakesTheFilledOperands) {
  const Workload problem = parse_workload(std::string("33 17 40 nt bf16 beta=1 epilogue=") + kAllParts);
  const OperandPool pool(driver_, problem, 1, 1 << 20);
  const OperandSet& set = pool.sets().front();
  impl_of(context(Policy::estimate)).current().check_kernels().fill_normal(problem, set, 7, stream());
  const auto floats = [&](CUdeviceptr from, std::size_t count) {
    std::vector<float> values(count);
    driver_.check(driver_.cuMemcpyDtoH(values.data(), from, count * sizeof(float)), "fetch");
    return values;
  };
  const std::vector<float> scales = floats(set.epilogue.scale_a, 33);
  EXPECT_THAT(scales, testing::Each(testing::AllOf(testing::Ge(0.5f), testing::Lt(1.5f))));
  EXPECT_NE(scales[0], scales[1]);
  EXPECT_NE(floats(set.epilogue.scale_b, 1), floats(set.epilogue.scale_d, 1));
  EXPECT_THAT(floats(set.epilogue.scalars, 2), testing::ElementsAre(1, 1));
  std::vector<std::uint16_t> bias(33);
  driver_.check(driver_.cuMemcpyDtoH(bias.data(), set.epilogue.bias, 66), "fetch");
  double squares = 0;
  for (const std::uint16_t bits : bias) squares += std::pow(emulate::widen_bf16(bits), 2);
  EXPECT_GT(squares, 33 * 0.2);
  EXPECT_LT(squares, 33 * 4.0);
  const Operands operands = OperandPool::operands(set, 1, 1);
  EXPECT_EQ(operands.beta_device, operands.alpha_device + 1);
  EXPECT_EQ(operands.ld_auxiliary, set.epilogue.ld_auxiliary);
  EXPECT_NO_THROW(context().plan(problem).launch(stream(), operands));
}

TEST_F(FusedPoolTest, AFunctionHasVectorsAndMatrices) {
  Workload problem = parse_workload("33 17 40 nt bf16");
  problem.epilogue.function = context(Policy::estimate).add_function("row left\nmatrix more\nvalue * left + more");
  const OperandPool pool(driver_, problem, 1, 1 << 20);
  const OperandSet& set = pool.sets().front();
  impl_of(context()).current().check_kernels().fill_normal(problem, set, 7, stream());
  const Operands operands = OperandPool::operands(set, 1, 0);
  EXPECT_EQ(operands.ld_function_operands[0], 0) << "a vector has none";
  EXPECT_EQ(operands.ld_function_operands[1], set.ldd);
  float left[33];
  std::uint16_t more[17];
  driver_.check(driver_.cuMemcpyDtoH(left, set.epilogue.operands[0], sizeof left), "fetch");
  driver_.check(driver_.cuMemcpyDtoH(more, set.epilogue.operands[1], sizeof more), "fetch");
  EXPECT_THAT(left, testing::Each(testing::AllOf(testing::Ge(0.5f), testing::Lt(1.5f))));
  EXPECT_NE(more[0], more[1]);
  EXPECT_EQ(operands.function_operands[2], nullptr);
}

}  // namespace
}  // namespace hotgemm::standin
