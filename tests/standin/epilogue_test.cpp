// Problems with an epilogue, from the call to the launch.

#include "standin/runtime_fixture.hpp"

#include "sweep_sample.hpp"

#include <cstddef>
#include <functional>
#include <utility>

namespace hotgemm::standin {
namespace {

class EpilogueTest : public RuntimeTest {};

GemmCase case_of(const char* types, const Epilogue& epilogue, float beta) {
  GemmCase c = small_case(13, 21, 35, beta);
  c.problem.types = parse_types(types);
  c.problem.op_b = Op::t;
  c.problem.epilogue = epilogue;
  if (c.problem.types.d == DType::s8) c.alpha = 0.25f;
  c.set_tight_ld(1);
  return c;
}

constexpr Epilogue kChain{.scale_a = Scaling::vector,
                          .scale_b = Scaling::vector,
                          .bias = Bias::per_column,
                          .aux = true,
                          .activation = Activation::relu,
                          .residual = true,
                          .amax = true,
                          .scale_d = true,
                          .scalars = true};

TEST_F(EpilogueTest, EachPartRunsAlone) {
  context(Policy::estimate);
  std::size_t index = 0;
  for (const Epilogue& part :
       {Epilogue{.scale_a = Scaling::tensor}, Epilogue{.scale_b = Scaling::vector}, Epilogue{.bias = Bias::per_column},
        Epilogue{.bias = Bias::per_row}, Epilogue{.aux = true}, Epilogue{.activation = Activation::relu},
        Epilogue{.activation = Activation::gelu_erf}, Epilogue{.activation = Activation::tanh},
        Epilogue{.activation = Activation::clamp}, Epilogue{.activation = Activation::dgelu},
        Epilogue{.residual = true}, Epilogue{.amax = true}, Epilogue{.scale_d = true}, Epilogue{.scalars = true},
        Epilogue{.aux = true, .activation = Activation::relu, .bits = true},
        Epilogue{.activation = Activation::drelu, .bits = true}, Epilogue{.bias_gradient = Bias::per_column},
        Epilogue{.bias_gradient = Bias::per_row}}) {
    if (is_drawn(index++, 2 * kFewer)) expect_right(context(), case_of("f16", part, -2.0f), stream());
  }
}

TEST_F(EpilogueTest, AChainRunsInEveryKindOfTypes) {
  context(Policy::estimate);
  std::size_t index = 0;
  for (const char* types : {"bf16", "f32", "f16*f16>f32", "e4m3", "e5m2*e5m2>e4m3", "s8*s8>s8", "s8*s8>bf16"}) {
    for (const float beta : {0.0f, -1.0f}) {
      if (is_drawn(index++, 2 * kFewer)) expect_right(context(), case_of(types, kChain, beta), stream());
    }
  }
}

TEST_F(EpilogueTest, ABackwardChainReadsTheAuxiliaryMatrix) {
  context(Policy::estimate);
  const Epilogue chain{.scale_b = Scaling::vector, .activation = Activation::drelu, .residual = true, .scale_d = true};
  expect_right(context(), case_of("e4m3*e4m3>e4m3", chain, -1.0f), stream());
  GemmCase c = case_of("bf16", chain, 0);
  c.problem.m = 300, c.problem.n = 264, c.problem.k = 128;
  c.set_tight_ld(8);
  EXPECT_THAT(context().plan(c.described()).config(), testing::StartsWith("wgmma_"));
  expect_right(context(), c, stream());
}

TEST_F(EpilogueTest, TheMatrixOfADerivativeIsNamedIfItIsWrong) {
  context(Policy::estimate);
  const GemmCase c = case_of("bf16", {.activation = Activation::dgelu}, 0);
  RefusedCalls expect_refused(context(), c, stream());
  expect_refused(c.problem, {"auxiliary is null", "epilogue"}, [](Operands& o) { o.auxiliary = nullptr; });
  expect_refused(c.problem, {"ld_auxiliary is 20", "21"}, [](Operands& o) { o.ld_auxiliary = 20; });
  expect_refused(c.problem, {"auxiliary and D are the same", "ld_auxiliary 22, ldd 21"}, [](Operands& o) {
    o.auxiliary = o.d;
    o.ld_auxiliary = o.ldd + 1;
  });
  Problem other = c.problem;
  other.epilogue.aux = true;
  expect_refused(other, {"aux, which writes the auxiliary matrix, and dgelu, which reads it"}, [](Operands&) {});
  other = c.problem;
  other.epilogue.activation = Activation::gelu;
  expect_refused(other, {"field auxiliary is set", "no part of the problem uses it"}, [](Operands&) {});
  Operands in_place = expect_refused.operands();
  in_place.auxiliary = in_place.d;
  in_place.ld_auxiliary = in_place.ldd;
  EXPECT_NO_THROW(context().gemm(stream(), c.problem, in_place));
}

TEST_F(EpilogueTest, TensorCoresAndSplitsRunChainsToo) {
  context(Policy::estimate);
  for (const auto& [m, n, k] : {std::array{300, 264, 128}, std::array{16, 264, 4096}}) {
    GemmCase c = case_of("f16", kChain, -1.0f);
    c.problem.m = m, c.problem.n = n, c.problem.k = k;
    c.problem.epilogue.scale_d = false;
    c.set_tight_ld(8);
    EXPECT_THAT(context().plan(c.described()).config(), testing::StartsWith("wgmma_"));
    if (k > 1000) {
      EXPECT_THAT(context().plan(c.described()).config(), testing::HasSubstr("_sk1"));
    }
    for (const bool residual_in_place : {false, true}) {
      c.residual_in_place = residual_in_place;
      expect_right(context(), c, stream());
    }
  }
}

TEST_F(EpilogueTest, AGateHalvesTheColumnsOfD) {
  context(Policy::estimate);
  for (const Gate gate : {Gate::halves, Gate::interleaved}) {
    const Epilogue chain{
        .scale_b = Scaling::vector, .bias = Bias::per_column, .activation = Activation::silu, .gate = gate};
    for (const char* types : {"bf16", "f32", "e4m3", "s8*s8>s8"}) {
      GemmCase c = case_of(types, chain, 0);
      c.problem.n = 42;
      c.set_tight_ld(1);
      EXPECT_EQ(c.ldd, 21);
      expect_right(context(), c, stream());
      c.problem.epilogue.aux = true;  // the values of both columns
      expect_right(context(), c, stream());
      c.problem.epilogue.aux = false;
      c.problem.n = 41;
      expect_thrown(ErrorCode::invalid_argument, {"n is 41", "even"}, [&] { context().plan(Workload(c.problem)); });
    }
    GemmCase large = case_of("bf16", chain, 0);
    large.problem.m = 300, large.problem.n = 528, large.problem.k = 128;
    for (const Op op_b : {Op::n, Op::t}) {
      large.problem.op_b = op_b;
      large.set_tight_ld(8);
      EXPECT_THAT(context().plan(large.described()).config(), testing::StartsWith("wgmma_"));
      expect_right(context(), large, stream());
    }
  }
}

TEST_F(EpilogueTest, AnEmptySumGoesThroughTheChain) {
  context(Policy::estimate);
  GemmCase c = case_of("bf16", kChain, -1.0f);
  c.problem.k = 0;
  expect_right(context(), c, stream());
  c = case_of("bf16", {.bias = Bias::per_column}, 0);
  c.alpha = 0;
  expect_right(context(), c, stream());
  for (std::int64_t Problem::*size : {&Problem::m, &Problem::n}) {
    GemmCase empty = c;
    empty.problem.*size = 0;
    Operands operands{.lda = 64, .ldb = 64, .ldc = 64, .ldd = 64};
    EXPECT_NO_THROW(context().gemm(stream(), empty.problem, operands));
  }
}

TEST_F(EpilogueTest, MatricesOfTheEpilogueCountInTheAlignmentOfD) {
  const GemmCase c = case_of("bf16", {.aux = true, .residual = true}, 0);
  CaseRun run(Driver::get(), c, stream());
  Operands o = run.operands();
  o.ldd = o.ld_residual = o.ld_auxiliary = 64;
  const auto alignment = [&] { return describe(c.problem, o).hints.align_d; };
  ASSERT_EQ(alignment(), 16);
  o.ld_residual = 66;
  EXPECT_EQ(alignment(), 4);
  o.ld_residual = 64, o.ld_auxiliary = 65;
  EXPECT_EQ(alignment(), 2);
  o.ld_auxiliary = 64, o.residual = static_cast<const char*>(o.residual) + 8;
  EXPECT_EQ(alignment(), 8);
}

TEST_F(EpilogueTest, IsPickedByTheRecordOfTheBareProduct) {
  Workload bare = parse_workload("34 42 96 nt bf16"), fused = bare;
  fused.epilogue = {.bias = Bias::per_column, .activation = Activation::gelu};
  const std::vector<TuneResult> results = context(Policy::tune).tune(std::vector{fused}, quick_tuning(3));
  ASSERT_EQ(results.size(), 1U);
  ASSERT_EQ(results[0].failure, "");
  for (const Workload& problem : {bare, fused}) {
    const Plan plan = context().plan(problem, Policy::estimate);
    EXPECT_EQ(plan.origin(), Origin::tuned) << to_string(problem);
    EXPECT_EQ(plan.config(), results[0].config) << to_string(problem);
  }
  const std::vector<TuneResult> again = context().tune(std::vector{bare}, quick_tuning(3));
  EXPECT_TRUE(again.at(0).was_recorded) << "one record serves both";
}

TEST_F(EpilogueTest, IsTunedByItsFirstCallAsTheBareProductIs) {
  Workload fused = parse_workload("34 42 96 nt bf16");
  fused.epilogue = {.activation = Activation::silu};
  EXPECT_EQ(context(Policy::tune).plan(fused).origin(), Origin::tuned);
  EXPECT_EQ(context().stats().tuned, 1U);
}

TEST_F(EpilogueTest, APrewarmedKernelServesEveryCall) {
  const GemmCase c = case_of("bf16", {.bias = Bias::per_column, .activation = Activation::gelu}, 0);
  const PrewarmReport report = context(Policy::estimate).prewarm(std::vector{c.described()}, {.archs = {"sm_90a"}});
  EXPECT_EQ(report.failed, 0);
  forget_context();
  expect_right(context(Policy::cached_only), c, stream());
  GemmCase other = c;
  other.problem.epilogue.activation = Activation::silu;
  expect_thrown(ErrorCode::not_prepared, {"epilogue=bias+silu", "hotgemm prewarm"},
                [&] { expect_right(context(), other, stream()); });
}

TEST_F(EpilogueTest, WrongOperandsAreNamed) {
  context(Policy::estimate);
  const Epilogue all{.scale_a = Scaling::tensor,
                     .scale_b = Scaling::vector,
                     .bias = Bias::per_row,
                     .aux = true,
                     .residual = true,
                     .scale_d = true,
                     .scalars = true};
  const GemmCase c = case_of("bf16", all, 0);
  RefusedCalls expect_refused(context(), c, stream());
  const auto off = [](auto*& pointer) {
    pointer =
        reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
  };
  expect_refused(c.problem, {"scale_a is null", "epilogue"}, [](Operands& o) { o.scale_a = nullptr; });
  expect_refused(c.problem, {"scale_b is null"}, [](Operands& o) { o.scale_b = nullptr; });
  expect_refused(c.problem, {"scale_d is not aligned"}, [&](Operands& o) { off(o.scale_d); });
  expect_refused(c.problem, {"bias is null"}, [](Operands& o) { o.bias = nullptr; });
  expect_refused(c.problem, {"bias is not aligned"},
                 [&](Operands& o) { o.bias = static_cast<const char*>(o.bias) + 1; });
  expect_refused(c.problem, {"auxiliary is null"}, [](Operands& o) { o.auxiliary = nullptr; });
  expect_refused(c.problem, {"auxiliary and D are the same"}, [](Operands& o) { o.auxiliary = o.d; });
  expect_refused(c.problem, {"ld_auxiliary is 20", "21"}, [](Operands& o) { o.ld_auxiliary = 20; });
  expect_refused(c.problem, {"residual is null"}, [](Operands& o) { o.residual = nullptr; });
  expect_refused(c.problem, {"ld_residual is 0"}, [](Operands& o) { o.ld_residual = 0; });
  expect_refused(c.problem, {"residual and D are the same", "ld_residual 22, ldd 21"}, [](Operands& o) {
    o.residual = o.d;
    o.ld_residual = o.ldd + 1;
  });
  expect_refused(c.problem, {"alpha_device and beta_device are null"}, [](Operands& o) { o.alpha_device = nullptr; });
  Problem more = c.problem;
  more.epilogue.activation = Activation::clamp;
  expect_refused(more, {"clamp_low is 0", "clamp_high 0", "below"}, [](Operands&) {});
  expect_refused(more, {"clamp_high nan"}, [](Operands& o) { o.clamp_high = std::nanf(""); });
  expect_refused(c.problem, {"field clamp_low is set"}, [](Operands& o) { o.clamp_high = 1; });
  more = c.problem;
  more.epilogue.amax = true;
  expect_refused(more, {"amax is null"}, [](Operands&) {});
  more = c.problem;
  more.epilogue.bias_gradient = Bias::per_row;
  expect_refused(more, {"bias_gradient is null"}, [](Operands&) {});
  more = c.problem;
  more.epilogue.bits = true;
  expect_refused(more, {"bits with aux and none", "relu", "drelu"}, [](Operands&) {});
  more.epilogue.activation = Activation::relu;
  expect_refused(more, {"ld_auxiliary is 53", "counts bits", "128"}, [](Operands& o) { o.ld_auxiliary = 53; });
  expect_refused(more, {"auxiliary is null"}, [](Operands& o) { o.auxiliary = nullptr; });
  const auto to_bits = [](Operands& o) {
    o.auxiliary = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(o.auxiliary) & ~std::uintptr_t{15});
  };
  expect_refused(more, {"ld_auxiliary is 0", "21"}, [&](Operands& o) { to_bits(o), o.ld_auxiliary = 0; });
  expect_refused(more, {"auxiliary is not at a multiple of 16 bytes"}, [&](Operands& o) {
    to_bits(o);
    o.auxiliary = static_cast<char*>(o.auxiliary) + 4;
    o.ld_auxiliary = 128;
  });
  more.batch = 2;
  expect_refused(more, {"batch_stride_auxiliary is 1600", "counts bits"}, [&](Operands& o) {
    to_bits(o), o.ld_auxiliary = 128;
    o.batch_stride_auxiliary = 1600;
    o.batch_stride_d = o.batch_stride_residual = 13 * o.ldd;
  });
  expect_refused(c.problem, {"field bias_gradient is set"},
                 [](Operands& o) { o.bias_gradient = static_cast<float*>(o.d); });
  Problem less = c.problem;
  less.epilogue.bias = Bias::none;
  expect_refused(less, {"field bias is set", "no part of the problem uses it"}, [](Operands&) {});
  less = c.problem;
  less.epilogue.scalars = false;
  expect_refused(less, {"field alpha_device is set"}, [](Operands&) {});
}

TEST_F(EpilogueTest, PartsWithoutKernelsAreRefusedByName) {
  context(Policy::estimate);
  const std::pair<const char*, const char*> refused[] = {
      {"64 64 64 nt bf16 epilogue=dsilu+gated", "derivative with a gated epilogue"},
      {"64 64 64 nt bf16 epilogue=aux:bits+relu+gated", "bits with a gated epilogue"},
      {"64 64 64 nt bf16 epilogue=silu+gated beta=1", "C with a gated epilogue"},
      {"64 64 64 nt e4m3 epilogue=scale_a:block_1x128", "scaling block_1x128"},
      {"64 64 64 nt bf16 epilogue=bias_gradient+silu+gated", "gradient of a bias with a gated epilogue"},
      {"64 64 64 nt bf16 groups=2 epilogue=bias_gradient", "gradient of a bias with groups"},
      {"64 64 64 nt bf16 order=deterministic epilogue=bias_gradient", "gradient of a bias with order deterministic"},
      {"64 64 64 nt s8 epilogue=bias", "epilogue with D of type s32"}};
  for (const auto& [text, part] : refused) {
    expect_thrown(ErrorCode::not_supported, {part, "not supported yet"},
                  [&, problem = text] { context().plan(parse_workload(problem)); });
  }
}

TEST_F(EpilogueTest, APlanReadsCIfBetaIsOnTheDevice) {
  context(Policy::estimate);
  GemmCase c = case_of("bf16", {.scalars = true}, -2.0f);
  const Plan plan = context().plan(c.described());
  expect_right(c, stream(), [&](const Operands& o) { plan.launch(stream(), o); });
  CaseRun run(Driver::get(), c, stream());
  run.fill(CaseRun::Data::integers, 1);
  Operands operands = run.operands();
  operands.beta_device = nullptr;
  operands.beta = 0;
  expect_thrown(ErrorCode::invalid_argument, {"beta is zero; the plan is for"},
                [&] { plan.launch(stream(), operands); });
}

}  // namespace
}  // namespace hotgemm::standin
