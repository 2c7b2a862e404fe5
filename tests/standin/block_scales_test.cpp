// Scales of blocks of FP8, from the call to the launch.

#include "config/class_key.hpp"
#include "context_impl.hpp"
#include "gpu/batch_run.hpp"
#include "gpu/group_run.hpp"
#include "records/problem_fields.hpp"
#include "standin/runtime_fixture.hpp"

#include <functional>

namespace hotgemm::standin {
namespace {

constexpr const char* kBlocks = " epilogue=scale_a:block_1x128+scale_b:block_128x128";

class BlockScalesTest : public RuntimeTest {
 protected:
  static GemmCase case_of(const std::string& problem, float beta, std::int64_t multiple = 1,
                          const std::string& more = {}) {
    GemmCase c{.problem = parse_problem(problem + kBlocks + more), .alpha = -2, .beta = beta};
    c.set_tight_ld(multiple);
    return c;
  }
};

TEST_F(BlockScalesTest, ACallIsRightInEveryLayoutAndType) {
  context(Policy::estimate);
  float beta = 0;
  for (const char* problem :
       {"70 150 300 nn e4m3*e5m2>f32", "40 129 257 tn e5m2", "17 16 400 nt e4m3*e4m3>e4m3", "20 40 0 nt e4m3"}) {
    expect_right(context(), case_of(problem, beta), stream());
    beta = -1 - beta;
  }
}

TEST_F(BlockScalesTest, TensorCoresPromoteSumsWithPartsOfTheChainBehindThem) {
  context(Policy::estimate);
  for (const char* problem : {"300 272 384 nt e4m3", "16 272 4096 nt e4m3"}) {
    GemmCase c = case_of(problem, 0, 16);
    c.problem.epilogue.bias = Bias::per_column;
    c.problem.epilogue.activation = Activation::relu;
    EXPECT_THAT(context().plan(c.described()).config(),
                testing::AllOf(testing::StartsWith("wgmma_"), testing::HasSubstr("_pr1")));
    expect_right(context(), c, stream());
  }
}

TEST_F(BlockScalesTest, AGateTakesItsColumnsFromBothHalvesOrFromNeighbours) {
  context(Policy::estimate);
  for (const char* problem : {"30 512 300 nn e4m3", "64 768 256 nt e4m3"}) {
    for (const char* gate : {"+relu+gated", "+relu+gated:interleaved"}) {
      expect_right(context(), case_of(problem, 0, 16, gate), stream());
    }
  }
}

TEST_F(BlockScalesTest, ProductsOfABatchHaveScalesOfTheirMatrices) {
  context(Policy::estimate);
  for (const char* problem : {"70 150 300 nt e4m3 batch=3", "33 272 130 tn e4m3 batch=2"}) {
    for (const int shared : {0, 1, 2, 3}) {
      BatchCase c{.problem = parse_problem(std::string(problem) + kBlocks), .multiple = 16};
      c.shares_a = shared == 1, c.shares_b = shared == 2;
      if (shared == 3) c.problem.batch_kind = BatchKind::pointers;
      SCOPED_TRACE(c.text());
      EXPECT_EQ(BatchRun(driver_, c, stream()).difference(context()), "");
    }
  }
}

TEST_F(BlockScalesTest, GroupsHaveScalesOfTheirOwn) {
  for (const char* problem :
       {"96 136 200 nt e4m3 groups=4", "40 300 130 nn e4m3 groups=3", "48 136 200 nt e4m3 groups=4,masked",
        "40 300 130 tn e4m3 groups=3,masked", "40 72 900 tn e4m3 groups=4,k"}) {
    GroupCase c{.problem = parse_problem(std::string(problem) + kBlocks), .numbers = {}, .multiple = 16};
    c.numbers = drawn_numbers(c.problem, 5);
    SCOPED_TRACE(c.text());
    EXPECT_EQ(GroupRun(driver_, c, stream()).difference(context(Policy::estimate)), "");
  }
}

TEST_F(BlockScalesTest, TuningMeasuresThem) {
  GemmCase c = case_of("64 272 384 nt e4m3", 0, 16);
  const Workload problem = c.described();
  EXPECT_EQ(context().plan(without_epilogue(problem)).origin(), Origin::tuned);
  EXPECT_EQ(context().plan(problem).origin(), Origin::tuned);  // although the bare product has a record
  EXPECT_EQ(context().stats().tuned, 2u);
  std::vector<Workload> classes;
  for (const Found& found : records()) classes.push_back(class_of(found.record.problem));
  EXPECT_THAT(classes, testing::UnorderedElementsAre(class_of(problem), class_of(without_epilogue(problem))));
  c.problem.epilogue.bias = Bias::per_column;  // measured without it
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::tuned);
  EXPECT_EQ(context().stats().tuned, 2u);
  expect_right(context(), c, stream());
}

TEST_F(BlockScalesTest, ARecordWithScalesReplacesAPlanByTheBareProducts) {
  const GemmCase c = case_of("64 272 384 nt e4m3", 0, 16);
  const Workload problem = c.described();
  context(Policy::estimate).tune(std::vector{without_epilogue(problem)}, quick_tuning(2));
  EXPECT_NE(context().plan(problem).origin(), Origin::tuned);
  context().tune(std::vector{problem}, quick_tuning(2));
  EXPECT_EQ(context().plan(problem).origin(), Origin::tuned);
}

TEST_F(BlockScalesTest, ForgettingDropsTheRecordWithScalesAlone) {
  const GemmCase c = case_of("64 272 384 nt e4m3", 0, 16), chained = case_of("64 272 384 nt e4m3", 0, 16, "+bias");
  const Workload problem = c.described(), bare = without_epilogue(problem);
  context(Policy::estimate).tune(std::vector{bare, problem}, quick_tuning(2));
  EXPECT_EQ(context().forget(chained.described(), Forget::plan_and_records).records, 1u);  // measured without the bias
  EXPECT_NE(context().plan(problem).origin(), Origin::tuned);
  EXPECT_EQ(context().plan(bare).origin(), Origin::tuned);
  EXPECT_EQ(context().forget(bare, Forget::plan_and_records).records, 1u);
  EXPECT_NE(context().plan(bare).origin(), Origin::tuned);
}

TEST_F(BlockScalesTest, WrongOperandsAreNamed) {
  context(Policy::estimate);
  const GemmCase c = case_of("24 300 520 nt e4m3", 0);
  RefusedCalls expect_refused(context(), c, stream());
  expect_refused(c.problem, {"scale_a is null"}, [](Operands& o) { o.scale_a = nullptr; });
  expect_refused(c.problem, {"scale_b is null"}, [](Operands& o) { o.scale_b = nullptr; });
  expect_refused(c.problem, {"ld_scale_a is 23; rows of 24 elements"}, [](Operands& o) { o.ld_scale_a = 23; });
  expect_refused(c.problem, {"ld_scale_b is 4; rows of 5 elements"}, [](Operands& o) { o.ld_scale_b = 4; });
  expect_refused(c.problem, {"ld_scale_b is 4611686018427387904", "3 rows"},
                 [](Operands& o) { o.ld_scale_b = std::int64_t{1} << 62; });
  Problem bare = c.problem;
  bare.epilogue = {};
  expect_refused(bare, {"field ld_scale_a is set", "no part of the problem uses it"},
                 [](Operands& o) { o.scale_a = o.scale_b = nullptr; });
}

}  // namespace
}  // namespace hotgemm::standin
