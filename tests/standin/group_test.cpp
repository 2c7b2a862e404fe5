// Groups, from the call to the launch.

#include "gpu/group_run.hpp"
#include "standin/fake_trials.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/class_key.hpp"
#include "context_impl.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/stream.hpp"
#include "tune/device_measurer.hpp"

#include <functional>
#include <span>

namespace hotgemm::standin {
namespace {

class GroupTest : public RuntimeTest {
 protected:
  void expect_equal(const GroupCase& c) {
    SCOPED_TRACE(c.text());
    EXPECT_EQ(GroupRun(driver_, c, stream()).difference(context(Policy::estimate)), "");
  }
};

TEST_F(GroupTest, ACallEqualsACallForEachGroup) {
  unsigned seed = 1;
  for (const char* problem : {"130 21 35 nn f16 groups=3", "200 72 64 nt bf16 groups=5", "64 24 48 nt f32 groups=40",
                              "32 48 64 nt e4m3 groups=2", "24 40 32 nt f16 groups=3 epilogue=bias:row+relu+residual",
                              "9 8 0 nt f16 groups=3", "40 24 32 nt bf16 groups=3 epilogue=bias+clamp+amax",
                              "60 72 64 nt bf16 groups=5,masked", "13 21 35 tn f16 groups=3,masked",
                              "24 40 32 nt f16 groups=3,masked epilogue=bias:row+relu+residual+amax",
                              "16 24 32 nt f16 groups=1,masked epilogue=bias", "72 64 200 tn bf16 groups=5,k",
                              "21 35 130 tn f32 groups=3,k", "40 24 90 tn f16 groups=4,k epilogue=bias+clamp+residual",
                              "16 24 32 tn f16 groups=1,k epilogue=bias:row+amax", "16 24 0 tn f16 groups=2,k"}) {
    GroupCase c{.problem = parse_problem(problem), .numbers = {}, .multiple = seed % 3 == 0 ? 1 : 16, .alpha = 2};
    c.numbers = drawn_numbers(c.problem, seed++);
    expect_equal(c);
    c.beta = -1;
    c.in_place = seed % 2 == 0;
    expect_equal(c);
  }
}

TEST_F(GroupTest, AlignedGroupsAreComputedByPersistentBlocksWithTensorMaps) {
  const auto config_of = [&](const char* workload) {
    return context(Policy::estimate).plan(parse_workload(workload)).config();
  };
  EXPECT_THAT(config_of("4096 1024 512 nt bf16 groups=16"),
              testing::AllOf(testing::StartsWith("wgmma_"), testing::HasSubstr("_o0_")));
  EXPECT_THAT(config_of("64 1024 4096 nt bf16 groups=16"),
              testing::AllOf(testing::StartsWith("wgmma_"), testing::HasSubstr("_o0_"),
                             testing::Not(testing::HasSubstr("_sk1"))));
  EXPECT_THAT(config_of("4096 1024 512 nn bf16 groups=16 align=2"), testing::StartsWith("mma_"))
      << "neither loads by threads nor copies of operands";
  for (const char* text : {"512 1024 512 nt bf16 groups=16,masked", "1024 1024 4096 tn bf16 groups=16,k"}) {
    EXPECT_THAT(config_of(text), testing::AllOf(testing::StartsWith("wgmma_"), testing::HasSubstr("_o0_"))) << text;
  }
  EXPECT_THAT(config_of("1024 1024 4096 tn bf16 groups=16,k align=2"), testing::StartsWith("mma_"));
}

TEST_F(GroupTest, APlanServesTheGroupsOfItsBucketAndACallWithoutRowsDoesNothing) {
  Context& context = this->context(Policy::estimate);
  for (const std::int64_t groups : {5, 6, 7, 8}) {
    GroupCase c{.problem = parse_problem("64 32 32 nt f16 groups=8"), .numbers = {}};
    c.problem.groups = groups;
    c.numbers.assign(static_cast<std::size_t>(groups) + 1, 64);
    c.numbers.front() = 0;  // so that the first group has all rows
    EXPECT_EQ(GroupRun(driver_, c, stream()).difference(context), "");
  }
  EXPECT_EQ(context.stats().plans, 2u) << "one for groups, and one for single calls";
  GroupCase none{.problem = parse_problem("0 32 32 nt f16 groups=2"), .numbers = {0, 0, 0}};
  const Operands operands = GroupRun(driver_, none, stream()).operands();
  const std::size_t launches = standin().launches();
  context.gemm(stream(), none.problem, operands);
  EXPECT_EQ(standin().launches(), launches);
}

TEST_F(GroupTest, AReplayReadsTheOffsetsThatAreThereThen) {
  Context& context = this->context(Policy::estimate);
  const GroupCase c{.problem = parse_problem("96 40 32 nt bf16 groups=4"), .numbers = {0, 10, 20, 60, 96}};
  GroupRun run(driver_, c, stream());
  run.upload();
  context.gemm(stream(), c.problem, run.operands());  // plans
  run.upload();
  const OwnedGraph graph =
      OwnedGraph::capture(driver_, stream(), [&] { context.gemm(stream(), c.problem, run.operands()); });
  for (const std::vector<std::int32_t>& offsets :
       std::vector<std::vector<std::int32_t>>{{0, 10, 20, 60, 96}, {0, 0, 96, 96, 96}, {0, 1, 2, 3, 50}}) {
    run.upload();
    run.set_numbers(offsets);
    graph.launch(stream());
    EXPECT_EQ(run.difference_from(context), "");
  }
}

TEST_F(GroupTest, AWrongOperandIsNamed) {
  Context& context = this->context(Policy::estimate);
  const GroupCase c{.problem = parse_problem("96 32 32 nt f16 groups=3 epilogue=residual"), .numbers = {0, 32, 64, 96}};
  const GroupRun run(driver_, c, stream());
  const auto expect_refused = [&](const std::vector<std::string>& parts, const std::function<void(Operands&)>& change) {
    Operands operands = run.operands();
    change(operands);
    const std::size_t launches = standin().launches();
    expect_thrown(ErrorCode::invalid_argument, parts, [&] { context.gemm(stream(), c.problem, operands); });
    EXPECT_EQ(standin().launches(), launches);
  };
  expect_refused({"group_offsets is null"}, [](Operands& o) { o.group_offsets = nullptr; });
  expect_refused({"group_offsets is not at a multiple of 4 bytes"}, [](Operands& o) {
    o.group_offsets = reinterpret_cast<const std::int32_t*>(reinterpret_cast<std::uintptr_t>(o.group_offsets) + 2);
  });
  expect_refused({"batch_stride_b is negative: -8"}, [](Operands& o) { o.batch_stride_b = -8; });
  expect_refused({"batch_stride_b", "with 3 groups", "beyond the last address"},
                 [](Operands& o) { o.batch_stride_b = std::int64_t{1} << 61; });
  expect_refused({"batch_stride_a is set"}, [](Operands& o) { o.batch_stride_a = 8; });
  expect_refused({"batch_stride_d is set"}, [](Operands& o) { o.batch_stride_d = 8; });
  expect_refused({"batch_stride_residual is set"}, [](Operands& o) { o.batch_stride_residual = 8; });
  Problem single = c.problem;
  single.groups = 0, single.group_kind = GroupKind::none;
  expect_thrown(ErrorCode::invalid_argument, {"group_offsets is set, but no part of the problem uses it"},
                [&] { context.gemm(stream(), single, run.operands()); });
}

TEST_F(GroupTest, AWrongOperandOfOtherKindsIsNamed) {
  Context& context = this->context(Policy::estimate);
  const auto expect_refused = [&](const char* text, const std::vector<std::string>& parts,
                                  const std::function<void(Operands&)>& change) {
    SCOPED_TRACE(text);
    const Problem problem = parse_problem(text);
    const GroupRun run(driver_, {.problem = problem, .numbers = drawn_numbers(problem, 1)}, stream());
    Operands operands = run.operands();
    change(operands);
    expect_thrown(ErrorCode::invalid_argument, parts, [&] { context.gemm(stream(), problem, operands); });
  };
  const char* const masked = "32 32 32 nt f16 groups=3,masked epilogue=bias:row";
  expect_refused(masked, {"group_counts is null"}, [](Operands& o) { o.group_counts = nullptr; });
  expect_refused(masked, {"group_offsets is set"}, [](Operands& o) { o.group_offsets = o.group_counts; });
  expect_refused(masked, {"batch_stride_bias is set"}, [](Operands& o) { o.batch_stride_bias = 32; });
  expect_refused(masked, {"matrices overlap: batch_stride_d is 8"}, [](Operands& o) { o.batch_stride_d = 8; });
  expect_thrown(ErrorCode::invalid_argument, {"8 masked groups have room for 8589934592 rows together"}, [&] {
    Problem many = parse_problem("1073741824 1 1 nt f16 groups=8,masked");
    const GroupRun run(driver_, {.problem = parse_problem("1 1 1 nt f16 groups=1,masked"), .numbers = {1}}, stream());
    Operands operands = run.operands();
    operands.batch_stride_d = many.m * operands.ldd;
    context.gemm(stream(), many, operands);
  });
  expect_refused("96 32 32 nt f16 groups=3 epilogue=bias", {"batch_stride_bias is negative"},
                 [](Operands& o) { o.batch_stride_bias = -1; });
  const char* const along_k = "32 32 96 tn f16 groups=3,k epilogue=bias";
  expect_refused(along_k, {"group_offsets is null"}, [](Operands& o) { o.group_offsets = nullptr; });
  expect_refused(along_k, {"group_counts is set"}, [](Operands& o) { o.group_counts = o.group_offsets; });
  expect_refused(along_k, {"batch_stride_a is set"}, [](Operands& o) { o.batch_stride_a = 8; });
  expect_refused(along_k, {"batch_stride_b is set"}, [](Operands& o) { o.batch_stride_b = 8; });
  expect_refused(along_k, {"batch_stride_bias is negative"}, [](Operands& o) { o.batch_stride_bias = -1; });
}

TEST_F(GroupTest, ASingleGroupNeedsNoDistances) {
  for (const char* text :
       {"32 32 32 nt f16 groups=1,masked epilogue=residual", "32 32 96 tn f16 groups=1,k epilogue=residual"}) {
    SCOPED_TRACE(text);
    const Problem problem = parse_problem(text);
    const GroupRun run(driver_, {.problem = problem, .numbers = drawn_numbers(problem, 1)}, stream());
    Operands operands = run.operands();
    operands.residual = operands.d;
    operands.ld_residual = operands.ldd;
    operands.batch_stride_d = 32 * operands.ldd;
    operands.batch_stride_residual = 0;
    EXPECT_NO_THROW(context(Policy::estimate).gemm(stream(), problem, operands));
  }
}

TEST_F(GroupTest, GroupsAreTunedWithDataOfTheirOwn) {
  for (const char* text : {"96 64 64 nt f16 groups=6", "3 64 64 nt f16 groups=8",  // with fewer rows than groups
                           "24 64 64 nt f16 groups=6,masked", "64 64 96 tn f16 groups=6,k"}) {
    SCOPED_TRACE(text);
    const Workload problem = parse_workload(text);
    Context& context = this->context(Policy::tune);
    const std::vector<TuneResult> results = context.tune(std::span(&problem, 1), quick_tuning(4));
    EXPECT_EQ(results.at(0).failure, "");
    EXPECT_GT(results.at(0).measured, 1);
    EXPECT_EQ(context.plan(problem).origin(), Origin::tuned);
  }
  EXPECT_EQ(class_key(parse_workload("96 64 64 nt f16 groups=6")),
            class_key(parse_workload("96 64 64 nt f16 groups=8")));
}

TEST_F(GroupTest, NoSetIsTimedTwiceInARow) {
  const OperandPool pool(driver_, parse_workload("64 32 32 nt f16 groups=4"), 1 << 16, 1 << 20);
  ASSERT_GT(pool.sets().size(), 1U);
  ASSERT_EQ(pool.timed_sets().size(), 2 * pool.sets().size());
  for (std::size_t i = 0; i < pool.timed_sets().size(); ++i) {
    const OperandSet& set = pool.timed_sets()[i];
    EXPECT_NE(set.b, pool.timed_sets()[(i + 1) % pool.timed_sets().size()].b) << "it would be in L2";
    EXPECT_EQ(set.b, pool.sets()[i % pool.sets().size()].b);
  }
}

TEST_F(GroupTest, CandidatesAreTimedOnUniformAndOnSkewedGroups) {
  standin().reset();  // simulated times are those of the work again
  const std::vector<Trial> trials = fake_trials(parse_workload("400 24 16 nt bf16 groups=4,masked"), 1);
  DeviceMeasurer measurer(impl_of(context(Policy::tune)).current());
  const auto raced = [&](const char* text, TimingMode mode) {
    measurer.begin(parse_workload(text), {.scratch_bytes = 1 << 20});
    EXPECT_EQ(measurer.check(trials, 1).at(0).reason, "");
    const RaceResult result = measurer.race(trials, {.mode = mode, .rounds = 3, .round_us = 1}, false);
    measurer.end();
    EXPECT_THAT(result.failures, testing::Each(""));
    EXPECT_EQ(result.us.at(0).size(), 3U);
    EXPECT_NEAR(result.us.at(0).front(), result.us.at(0).back(), 1e-5) << "each round has as many launches of both";
    return result.us.at(0).back();
  };
  for (const TimingMode mode : {TimingMode::eager, TimingMode::graph}) {
    const double one_us = raced("400 24 16 nt bf16 groups=1,masked", mode);
    const double rows_us = raced("800 24 16 nt bf16 groups=1,masked", mode) - one_us;  // of 400 rows, without a launch
    const double four_us = raced("400 24 16 nt bf16 groups=4,masked", mode) - one_us;
    // Four groups have 400 rows each, or 400, 200, 133 and 100. A single group has 400 both times.
    EXPECT_NEAR(four_us / rows_us, (1600 + 833) / 800.0 - 1, 0.01);
  }
}

}  // namespace
}  // namespace hotgemm::standin
