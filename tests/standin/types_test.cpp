// Problems whose matrices have several types, from the call to the launch.

#include "standin/runtime_fixture.hpp"

#include "config/families.hpp"
#include "sweep_sample.hpp"

#include <cmath>
#include <cstddef>

namespace hotgemm::standin {
namespace {

/// A problem of these types with rows of A, B and D that no vector access fits.
GemmCase case_of(const KernelTypes& types, float beta) {
  const Types all = types_of(GemmTraits{.element = types.element,
                                        .accumulator = types.accumulator,
                                        .element_b = types.element_b,
                                        .element_d = types.element_d});
  GemmCase c = small_case(13, 21, 35, beta);
  c.problem.types = all;
  c.problem.op_b = Op::t;
  c.set_tight_ld(1);
  return c;
}

class TypesTest : public RuntimeTest {};

TEST_F(TypesTest, EveryMixtureThatAFamilyStatesRuns) {
  context(Policy::estimate);
  std::size_t mixtures = 0;
  for (const KernelTypes& types : kSimtTypes) {
    if (!types.is_mixed()) continue;
    if (!is_drawn(mixtures++, 3 * kFewer)) continue;
    for (const float beta : {0.0f, -2.0f}) expect_right(context(), case_of(types, beta), stream());
    const Plan plan = context().plan(case_of(types, 0).described());
    // The problem is small, and rows of less than 4 bytes would have to be repacked.
    EXPECT_TRUE(plan.config().starts_with(types.element == DType::tf32 ? "mma_" : "simt_")) << plan.config();
    EXPECT_EQ(plan.origin(), Origin::estimated);
  }
  EXPECT_EQ(mixtures, 27U);
}

/// Rows at multiples of 16 bytes, and a k that no k-tile divides.
GemmCase aligned_case_of(const KernelTypes& types, ComputeMode mode, float beta) {
  GemmCase c = case_of(types, beta);
  c.problem.m = 80, c.problem.n = 96, c.problem.k = 208;
  c.problem.types.mode = mode;
  c.set_tight_ld(16);
  return c;
}

TEST_F(TypesTest, AlignedRowsRunOnTensorCoresInEveryMixture) {
  context(Policy::estimate);
  std::size_t mixtures = 0;
  for (const KernelTypes& types : kWgmmaTypes) {
    if (!types.is_mixed() || !is_drawn(mixtures++, 3 * kFewer)) continue;
    for (const ComputeMode mode : {ComputeMode::precise, ComputeMode::fast}) {
      if (mode == ComputeMode::fast && !is_fp8(types.element)) continue;
      for (const float beta : {0.0f, -2.0f}) expect_right(context(), aligned_case_of(types, mode, beta), stream());
      const Plan plan = context().plan(aligned_case_of(types, mode, 0).described());
      const bool is_wgmma = plan.config().starts_with("wgmma_");
      EXPECT_TRUE(is_wgmma || plan.config().starts_with("mma_")) << plan.config();
      const bool is_promoted = plan.config().find("_pr1") != std::string::npos;
      EXPECT_EQ(is_promoted, is_wgmma && is_fp8(types.element) && mode == ComputeMode::precise) << plan.config();
    }
  }
}

/// Tensor cores read these elements with k contiguous, and rows of some alignment: launches copy what is stored
/// otherwise. CTest runs this test for other architectures too (HOTGEMM_STANDIN_ARCH).
TEST_F(TypesTest, RunOnTensorCoresInEveryLayoutAndAlignment) {
  context(Policy::estimate);
  const bool is_hopper = arch_limits(impl_of(context()).current().info().arch).has_wgmma;
  const int size = is_hopper ? 1 : 2;  // elsewhere copies pay for larger problems only
  std::size_t index = 0;
  for (const Types& types : {kTf32, kS8, kE4m3}) {
    if (is_fp8(types.a) && !is_hopper) continue;  // no tensor core before Hopper sums FP8 precisely
    for (const Op op_a : {Op::n, Op::t}) {
      for (const Op op_b : {Op::n, Op::t}) {
        for (const int ld_unit : {16, 1}) {
          if (!is_drawn(index++, 3 * kFewer)) continue;
          GemmCase c = small_case(300 * size, 250 * size, 211, -2.0f);
          c.problem.types = types;
          c.problem.op_a = op_a, c.problem.op_b = op_b;
          c.set_tight_ld(ld_unit);
          const Plan plan = context().plan(c.described());
          // CUDA cores of Ada multiply f32 as fast as its tensor cores multiply TF32.
          const bool may_be_fma = types.compute == ComputeType::tf32 && !is_hopper;
          EXPECT_THAT(plan.config(), testing::AnyOf(testing::StartsWith("wgmma_"), testing::StartsWith("mma_"),
                                                    testing::StartsWith(may_be_fma ? "fma_" : "mma_")));
          expect_right(context(), c, stream());
        }
      }
    }
  }
}

TEST_F(TypesTest, AreTunedAndRecordedLikeOthers) {
  for (const char* text : {"13 21 35 nt s8", "13 21 35 tn e4m3*e5m2>f32", "13 21 35 nn bf16*bf16>f32", "66 74 94 tn s8",
                           "13 21 35 tt tf32"}) {
    const Workload problem = parse_workload(text);
    const std::vector<TuneResult> results = context(Policy::tune).tune(std::vector{problem}, quick_tuning(2));
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].failure, "") << text;
    EXPECT_EQ(context().plan(problem).origin(), Origin::tuned) << text;
    forget_context();
    EXPECT_EQ(context().plan(problem).origin(), Origin::tuned) << text << ": the record is read again";
    forget_context();
  }
}

TEST_F(TypesTest, AWrongKernelOfIntegersIsRejected) {
  const Workload problem = parse_workload("40 24 60 nt s8");
  standin().corrupt("_s8_s32tos32_", Corruption::wrong);
  const std::vector<TuneResult> results = context(Policy::tune).tune(std::vector{problem}, quick_tuning(2));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_THAT(results[0].failure, testing::HasSubstr("wrong")) << "all kernels of the problem are";
}

TEST_F(TypesTest, IntegersAreScaledByWholeNumbers) {
  GemmCase c = case_of({DType::s8, DType::s32, DType::s8, DType::s32}, 1);
  c.alpha = -3;
  expect_right(context(), c, stream());
  for (const float bad : {0.5f, -1.25f, 0x1p25f, std::nanf("")}) {
    for (float GemmCase::*scalar : {&GemmCase::alpha, &GemmCase::beta}) {
      GemmCase other = c;
      other.*scalar = bad;
      const std::string name = scalar == &GemmCase::alpha ? "alpha is " : "beta is ";
      CaseRun run(Driver::get(), other, stream());
      expect_thrown(ErrorCode::invalid_argument, {name, "s32", "whole number"},
                    [&] { context().gemm(stream(), other.problem, run.operands()); });
    }
  }
  c = case_of({DType::s8, DType::s32, DType::s8, DType::f32}, 1);
  c.alpha = 0.5f;
  expect_right(context(), c, stream());
}

TEST_F(TypesTest, AnUnwrittenElementIsNoResult) {
  // The check's data may have any small integer as its result, so D is filled with another number before.
  const Workload problem = parse_workload("40 24 60 nt s8");
  standin().corrupt("_s8_s32tos32_", Corruption::nothing);
  const std::vector<TuneResult> results = context(Policy::tune).tune(std::vector{problem}, quick_tuning(2));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_THAT(results[0].failure, testing::HasSubstr("1152 of 1152 elements are wrong"));
}

}  // namespace
}  // namespace hotgemm::standin
