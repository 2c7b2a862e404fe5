#include "standin/runtime_fixture.hpp"

#include <random>
#include <set>

namespace hotgemm::standin {
namespace {

using ContextTest = RuntimeTest;

// ---- the cold line and the warm path ----

TEST_F(ContextTest, ANewClassIsTunedRecordedAndRight) {
  expect_right(context(), small_case(), stream());
  const Stats stats = context().stats();
  EXPECT_EQ(stats.plans, 1u);
  EXPECT_EQ(stats.tuned, 1u);
  EXPECT_EQ(stats.estimated, 0u);
  ASSERT_EQ(records().size(), 1u);
  const TuningRecord record = records()[0].record;
  EXPECT_EQ(record.problem, small_case().described());
  EXPECT_EQ(record.environment.gpu, "Stand-in H200");
  EXPECT_EQ(record.environment.driver, "13.0");
  EXPECT_DOUBLE_EQ(record.timing.median_us, 1000);
  const Plan plan = context().plan(small_case().described());
  EXPECT_EQ(plan.origin(), Origin::tuned);
  EXPECT_EQ(plan.config(), to_string(record.config));
  EXPECT_THAT(warnings_.take(), testing::IsEmpty());
}

TEST_F(ContextTest, TheCallThatTunesTouchesNoOperandButD) {
  GemmCase c = small_case(8, 16, 8, 1);
  c.in_place = true;  // a D that is updated twice would be wrong
  expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().tuned, 1u);
  c.in_place = false;
  expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().plans, 1u);
}

TEST_F(ContextTest, TheSecondCallIsTwoDriverCalls) {
  const GemmCase c = small_case();
  expect_right(c, stream(), [&](const Operands& operands) {
    context().gemm(stream(), c.problem, operands);
    const auto count = [](const char* name) { return standin().calls(name); };
    const auto launches = [&] { return count("cuLaunchKernel") + count("cuLaunchKernelEx"); };
    const std::size_t all = count("*"), ids = count("cuCtxGetId"), before = launches();
    context().gemm(stream(), c.problem, operands);
    EXPECT_EQ(count("*") - all, 2u);
    EXPECT_EQ(count("cuCtxGetId") - ids, 1u);
    EXPECT_EQ(launches() - before, 1u);
  });
}

TEST_F(ContextTest, ARecordAnswersTheNextContext) {
  expect_right(context(), small_case(), stream());
  const std::string config = context().plan(small_case().described()).config();
  forget_context();
  const std::size_t events = standin().calls("cuEventCreate");
  expect_right(context(), small_case(7), stream());  // m = 7 is in the same class
  EXPECT_EQ(standin().calls("cuEventCreate"), events);
  EXPECT_EQ(context().stats().recorded, 1u);
  EXPECT_EQ(context().stats().tuned, 0u);
  EXPECT_EQ(context().plan(small_case().described()).config(), config);
}

TEST_F(ContextTest, APlanThatWasEstimatedOnRequestDoesNotKeepGemmFromTuning) {
  const GemmCase c = small_case();
  const Plan estimated = context(Policy::tune).plan(c.described(), Policy::estimate);
  EXPECT_EQ(estimated.origin(), Origin::estimated);
  EXPECT_EQ(context().stats().tuned, 0u);
  expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().tuned, 1u);
  EXPECT_EQ(context().plan(c.described(), Policy::estimate).origin(), Origin::tuned);
}

TEST_F(ContextTest, APlanMayBeTunedOnRequestWhereGemmEstimates) {
  const GemmCase c = small_case();
  expect_right(context(Policy::estimate), c, stream());
  expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().plans, 1u);
  EXPECT_EQ(context().plan(c.described(), Policy::tune).origin(), Origin::tuned);
  expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().plans, 1u) << "the same class, planned better";
}

// The default context is made once per process, so no other test may use it.
TEST_F(ContextTest, OneLineUsesTheDefaultContext) {
  ::setenv("HOTGEMM_TUNE", "missing", 1);
  Context::configure_default(ContextOptions{});
  Context::configure_default(options(Policy::estimate));  // the last one counts
  const GemmCase c = small_case(8, 16, 8, 1);
  // The default context stays alive, and so do its kernels.
  const auto call = [&](const Operands& o) {
    hgemm(stream(), Op::n, Op::n, 8, 16, 8, o.alpha, o.a, o.lda, o.b, o.ldb, o.beta, o.d, o.ldd);
  };
  GemmCase in_place = c;
  in_place.in_place = true;
  expect_right(in_place, stream(), call);
  EXPECT_EQ(Context::default_context().stats().plans, 1u);
  EXPECT_EQ(Context::default_context().stats().tuned, 0u);
  EXPECT_EQ(impl_of(Context::default_context()).engine().cache.directory(), cache_.path());
  expect_thrown(ErrorCode::invalid_argument, {"has been made already"},
                [&] { Context::configure_default(options(Policy::tune)); });
  expect_thrown(ErrorCode::invalid_argument, {"m is negative: -3"},
                [&] { hgemm(stream(), Op::n, Op::n, -3, 8, 8, 1, nullptr, 8, nullptr, 8, 0, nullptr, 8); });
  before_[Kind::module] = standin().live(Kind::module);
  before_[Kind::function] = standin().live(Kind::function);
}

TEST_F(ContextTest, AThousandSizesOfMAreFewClasses) {
  ContextOptions quick = options(Policy::tune);
  quick.tuning.budget_s = 0.02;
  quick.tuning.jobs = 1;
  context_.emplace(quick);
  std::mt19937 random(5);
  std::set<std::int64_t> classes;
  CaseRun biggest(driver_, small_case(8192, 16, 16), stream());
  for (int call = 0; call < 1000; ++call) {
    const auto m = static_cast<std::int64_t>(random() % 8192 + 1);
    const bool is_new = classes.insert(class_m(m)).second;
    if (is_new || call % 50 == 0) {
      standin().corrupt("hotgemm_", Corruption::none);
      expect_right(context(), small_case(m, 16, 16), stream(), static_cast<unsigned>(call));
    } else {
      standin().corrupt("hotgemm_", Corruption::nothing);  // to save time
      context().gemm(stream(), small_case(m, 16, 16).problem, biggest.operands());
    }
  }
  standin().corrupt("hotgemm_", Corruption::none);
  EXPECT_EQ(context().stats().plans, classes.size());
  EXPECT_LE(context().stats().tuned, classes.size());
  EXPECT_GT(classes.size(), 20u);
}

// ---- policies ----

TEST_F(ContextTest, CachedOnlyCompilesNothing) {
  ::unsetenv("HOTGEMM_CACHE_PATH");
  CaseRun run(driver_, small_case(), stream());
  run.fill(CaseRun::Data::integers, 1);
  const auto gemm = [&](const Operands& o) { context(Policy::cached_only).gemm(stream(), small_case().problem, o); };
  expect_thrown(ErrorCode::not_prepared, {"8 16 8 nn f16", "sm_90a", "hotgemm prewarm"}, [&] { run.run(gemm); });
  EXPECT_EQ(context().stats().compiled, 0u);
  EXPECT_EQ(standin().launches(), 0u);
  const PrewarmReport report =
      context().prewarm(std::vector{small_case().described()}, PrewarmOptions{.archs = {"sm_90a"}, .jobs = 1});
  EXPECT_EQ(report.compiled, 1u);
  forget_context();
  expect_right(context(Policy::cached_only), small_case(), stream());
  EXPECT_EQ(context().stats().compiled, 0u);
  EXPECT_EQ(context().plan(small_case().described()).config(), report.entries.at(0).config);
}

TEST_F(ContextTest, EstimateNeverMeasures) {
  expect_right(context(Policy::estimate), small_case(), stream());
  EXPECT_EQ(standin().calls("cuEventCreate"), 0u);
  EXPECT_EQ(standin().calls("cuEventRecord"), 0u);
  EXPECT_EQ(standin().launches(), 1u);
  EXPECT_EQ(context().stats().estimated, 1u);
  EXPECT_THAT(records(), testing::IsEmpty());
  EXPECT_EQ(context().plan(small_case().described()).origin(), Origin::estimated);
}

TEST_F(ContextTest, WithoutMemoryTheModelDecides) {
  const GemmCase c = small_case();
  expect_right(c, stream(), [&](const Operands& operands) {
    standin().set_memory_limit(1);
    context().gemm(stream(), c.problem, operands);
  });
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::AllOf(testing::HasSubstr("8 16 8"),
                                                                    testing::HasSubstr("memory are free"))));
  EXPECT_EQ(context().stats().tuned, 0u);
  EXPECT_EQ(context().stats().estimated, 1u);
  EXPECT_THAT(records(), testing::IsEmpty());
}

TEST_F(ContextTest, WithTooLittleScratchTheModelDecides) {
  ContextOptions tight = options(Policy::tune);
  tight.tuning.scratch_bytes = 100;
  context_.emplace(tight);
  expect_right(context(), small_case(), stream());
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("scratch")));
  EXPECT_EQ(context().stats().tuned, 0u);
  EXPECT_THAT(records(), testing::IsEmpty());
}

TEST_F(ContextTest, TheEnvironmentNamesThePolicy) {
  EXPECT_EQ(ContextOptions::from_environment().policy, Policy::background);
  ::setenv("HOTGEMM_TUNE", "missing", 1);
  EXPECT_EQ(ContextOptions::from_environment().policy, Policy::tune);
  ::setenv("HOTGEMM_TUNE", "never", 1);
  EXPECT_EQ(ContextOptions::from_environment().policy, Policy::estimate);
  for (const Policy policy : {Policy::cached_only, Policy::estimate, Policy::tune, Policy::background}) {
    ::setenv("HOTGEMM_TUNE", std::string(to_string(policy)).c_str(), 1);
    EXPECT_EQ(ContextOptions::from_environment().policy, policy);
  }
  for (const char* bad : {"always", "NEVER"}) {
    ::setenv("HOTGEMM_TUNE", bad, 1);
    expect_thrown(ErrorCode::invalid_argument, {"HOTGEMM_TUNE", std::string("\"") + bad + "\""},
                  [] { Context context; });
  }
}

TEST_F(ContextTest, AnEmptyVariableIsNone) {
  for (const char* name : {"HOTGEMM_TUNE", "HOTGEMM_OBJECTIVE", "HOTGEMM_WORKSPACE_BYTES", "HOTGEMM_MAX_PLANS"}) {
    ::setenv(name, "", 1);
    const ContextOptions options = ContextOptions::from_environment(), usual;
    EXPECT_EQ(options.policy, usual.policy) << name;
    EXPECT_EQ(options.objective, usual.objective) << name;
    EXPECT_EQ(options.workspace_bytes, usual.workspace_bytes) << name;
    EXPECT_EQ(options.max_plans, usual.max_plans) << name;
    ::setenv(name, "nonsense", 1);
    expect_thrown(ErrorCode::invalid_argument, {name}, [] { ContextOptions::from_environment(); });
    ::unsetenv(name);
  }
}

// ---- results ----

/// Each layout with each pair of types. Leading dimensions, offsets, alpha, beta and aliasing differ between the cases.
std::vector<GemmCase> kinds() {
  constexpr Types kTypes[] = {kF16, kBf16, kF32, uniform_types(DType::f16, ComputeType::f16)};
  constexpr std::int64_t kMultiples[] = {1, 2, 8};
  constexpr int kOffsets[] = {0, 1, 2, 4};
  constexpr float kAlphas[] = {1, -2, 0.5f}, kBetas[] = {0, 1, -0.5f};
  std::vector<GemmCase> all;
  for (std::size_t i = 0; i < 16; ++i) {
    GemmCase c;
    c.problem = {
        .m = 9, .n = 14, .k = 11, .op_a = i & 1 ? Op::t : Op::n, .op_b = i & 2 ? Op::t : Op::n, .types = kTypes[i / 4]};
    c.set_tight_ld(kMultiples[i % 3]);
    c.lda += i % 5 == 0 ? 8 : 0, c.ldd += i % 5 == 1 ? 16 : 0, c.ldc += i % 3;
    c.offset_c = static_cast<int>(i % 2);
    c.offset_a = kOffsets[(i / 2) % 4], c.offset_b = kOffsets[(i / 3) % 4], c.offset_d = kOffsets[(i + i / 4) % 4];
    c.alpha = kAlphas[(i / 2) % 3], c.beta = kBetas[(i + 1) % 3];
    c.in_place = i % 4 == 1;
    all.push_back(c);
  }
  return all;
}

TEST_F(ContextTest, ComputesEveryKindAfterPrewarming) {
  std::vector<Workload> problems;
  for (const GemmCase& c : kinds()) problems.push_back(c.described());
  const PrewarmReport report = context(Policy::cached_only).prewarm(problems, PrewarmOptions{.archs = {"sm_90a"}});
  EXPECT_EQ(report.failed, 0u);
  EXPECT_EQ(report.compiled + report.cached, 16u);
  const std::uint64_t compiled = context().stats().compiled;
  for (const GemmCase& c : kinds()) expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().compiled, compiled);
}

TEST_F(ContextTest, OneElementAndThinShapes) {
  for (const auto& [m, n, k] :
       {std::tuple(1, 1, 1), std::tuple(1, 8, 3), std::tuple(70, 1, 2), std::tuple(3, 70, 40)}) {
    GemmCase c = small_case(m, n, k);
    c.set_tight_ld(1);
    expect_right(context(Policy::estimate), c, stream());
  }
}

TEST_F(ContextTest, EmptyExtentsDoNothing) {
  for (const auto& [m, n] : {std::pair(0, 16), std::pair(8, 0), std::pair(0, 0)}) {
    context().gemm(stream(), {.m = m, .n = n, .k = 8}, {.lda = 16, .ldb = 16, .ldd = 16});
  }
  EXPECT_EQ(context().stats().plans, 0u);
  EXPECT_EQ(standin().launches(), 0u);
}

TEST_F(ContextTest, WithoutAProductBetaTimesCRemains) {
  for (const float beta : {0.0f, 1.0f, 2.0f}) {
    GemmCase no_k = small_case(8, 16, 0, beta), no_alpha = small_case(8, 16, 8, beta);
    no_alpha.alpha = 0;
    for (const GemmCase& c : {no_k, no_alpha}) {
      expect_right(c, stream(), [&](Operands o) {
        o.a = o.b = nullptr;
        if (beta == 0) o.c = nullptr;
        context().gemm(stream(), c.problem, o);
      });
    }
  }
  EXPECT_EQ(context().stats().plans, 4u);
  EXPECT_EQ(context().stats().tuned, 2u);  // a problem with k = 0 is not measured
}

TEST_F(ContextTest, ZeroAlphaAndBetaReadNothing) {
  GemmCase c = small_case(8, 16, 8, 0);
  c.alpha = 0;
  CaseRun run(driver_, c, stream());
  run.fill(CaseRun::Data::integers, 1);
  run.set_a(0, 0, std::numeric_limits<float>::quiet_NaN());
  run.set_b(0, 0, std::numeric_limits<float>::infinity());
  run.run([&](const Operands& o) { context(Policy::estimate).gemm(stream(), c.problem, o); });
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 16; ++j) EXPECT_EQ(run.result(i, j), 0);
  }
}

TEST_F(ContextTest, ColumnMajorUsersSwapTheOperands) {
  // Column-major D (24×8) = A (24×16) * B (16×8): as row-major matrices, D' (8×24) = B' (8×16) * A' (16×24).
  const auto a_at = [](int i, int l) { return static_cast<float>((i * 3 + l) % 5 - 2); };
  const auto b_at = [](int l, int j) { return static_cast<float>((l + j * 2) % 5 - 2); };
  std::vector<std::uint16_t> a(24 * 16), b(16 * 8), d(24 * 8);
  for (int i = 0; i < 24; ++i) {
    for (int l = 0; l < 16; ++l) a[static_cast<std::size_t>(i + l * 24)] = narrow_f16(a_at(i, l));
  }
  for (int l = 0; l < 16; ++l) {
    for (int j = 0; j < 8; ++j) b[static_cast<std::size_t>(l + j * 16)] = narrow_f16(b_at(l, j));
  }
  const DeviceBuffer device_a(driver_, a.size() * 2), device_b(driver_, b.size() * 2), device_d(driver_, d.size() * 2);
  driver_.check(driver_.cuMemcpyHtoD(device_a.get(), a.data(), a.size() * 2), "upload A");
  driver_.check(driver_.cuMemcpyHtoD(device_b.get(), b.data(), b.size() * 2), "upload B");
  context(Policy::estimate)
      .gemm(stream(), {.m = 8, .n = 24, .k = 16},
            {.a = reinterpret_cast<void*>(device_b.get()),
             .b = reinterpret_cast<void*>(device_a.get()),
             .d = reinterpret_cast<void*>(device_d.get()),
             .lda = 16,
             .ldb = 24,
             .ldd = 24});
  driver_.check(driver_.cuMemcpyDtoH(d.data(), device_d.get(), d.size() * 2), "download D");
  for (int i = 0; i < 24; ++i) {
    for (int j = 0; j < 8; ++j) {
      float sum = 0;
      for (int l = 0; l < 16; ++l) sum += a_at(i, l) * b_at(l, j);
      EXPECT_EQ(widen_f16(d[static_cast<std::size_t>(i + j * 24)]), sum);
    }
  }
}

}  // namespace
}  // namespace hotgemm::standin
