// Scales of blocks of FP8, from the call to the launch.

#include "gpu/group_run.hpp"
#include "standin/runtime_fixture.hpp"

#include <functional>

namespace hotgemm::standin {
namespace {

class BlockScalesTest : public RuntimeTest {
 protected:
  static GemmCase case_of(const std::string& problem, float beta, std::int64_t multiple = 1) {
    GemmCase c{.problem = parse_problem(problem + " epilogue=scale_a:block_1x128+scale_b:block_128x128"),
               .alpha = -2,
               .beta = beta};
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

TEST_F(BlockScalesTest, GroupsHaveScalesOfTheirOwn) {
  for (const char* problem : {"96 136 200 nt e4m3 groups=4", "40 300 130 nn e4m3 groups=3"}) {
    GroupCase c{.problem = parse_problem(std::string(problem) + " epilogue=scale_a:block_1x128+scale_b:block_128x128"),
                .numbers = {},
                .multiple = 16};
    c.numbers = drawn_offsets(c.problem.groups, c.problem.m, 5);
    SCOPED_TRACE(c.text());
    EXPECT_EQ(GroupRun(driver_, c, stream()).difference(context(Policy::estimate)), "");
  }
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
