// Scales of blocks of FP8 on a GPU: configs of the menus, and the calls of a program.

#include "gpu/batch_run.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/group_run.hpp"

#include "plan/candidates.hpp"
#include "plan/model.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

using namespace std::string_literals;

constexpr const char* kBlocks = " epilogue=scale_a:block_1x128+scale_b:block_128x128";

class BlockScalesOnGpu : public GpuTest {
 protected:
  static GemmCase case_of(const Workload& problem) {
    GemmCase c{.problem = problem, .alpha = -2, .beta = problem.hints.beta_is_zero ? 0.0f : -1.0f};
    c.set_tight_ld(problem.hints.align_d >= 16 ? 16 : 1);
    return c;
  }

  void expect_right(const GemmCase& c, const CaseRun::Launch& launch, double& worst) {
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 7);
    run.run(launch);
    if (!c.problem.epilogue.is_gated()) {  // the product of two exact sums is rounded
      EXPECT_EQ(run.inexact(), "");
    }
    EXPECT_LE(run.worst_error(), 1.0);
    EXPECT_EQ(run.stray_write(), "");
    run.fill(CaseRun::Data::normal, 8);
    run.run(launch);
    EXPECT_LE(run.worst_error(), 1.0);
    worst = std::max(worst, run.worst_error());
  }
};

TEST_F(BlockScalesOnGpu, ConfigsOfTheMenusAreExact) {
  const std::size_t step = small_run() ? 61 : 23;
  const ArchLimits& arch = arch_limits(gpu().arch());
  std::vector<Gpu::KernelRequest> requests;
  std::vector<GemmCase> cases;
  std::size_t turn = 0;
  for (const std::string& text : {"203 432 400 nt e4m3"s + kBlocks, "203 432 400 nt e4m3*e5m2>f32 beta=1"s + kBlocks,
                                  "139 272 384 tn e4m3"s + kBlocks, "203 768 400 nt e4m3"s + kBlocks + "+relu+gated",
                                  "203 432 400 nt e4m3"s + kBlocks + "+bias+relu+gated:interleaved"}) {
    const Workload problem = parse_workload(text);
    const GemmCase c = case_of(problem);
    for (const KernelConfig& config : candidates(traits_of(c.described()), arch)) {
      if (++turn % step != 0) continue;
      requests.push_back({config, traits_of(c.described())});
      cases.push_back(c);
    }
  }
  ASSERT_GE(cases.size(), 10U);
  const std::vector<Gpu::Kernel> kernels = gpu().kernels(requests);
  double worst = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(to_string(requests[i].config) + " " + cases[i].text());
    const LaunchConfig launch = default_launch(requests[i].config, cases[i].described(), gpu().state().info());
    expect_right(cases[i], launcher(kernels[i], launch, cases[i].problem), worst);
  }
  std::printf("%zu kernels, worst error %.3f of its gate\n", cases.size(), worst);
}

TEST_F(BlockScalesOnGpu, CallsAreExact) {
  double worst = 0;
  for (const std::string bare : {"1 4096 512 nt e4m3", "64 576 7168 nt e4m3", "300 520 256 nn e4m3 beta=1",
                                 "130 77 99 tt e5m2*e4m3>f16", "512 1024 640 nt e4m3*e4m3>e4m3"}) {
    const GemmCase c = case_of(parse_workload(bare + kBlocks));
    if (small_run() && c.problem.m * c.problem.n * c.problem.k > 50'000'000) continue;
    SCOPED_TRACE(c.text());
    expect_right(
        c, [&](const Operands& o) { gpu().context().gemm(stream(), c.problem, o); }, worst);
  }
}

/// Candidates are measured with scales, and checked with those that leave exact sums as they are.
TEST_F(BlockScalesOnGpu, ATunedCallIsExact) {
  const TemporaryDirectory cache;
  ContextOptions options = tuning_options(cache.string());
  options.tuning.budget_s = 60;  // a core of 2.1 GHz compiles these kernels for longer than others
  Context context(options);
  double worst = 0;
  for (const std::string bare : {"64 576 1024 nt e4m3", "300 528 512 nt e4m3 beta=1"}) {
    const GemmCase c = case_of(parse_workload(bare + kBlocks));
    SCOPED_TRACE(c.text());
    expect_right(
        c, [&](const Operands& o) { context.gemm(stream(), c.problem, o); }, worst);
    EXPECT_EQ(context.plan(c.described()).origin(), Origin::tuned);
  }
  EXPECT_EQ(context.stats().tuned, 2U);
}

TEST_F(BlockScalesOnGpu, AGroupedCallEqualsACallForEachGroup) {
  unsigned seed = 1;
  for (const char* bare :
       {"1300 272 640 nt e4m3 groups=5", "480 144 128 nn e4m3 groups=6", "700 2048 512 nt e4m3 groups=64",
        "90 16 0 nt e4m3 groups=3", "200 272 640 nt e4m3 groups=5,masked", "48 144 128 tn e4m3 groups=6,masked",
        "96 144 2000 tn e4m3 groups=5,k"}) {
    GroupCase c{.problem = parse_problem(std::string(bare) + kBlocks), .numbers = {}, .multiple = 16, .alpha = 2};
    c.numbers = drawn_numbers(c.problem, ++seed);
    SCOPED_TRACE(c.text());
    EXPECT_EQ(GroupRun(driver(), c, stream()).difference(gpu().context()), "");
  }
}

TEST_F(BlockScalesOnGpu, ACallForABatchEqualsACallForEachProduct) {
  for (const char* bare :
       {"130 272 640 nt e4m3 batch=5", "48 144 128 tn e4m3 batch=3", "300 512 256 nt e4m3 batch=2"}) {
    for (const int shared : {0, 1, 2, 3}) {
      BatchCase c{.problem = parse_problem(std::string(bare) + kBlocks), .multiple = 16, .alpha = 2};
      c.shares_a = shared == 1, c.shares_b = shared == 2;
      if (shared == 3) c.problem.batch_kind = BatchKind::pointers;
      SCOPED_TRACE(c.text());
      EXPECT_EQ(BatchRun(driver(), c, stream()).difference(gpu().context()), "");
    }
  }
}

}  // namespace
}  // namespace hotgemm
