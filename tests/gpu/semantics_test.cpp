// The guarantees of a call, through the public API.

#include "gpu/gpu_fixture.hpp"

namespace hotgemm {
namespace {

constexpr float kFloatNan = std::numeric_limits<float>::quiet_NaN();

GemmCase small_case(DType dtype = DType::f16) {
  GemmCase c;
  c.problem = {.m = 70, .n = 90, .k = 50, .op_b = Op::t, .types = uniform_types(dtype)};
  c.set_tight_ld(8);
  return c;
}

class Semantics : public GpuTest {
 protected:
  void expect_exact(const GemmCase& c) {
    SCOPED_TRACE(c.text());
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 5);
    run.run(caller(gpu().context(), c.problem));
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(run.stray_write(), "");
  }
};

TEST_F(Semantics, EveryTypeLayoutAndAlignmentIsRight) {
  for (const auto& [dtype, accumulator] : {std::pair(DType::f16, DType::f32), std::pair(DType::bf16, DType::f32),
                                           std::pair(DType::f16, DType::f16), std::pair(DType::f32, DType::f32)}) {
    for (const Op op_a : {Op::n, Op::t}) {
      for (const Op op_b : {Op::n, Op::t}) {
        GemmCase c = small_case(dtype);
        c.problem.types = types_of({.element = dtype, .accumulator = accumulator});
        c.problem.op_a = op_a;
        c.problem.op_b = op_b;
        c.set_tight_ld(8);
        c.beta = op_a == op_b ? 1.0f : 0.0f;
        expect_exact(c);
        if (small_run()) continue;
        c.offset_a = 1, c.offset_b = 2, c.offset_d = 4;
        expect_exact(c);
      }
    }
  }
}

TEST_F(Semantics, AlphaAndBetaScale) {
  for (const float alpha : {0.0f, 1.0f, -1.0f, 0.5f, 2.0f}) {
    for (const float beta : {0.0f, 1.0f, -1.0f, 0.5f}) {
      for (const bool in_place : {false, true}) {
        GemmCase c = small_case();
        c.alpha = alpha, c.beta = beta, c.in_place = in_place;
        expect_exact(c);
      }
    }
  }
}

TEST_F(Semantics, FractionalAndExtremeScalarsStayWithinTheGate) {
  for (const auto& [alpha, beta] : {std::pair(0.7f, 1.3f), std::pair(1e-3f, -1e-3f), std::pair(-0.1f, 0.0f)}) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
      GemmCase c = small_case(dtype);
      c.alpha = alpha, c.beta = beta;
      CaseRun run(driver(), c, stream());
      run.fill(CaseRun::Data::normal, 6);
      run.run(caller(gpu().context(), c.problem));
      EXPECT_LE(run.worst_error(), 1.0) << c.text();
    }
  }
}

TEST_F(Semantics, NanScalarsReachEveryElement) {
  for (const bool in_alpha : {true, false}) {
    GemmCase c = small_case();
    (in_alpha ? c.alpha : c.beta) = kFloatNan;
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 7);
    run.run(caller(gpu().context(), c.problem));
    EXPECT_EQ(run.not_nan_as([](auto, auto) { return true; }, run.found()), "") << (in_alpha ? "alpha" : "beta");
  }
}

TEST_F(Semantics, AlphaZeroReadsNeitherANorB) {
  for (const bool are_null : {false, true}) {
    GemmCase c = small_case();
    c.alpha = 0, c.beta = 0.5f;
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 8);
    run.a().fill_nan();
    run.b().fill_nan();
    run.run([&](Operands operands) {
      if (are_null) operands.a = operands.b = nullptr;
      gpu().context().gemm(stream(), c.problem, operands);
    });
    EXPECT_EQ(run.inexact(), "") << (are_null ? "null" : "NaN");
  }
}

/// Tested with every policy, because a problem with k = 0 cannot be measured.
TEST_F(Semantics, AnEmptyProductGivesBetaTimesC) {
  const TemporaryDirectory cache;
  for (const Policy policy : {Policy::estimate, Policy::tune}) {
    ContextOptions options = tuning_options(cache.string());
    options.policy = policy;
    Context context(options);
    for (const float beta : {0.0f, 1.0f, -0.5f}) {
      GemmCase c = small_case();
      c.problem.k = 0;
      c.beta = beta;
      c.set_tight_ld(8);
      CaseRun run(driver(), c, stream());
      run.fill(CaseRun::Data::integers, 9);
      run.run([&](Operands operands) {
        operands.a = operands.b = nullptr;
        context.gemm(stream(), c.problem, operands);
      });
      EXPECT_EQ(run.inexact(), "") << to_string(policy) << " beta " << beta;
      EXPECT_EQ(run.stray_write(), "");
    }
  }
}

/// Infinity or NaN in alpha has no effect on an empty sum.
TEST_F(Semantics, AnEmptyProductHidesAlpha) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    for (const float alpha : {std::numeric_limits<float>::infinity(), kFloatNan}) {
      for (const float beta : {0.0f, 1.0f, -0.5f}) {
        GemmCase c = small_case(dtype);
        c.problem.k = 0;
        c.beta = beta;
        c.set_tight_ld(8);
        CaseRun run(driver(), c, stream());
        run.fill(CaseRun::Data::integers, 9);
        run.run([&](Operands operands) {
          operands.alpha = alpha;
          operands.a = operands.b = nullptr;
          gpu().context().gemm(stream(), c.problem, operands);
        });
        EXPECT_EQ(run.inexact(), "") << to_string(dtype) << " alpha " << alpha << " beta " << beta;
      }
    }
  }
}

TEST_F(Semantics, NoRowsOrNoColumnsDoNothing) {
  for (const auto& [m, n] : {std::pair(0, 5), std::pair(5, 0), std::pair(0, 0)}) {
    const Problem problem{.m = m, .n = n, .k = 4};
    const std::uint64_t plans = gpu().context().stats().plans;
    EXPECT_NO_THROW(gpu().context().gemm(stream(), problem, {.lda = 4, .ldb = 5, .ldc = 5, .ldd = 5, .beta = 1}));
    EXPECT_EQ(gpu().context().stats().plans, plans);
  }
  EXPECT_EQ(driver().cuStreamSynchronize(stream()), CUDA_SUCCESS);
}

/// The kernel of such a plan reads C for every beta. With beta zero it would multiply a NaN in C by zero.
TEST_F(Semantics, APlanThatReadsCRefusesABetaOfZero) {
  GemmCase c = small_case();
  c.beta = 1;
  const Plan plan = gpu().context().plan(c.described());
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 10);
  run.run([&](const Operands& operands) { plan.launch(stream(), operands); });
  EXPECT_EQ(run.inexact(), "");
  Operands operands = run.operands();
  operands.beta = 0;
  try {
    plan.launch(stream(), operands);
    ADD_FAILURE() << "launched";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  }
}

TEST_F(Semantics, AAndBMayBeTheSameMatrix) {
  GemmCase c = small_case();
  c.problem.m = c.problem.n = 90;
  c.set_tight_ld(8);
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 11);
  const std::size_t m = 90, k = 50;
  std::vector<float> expected(m * m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t l = 0; l < k; ++l) expected[i * m + j] += run.a().get(i, l) * run.a().get(j, l);
    }
  }
  run.run([&](Operands operands) {
    operands.b = operands.a;
    gpu().context().gemm(stream(), c.problem, operands);
  });
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) ASSERT_EQ(run.result(i, j), expected[i * m + j]) << i << " " << j;
  }
}

TEST_F(Semantics, TheOneLineCallWorks) {
  const TemporaryDirectory cache;
  setenv("HOTGEMM_CACHE_DIR", cache.path().c_str(), 1);
  setenv("HOTGEMM_TUNE", "never", 1);
  GemmCase c = small_case();
  c.beta = 1, c.in_place = true;
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 12);
  run.run([&](const Operands& o) {
    const Problem& p = c.problem;
    hgemm(stream(), p.op_a, p.op_b, p.m, p.n, p.k, o.alpha, o.a, o.lda, o.b, o.ldb, o.beta, o.d, o.ldd);
  });
  EXPECT_EQ(run.inexact(), "");
  EXPECT_EQ(run.stray_write(), "");
  EXPECT_EQ(Context::default_context().stats().estimated, 1u);
  unsetenv("HOTGEMM_CACHE_DIR");
  unsetenv("HOTGEMM_TUNE");
}

}  // namespace
}  // namespace hotgemm
