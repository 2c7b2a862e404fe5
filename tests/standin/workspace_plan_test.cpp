// The workspace of plans. The kernels are those of the library; the test declares that the best of them needs
// workspace.

#include "standin/runtime_fixture.hpp"

#include "config/workspace.hpp"
#include "plan/candidates.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace hotgemm::standin {
namespace {

constexpr WorkspaceSize kNeed{.scratch_bytes = 1 << 20, .counters = 16};
constexpr std::size_t kBytes = (1 << 20) + 256;

class WorkspacePlanTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    best_ = Context(options(Policy::estimate)).plan(case_.described()).config();
  }

  /// The test's Context, with `cap_bytes`, in which the best kernel needs workspace.
  Context& context_with(std::int64_t cap_bytes, Policy policy = Policy::estimate) {
    ContextOptions how = options(policy);
    how.workspace_bytes = cap_bytes;
    context_.emplace(how);
    impl_of(*context_).engine().workspace_of = [best = best_](const KernelConfig& config, const LaunchConfig&,
                                                              const Problem&) {
      return to_string(config) == best ? kNeed : WorkspaceSize{};
    };
    return *context_;
  }
  std::size_t used_bytes() { return impl_of(*context_).engine().workspace.used_bytes(); }

  GemmCase case_ = small_case();
  std::string best_;
};

TEST_F(WorkspacePlanTest, TheBestKernelGetsItsWorkspace) {
  Context& context = context_with(16 << 20);
  const Plan plan = context.plan(case_.described());
  EXPECT_EQ(plan.config(), best_);
  EXPECT_EQ(plan.workspace_bytes(), kBytes);
  EXPECT_THAT(plan.explain(), testing::AllOf(testing::HasSubstr("; 1048832 bytes of workspace; without workspace: "),
                                             testing::Not(testing::HasSubstr("the cap is"))));
  EXPECT_EQ(used_bytes(), 2 * kBytes) << "set apart for two captures";
  expect_right(context, case_, stream());
  expect_right(context, case_, stream());
  EXPECT_EQ(used_bytes(), 3 * kBytes);
  EXPECT_EQ(context.stats().without_workspace, 0u);
  EXPECT_EQ(context.stats().plans, 1u);
}

TEST_F(WorkspacePlanTest, TheBestKernelRunsAlthoughTheDriverRefusesTheOneWithoutWorkspace) {
  Context& context = context_with(16 << 20);
  standin().refuse_image("hotgemm_", 2);  // the one without workspace is loaded first, and compiled again once
  const Plan plan = context.plan(case_.described());
  EXPECT_EQ(plan.config(), best_);
  EXPECT_THAT(plan.explain(), testing::Not(testing::HasSubstr("without workspace")));
  EXPECT_THAT(warnings_.take(), testing::Contains(testing::HasSubstr("if no workspace is left")));
  expect_right(context, case_, stream());
}

TEST_F(WorkspacePlanTest, AContextMayEndWhileAnotherThreadCaptures) {
  context_with(16 << 20).plan(case_.described());
  ASSERT_EQ(used_bytes(), 2 * kBytes);
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  std::thread([&] {
    driver_.cuCtxSetCurrent(cuda_context_);
    forget_context();
  }).join();
  CUgraph graph = nullptr;
  EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  if (graph != nullptr) driver_.cuGraphDestroy(graph);
}

TEST_F(WorkspacePlanTest, AWarmCallAllocatesNothing) {
  Context& context = context_with(16 << 20);
  expect_right(context, case_, stream());
  const std::size_t calls = standin().calls("cuMemAlloc");
  CaseRun run(driver_, case_, stream());
  const std::size_t operands = standin().calls("cuMemAlloc") - calls;
  context.gemm(stream(), case_.problem, run.operands());
  EXPECT_EQ(standin().calls("cuMemAlloc"), calls + operands);
}

TEST_F(WorkspacePlanTest, WhileAClassIsTunedItsCallsSetNothingApart) {
  Context& context = context_with(16 << 20, Policy::tune);
  context.plan(case_.described(), Policy::estimate);
  const ClassFlights::Flight of_another = impl_of(context).current().tuning().try_take(class_key(case_.described()));
  CaseRun run(driver_, case_, stream());
  context.gemm(stream(), case_.problem, run.operands());
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  context.gemm(stream(), case_.problem, run.operands());
  CUgraph graph = nullptr;
  ASSERT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  const std::size_t before = used_bytes();
  EXPECT_EQ(before, 3 * kBytes);
  context.gemm(stream(), case_.problem, run.operands());
  EXPECT_EQ(used_bytes(), before);
  context.plan(case_.described());
  EXPECT_EQ(used_bytes(), before + kBytes) << "replaces the slab that the graph holds";
  driver_.cuGraphDestroy(graph);
}

TEST_F(WorkspacePlanTest, AProblemThatAllowsNoWorkspaceGetsAnotherKernel) {
  Context& context = context_with(16 << 20);
  Workload problem = case_.described();
  problem.hints.workspace = WorkspaceClass::small;
  EXPECT_EQ(context.plan(problem).config(), best_) << "a megabyte is a small workspace";
  problem.hints.workspace = WorkspaceClass::none;
  const Plan plan = context.plan(problem);
  EXPECT_NE(plan.config(), best_);
  EXPECT_EQ(plan.workspace_bytes(), 0u);
}

/// If the cap is too small for the best kernel, the class gets the next kernel, and the plan names the better one.
TEST_F(WorkspacePlanTest, ASmallerCapMeansAnotherKernel) {
  for (const std::size_t cap : {std::size_t{0}, kBytes - 1}) {
    Context& context = context_with(static_cast<std::int64_t>(cap));
    const std::size_t calls = standin().calls("cuMemAlloc");
    const Plan plan = context.plan(case_.described());
    EXPECT_EQ(standin().calls("cuMemAlloc"), calls);
    EXPECT_NE(plan.config(), best_);
    EXPECT_EQ(plan.workspace_bytes(), 0u);
    EXPECT_THAT(plan.explain(),
                testing::HasSubstr(best_ + " needs 1048832 bytes of workspace; the cap is " + std::to_string(cap)));
    expect_right(context, case_, stream());
    EXPECT_EQ(context.stats().without_workspace, 0u);
  }
}

TEST_F(WorkspacePlanTest, ASmallerCapThanTheTunedKernelNeedsMeansAnotherKernel) {
  for (const WorkspaceClass hint : {WorkspaceClass::full, WorkspaceClass::none}) {
    Context& context = context_with(hint == WorkspaceClass::none ? 16 << 20 : 0, Policy::tune);
    impl_of(context).engine().workspace_of = [](const KernelConfig& config, const LaunchConfig&, const Problem&) {
      return std::holds_alternative<SimtConfig>(config) ? WorkspaceSize{} : kNeed;
    };
    Workload problem = case_.described();
    problem.hints.workspace = hint;
    EXPECT_THAT(context.plan(problem).config(), testing::StartsWith("simt_"));
    EXPECT_EQ(context.stats().tuned, 1u);
  }
  expect_right(*context_, case_, stream());
}

TEST_F(WorkspacePlanTest, TheCapHoldsForAllStreams) {
  // Half of it holds one slab for captures, until the third stream needs that.
  Context& context = context_with(static_cast<std::int64_t>(3 * kBytes));
  const OwnedStream second(driver_), third(driver_), fourth(driver_);
  for (const CUstream on : {stream(), second.get(), third.get(), fourth.get()}) expect_right(context, case_, on);
  EXPECT_EQ(used_bytes(), 3 * kBytes);
  EXPECT_EQ(context.stats().without_workspace, 1u);
  EXPECT_THAT(context.plan(case_.described()).explain(), testing::HasSubstr("(1 launches so far)"));
}

TEST_F(WorkspacePlanTest, WhereTheGpuHasNoMemoryTheOtherKernelRuns) {
  Context& context = context_with(16 << 20);
  context.plan(case_.described());
  CaseRun run(driver_, case_, stream());
  for (const int nth : {1, 2}) {  // the second attempt follows after the slabs for captures are free
    standin().fail("cuMemAlloc", nth, CUDA_ERROR_OUT_OF_MEMORY);
  }
  run.fill(CaseRun::Data::integers, 1);
  run.run([&](const Operands& o) { context.gemm(stream(), case_.problem, o); });
  EXPECT_EQ(run.inexact(), "");
  EXPECT_EQ(context.stats().without_workspace, 1u);
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"),
                                                     testing::HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
}

TEST_F(WorkspacePlanTest, AColdCallOnACapturingStreamAllocatesNothing) {
  Context& context = context_with(16 << 20);
  CaseRun run(driver_, case_, stream());
  const std::size_t calls = standin().calls("cuMemAlloc");
  CUgraph graph = nullptr;
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  context.gemm(stream(), case_.problem, run.operands());
  ASSERT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  EXPECT_EQ(standin().calls("cuMemAlloc"), calls);
  EXPECT_EQ(context.stats().without_workspace, 1u);
  EXPECT_EQ(used_bytes(), 0u);
  EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
  context.plan(case_.described());  // the class is planned already; this call reserves its workspace for captures
  EXPECT_EQ(used_bytes(), 2 * kBytes);
  expect_right(context, case_, stream());
  EXPECT_EQ(context.stats().without_workspace, 1u);
}

TEST_F(WorkspacePlanTest, TheCallAfterAColdCaptureSetsWorkspaceApartOnce) {
  Context& context = context_with(16 << 20);
  CaseRun run(driver_, case_, stream());
  const auto call = [&] { context.gemm(stream(), case_.problem, run.operands()); };
  const auto capture = [&] {
    CUgraph graph = nullptr;
    ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    call();
    ASSERT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
  };
  capture();
  EXPECT_EQ(context.stats().without_workspace, 1u);
  call();
  EXPECT_EQ(used_bytes(), 3 * kBytes) << "two for captures and the stream's own";
  capture();
  EXPECT_EQ(context.stats().without_workspace, 1u);
  EXPECT_EQ(context.stats().plans, 1u);
  const std::size_t cold = standin().calls("cuStreamIsCapturing");
  call();
  EXPECT_EQ(standin().calls("cuStreamIsCapturing"), cold + 1) << "the pool asks once, and the cold path did too";
}

TEST_F(WorkspacePlanTest, APlanHasTheWorkspaceOfTheLargestSizeOfItsClass) {
  Context& context = context_with(16 << 20);
  impl_of(context).engine().workspace_of = [](const KernelConfig&, const LaunchConfig&, const Problem& p) {
    return WorkspaceSize{.scratch_bytes = static_cast<std::size_t>(p.m) * 256, .counters = 0};
  };
  const std::int64_t largest = class_m(1001);
  ASSERT_GT(largest, 1001);
  EXPECT_EQ(context.plan(small_case(1001).described()).workspace_bytes(), static_cast<std::size_t>(largest) * 256);
}

TEST_F(WorkspacePlanTest, AGraphMayOutliveItsContext) {
  Context& context = context_with(16 << 20);
  context.plan(case_.described());
  CaseRun run(driver_, case_, stream());
  CUgraph graph = nullptr;
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  context.gemm(stream(), case_.problem, run.operands());
  ASSERT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  EXPECT_EQ(context.stats().without_workspace, 0u);
  forget_context();
  EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(WorkspacePlanTest, PrewarmBuildsBothKernels) {
  const Workload problem = case_.described();
  ::unsetenv("HOTGEMM_CACHE_PATH");  // kernels from the shelf would not be stored in the cache
  const PrewarmReport report = context_with(16 << 20).prewarm(std::vector{problem}, {.archs = {"sm_90a"}});
  ASSERT_EQ(report.entries.size(), 2u);
  EXPECT_EQ(report.entries[0].config, best_);
  EXPECT_NE(report.entries[1].config, best_);
  EXPECT_EQ(context_with(16 << 20, Policy::cached_only).plan(problem).workspace_bytes(), kBytes);
  EXPECT_EQ(context_with(0, Policy::cached_only).plan(problem).workspace_bytes(), 0u);
}

// All GPUs pick the same kernel, and other kernels if no workspace is left.
TEST_F(WorkspacePlanTest, PrewarmBuildsTheKernelsOfEveryGpu) {
  const Workload problem = case_.described();
  ::unsetenv("HOTGEMM_CACHE_PATH");
  Context& context = context_with(16 << 20);
  Engine& engine = impl_of(context).engine();
  const std::string arch = impl_of(context).current().info().arch;
  const std::vector<Choice> choices = choose(problem, arch, engine.database, impl_of(context).current().query());
  Workload near = problem;
  near.n += near.n / 8;
  const auto record = [&](const char* gpu, const Workload& of, const Choice& choice) {
    Environment environment = impl_of(context).current().environment();
    environment.gpu = gpu;
    engine.database.add({.problem = of,
                         .config = choice.config,
                         .launch = choice.launch,
                         .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
                         .environment = environment,
                         .template_digest = engine.template_digest(choice.config)});
  };
  // Another kernel of the best one's family, which the model does not rank far behind.
  const auto other = std::ranges::find_if(choices.begin() + 2, choices.end(), [&](const Choice& choice) {
    return family_of(choice.config).name == family_of(choices.front().config).name;
  });
  ASSERT_NE(other, choices.end());
  for (const char* gpu : {"NVIDIA One", "NVIDIA Two"}) {
    record(gpu, problem, choices.front());
    record(gpu, near, *other);
  }
  // A GPU with a record of the class falls back to the model's next anchor, one without to that of a near record.
  const std::vector<KernelConfig> known = anchors(problem, arch_limits(arch));
  const auto next = std::ranges::find_if(choices.begin() + 1, choices.end(), [&](const Choice& choice) {
    return std::ranges::find(known, choice.config) != known.end();
  });
  ASSERT_NE(next, choices.end());
  const std::set<std::string> without{to_string(next->config), to_string(other->config)};
  ASSERT_EQ(to_string(choices.front().config), best_);
  std::set<std::string> built;
  for (const PrewarmEntry& entry : context.prewarm(std::vector{problem}, {.archs = {arch}}).entries) {
    EXPECT_TRUE(built.insert(entry.config).second) << entry.config << " is told twice";
  }
  for (const std::string& config : without)
    EXPECT_TRUE(built.contains(config)) << config << " in " << testing::PrintToString(built);
}

TEST_F(WorkspacePlanTest, TheCapComesFromTheEnvironmentToo) {
  EXPECT_EQ(ContextOptions::from_environment().workspace_bytes, std::int64_t{1} << 30);
  for (const auto& [text, bytes] : {std::pair<const char*, std::int64_t>{"0", 0}, {"4096", 4096}, {"3M", 3 << 20}}) {
    ::setenv("HOTGEMM_WORKSPACE_BYTES", text, 1);
    EXPECT_EQ(ContextOptions::from_environment().workspace_bytes, bytes);
  }
  for (const char* bad : {"-1", "much", "9223372036854775808"}) {
    ::setenv("HOTGEMM_WORKSPACE_BYTES", bad, 1);
    expect_thrown(ErrorCode::invalid_argument, {"HOTGEMM_WORKSPACE_BYTES is \"" + std::string(bad) + "\""},
                  [] { ContextOptions::from_environment(); });
  }
  ::unsetenv("HOTGEMM_WORKSPACE_BYTES");
  ContextOptions negative = options(Policy::estimate);
  negative.workspace_bytes = -1;
  expect_thrown(ErrorCode::invalid_argument, {"workspace_bytes is -1"}, [&] { Context refused(negative); });
}

// ---- the library's own kernels that divide k ----

class DividedSumTest : public RuntimeTest {
 protected:
  /// Few tiles and a long sum, on a GPU with `wgmma`.
  static GemmCase deep_case() {
    GemmCase c;
    c.problem = {.m = 64, .n = 64, .k = 8192, .op_b = Op::t};
    c.set_tight_ld(8);
    return c;
  }
};

TEST_F(DividedSumTest, HasTheWorkspaceOfItsParts) {
  ContextOptions how = options(Policy::estimate);
  Context context(how);
  const GemmCase c = deep_case();
  const Plan plan = context.plan(c.described());
  EXPECT_THAT(plan.config(), testing::AllOf(testing::StartsWith("wgmma_"), testing::HasSubstr("_sk1")));
  EXPECT_GT(plan.workspace_bytes(), 0u);
  expect_right(context, c, stream());
  expect_right(context, c, stream());
  EXPECT_EQ(context.stats().without_workspace, 0u);
}

TEST_F(DividedSumTest, WithoutWorkspaceAnotherKernelRuns) {
  ContextOptions how = options(Policy::estimate);
  how.workspace_bytes = 0;
  Context context(how);
  const GemmCase c = deep_case();
  const Plan plan = context.plan(c.described());
  EXPECT_THAT(plan.config(), testing::Not(testing::HasSubstr("_sk1")));
  EXPECT_EQ(plan.workspace_bytes(), 0u);
  expect_right(context, c, stream());
}

}  // namespace
}  // namespace hotgemm::standin
