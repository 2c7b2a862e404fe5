// Problems that demand an order of sums, or that limit the SMs: which plans they keep, what runs without workspace, and
// how large the grids are.

#include "standin/runtime_fixture.hpp"

#include "config/repack.hpp"
#include "config/sum_order.hpp"
#include "config/workspace.hpp"

namespace hotgemm::standin {
namespace {

constexpr WgmmaConfig kSplit{
    .block_m = 64, .block_n = 64, .consumers = 1, .one_tile = true, .stages = 4, .split_k = true};

GemmCase ordered(SumOrder order, GemmCase c = small_case()) {
  c.problem.order = order;
  return c;
}

class OrderTest : public RuntimeTest {
 protected:
  /// Makes `config` the pick for the class of `c`, by a record.
  void record(const GemmCase& c, const KernelConfig& config, LaunchConfig launch, double us = 1) {
    Engine& engine = impl_of(context()).engine();
    engine.database.add({.problem = c.described(),
                         .config = config,
                         .launch = with_repacks(launch, config, c.described()),
                         .timing = {.median_us = us, .spread_us = 0.1, .samples = 7, .ratio = 1},
                         .environment = impl_of(context()).current().environment(),
                         .template_digest = engine.template_digest(config)});
  }
  Context& context_with(std::int64_t workspace_bytes) {
    ContextOptions how = options(Policy::estimate);
    how.workspace_bytes = workspace_bytes;
    return context_.emplace(how);
  }
  /// Runs the case by gemm, with the stand-in's check that no grid is beyond the case's limit.
  void expect_within_limit(const GemmCase& c) {
    standin().set_sm_limit(c.problem.sm_limit);
    expect_right(context(), c, stream());
    standin().set_sm_limit(0);
  }
};

// ---- plans ----

TEST_F(OrderTest, ADeterministicProblemKeepsItsFirstPlan) {
  const GemmCase c = ordered(SumOrder::deterministic);
  const Plan first = context(Policy::tune).plan(c.described(), Policy::estimate);
  EXPECT_EQ(first.origin(), Origin::estimated);
  expect_right(context(), c, stream());
  EXPECT_EQ(context().plan(c.described(), Policy::tune).config(), first.config());
  EXPECT_EQ(context().stats().tuned, 0u);
  EXPECT_EQ(context().stats().plans, 1u);
  context().tune(std::vector<Workload>{c.described()}, quick_tuning(2));
  EXPECT_EQ(records().size(), 1u);
  expect_right(context(), c, stream());
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated);
  forget_context();
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::tuned) << "the next process has the record from the start";
}

TEST_F(OrderTest, ADeterministicProblemIsTunedByItsFirstCall) {
  const GemmCase c = ordered(SumOrder::deterministic);
  expect_right(context(Policy::tune), c, stream());
  EXPECT_EQ(context().stats().tuned, 1u);
  EXPECT_EQ(context().plan(c.described(), Policy::estimate).origin(), Origin::tuned);
}

TEST_F(OrderTest, ABatchInvariantProblemMayBeTunedLaterBecauseNoBitChanges) {
  const GemmCase c = ordered(SumOrder::batch_invariant);
  const Plan first = context(Policy::tune).plan(c.described(), Policy::estimate);
  expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().tuned, 1u);
  const auto sequence = [](const Plan& plan) { return sum_sequence(*parse_config(plan.config()), {}); };
  EXPECT_EQ(sequence(context().plan(c.described())), sequence(first));
}

TEST_F(OrderTest, AllRowCountsOfABatchInvariantProblemAddInOneOrder) {
  const SumSequence wanted = invariant_sequence(kF16, arch_limits("sm_90a"));
  for (const std::int64_t m : {1, 100}) {
    for (const int offset : {0, 1}) {
      GemmCase c = ordered(SumOrder::batch_invariant, small_case(m, 24, 72));
      c.problem.op_a = Op::t;  // the alignment of A follows m
      c.set_tight_ld(1);
      c.offset_b = offset;
      const Plan plan = context(Policy::estimate).plan(c.described());
      EXPECT_EQ(sum_sequence(*parse_config(plan.config()), {}), wanted) << plan.explain();
      expect_right(context(), c, stream());
    }
  }
}

TEST_F(OrderTest, WithoutWorkspaceTheOrderStays) {
  const GemmCase any = small_case(64, 64, 1024);
  for (const SumOrder order : {SumOrder::any, SumOrder::deterministic}) {
    const GemmCase c = ordered(order, any);
    context_with(1 << 20);
    record(c, kSplit, {.raster_width = 1, .splits = 4});
    const Plan plan = context().plan(c.described());
    ASSERT_EQ(plan.config(), to_string(KernelConfig(kSplit)));
    const bool falls_back = plan.explain().find("without workspace: ") != std::string::npos;
    EXPECT_EQ(falls_back, order == SumOrder::any) << plan.explain();
  }
}

TEST_F(OrderTest, ACallWithoutWorkspaceFailsRatherThanAddInAnotherOrder) {
  const GemmCase c = ordered(SumOrder::deterministic, small_case(64, 64, 1024));
  const LaunchConfig launch{.raster_width = 1, .splits = 4};
  context_with(static_cast<std::int64_t>(workspace_size(kSplit, launch, c.problem).total_bytes()));
  record(c, kSplit, launch);
  expect_right(context(), c, stream());
  const OwnedStream other(driver_);  // for which no workspace is left
  CaseRun run(driver_, c, other.get());
  expect_thrown(ErrorCode::out_of_memory, {"and adds in the same order"},
                [&] { context().gemm(other.get(), c.problem, run.operands()); });
  expect_right(context(), c, stream());
}

// ---- SMs ----

TEST_F(OrderTest, GridsStayWithinTheSmLimit) {
  GemmCase c = small_case(700, 900, 16);
  for (const int sm_limit : {1, 3, 66}) {
    c.problem.sm_limit = sm_limit;
    context(Policy::estimate);
    expect_within_limit(c);
  }
  c.problem.sm_limit = 132;  // all SMs: larger grids than 132 blocks are no misuse
  expect_right(context(), c, stream());
}

TEST_F(OrderTest, SeveralBlocksOnAnSmBecomeOneUnderALimit) {
  constexpr WgmmaConfig kTwo{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3, .blocks_per_sm = 2};
  GemmCase c = small_case(512, 512, 16);
  c.problem.sm_limit = 50;
  context(Policy::estimate);
  record(c, kTwo, {2, false});
  EXPECT_EQ(context().plan(c.described()).config(), to_string(KernelConfig(kTwo)));
  expect_within_limit(c);
}

TEST_F(OrderTest, CopiesOfOperandsStayWithinTheLimitToo) {
  constexpr WgmmaConfig kAlone{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3};
  GemmCase c = small_case(500, 300, 301);
  c.set_tight_ld(1);
  c.offset_a = 1;
  c.problem.sm_limit = 20;
  context_with(16 << 20);
  record(c, kAlone, {2, false});
  expect_within_limit(c);
  EXPECT_EQ(standin().launches("hotgemm_repack"), 1u);
  EXPECT_EQ(standin().calls("cuLaunchKernelEx"), 0u) << "the kernel waits for the copies before it takes SMs";
}

TEST_F(OrderTest, TuningMeasuresWithinTheLimit) {
  GemmCase c = small_case(128, 256, 16);
  c.problem.sm_limit = 2;
  context(Policy::tune);
  expect_within_limit(c);
  EXPECT_EQ(context().stats().tuned, 1u);
}

TEST_F(OrderTest, ALimitThatNoKernelHoldsIsRefused) {
  GemmCase c = small_case(512, 512, 16);
  c.problem.types = kF32;
  c.problem.sm_limit = 4;
  c.set_tight_ld(4);
  CaseRun run(driver_, c, stream());
  expect_thrown(ErrorCode::not_supported, {"limit of 4 SMs", "blocks"},
                [&] { context(Policy::estimate).gemm(stream(), c.problem, run.operands()); });
  c.problem.sm_limit = 132;
  expect_right(context(), c, stream());
}

}  // namespace
}  // namespace hotgemm::standin
