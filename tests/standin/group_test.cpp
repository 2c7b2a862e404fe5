// Groups of rows, from the call to the launch.

#include "gpu/group_run.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/class_key.hpp"
#include "gpu/stream.hpp"

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
                              "9 8 0 nt f16 groups=3"}) {
    GroupCase c{.problem = parse_problem(problem), .offsets = {}, .multiple = seed % 3 == 0 ? 1 : 16, .alpha = 2};
    c.offsets = drawn_offsets(c.problem.groups, c.problem.m, seed++);
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
}

TEST_F(GroupTest, APlanServesTheGroupsOfItsBucketAndACallWithoutRowsDoesNothing) {
  Context& context = this->context(Policy::estimate);
  for (const std::int64_t groups : {5, 6, 7, 8}) {
    GroupCase c{.problem = parse_problem("64 32 32 nt f16 groups=8"), .offsets = {}};
    c.problem.groups = groups;
    c.offsets.assign(static_cast<std::size_t>(groups) + 1, 64);
    c.offsets.front() = 0;  // so that the first group has all rows
    EXPECT_EQ(GroupRun(driver_, c, stream()).difference(context), "");
  }
  EXPECT_EQ(context.stats().plans, 2u) << "one for groups, and one for single calls";
  GroupCase none{.problem = parse_problem("0 32 32 nt f16 groups=2"), .offsets = {0, 0, 0}};
  const Operands operands = GroupRun(driver_, none, stream()).operands();
  const std::size_t launches = standin().launches();
  context.gemm(stream(), none.problem, operands);
  EXPECT_EQ(standin().launches(), launches);
}

TEST_F(GroupTest, AReplayReadsTheOffsetsThatAreThereThen) {
  Context& context = this->context(Policy::estimate);
  const GroupCase c{.problem = parse_problem("96 40 32 nt bf16 groups=4"), .offsets = {0, 10, 20, 60, 96}};
  GroupRun run(driver_, c, stream());
  run.upload();
  context.gemm(stream(), c.problem, run.operands());  // plans
  run.upload();
  const OwnedGraph graph =
      OwnedGraph::capture(driver_, stream(), [&] { context.gemm(stream(), c.problem, run.operands()); });
  for (const std::vector<std::int32_t>& offsets :
       std::vector<std::vector<std::int32_t>>{{0, 10, 20, 60, 96}, {0, 0, 96, 96, 96}, {0, 1, 2, 3, 50}}) {
    run.upload();
    run.set_offsets(offsets);
    graph.launch(stream());
    EXPECT_EQ(run.difference_from(context), "");
  }
}

TEST_F(GroupTest, AWrongOperandIsNamed) {
  Context& context = this->context(Policy::estimate);
  const GroupCase c{.problem = parse_problem("96 32 32 nt f16 groups=3 epilogue=residual"), .offsets = {0, 32, 64, 96}};
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

TEST_F(GroupTest, GroupsAreTunedOnUniformOnesWithDataOfTheirOwn) {
  for (const char* text : {"96 64 64 nt f16 groups=6", "3 64 64 nt f16 groups=8"}) {  // and with fewer rows than groups
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

}  // namespace
}  // namespace hotgemm::standin
