// Tests of calls that tune.

#include "gpu/gpu_fixture.hpp"

#include "gpu/check_kernels.hpp"
#include "gpu/operand_pool.hpp"

#include <cstdio>
#include <random>

namespace hotgemm {
namespace {

class Tuning : public GpuTest {
 protected:
  ContextOptions quick_options() const { return tuning_options(cache_.string()); }

 private:
  TemporaryDirectory cache_;
};

TEST_F(Tuning, AThousandRandomMTuneAtMostSixtyTimes) {
  constexpr std::int64_t kLargestM = 8192;
  const int calls = small_run() ? 20 : 1000;
  Context context(quick_options());
  const Workload largest{Problem{.m = kLargestM, .n = 256, .k = 256, .op_b = Op::t}};
  const OperandPool pool(driver(), largest, 0, std::int64_t{1} << 30);
  const OperandSet& set = pool.sets().front();
  const CheckKernels& kernels = gpu().state().check_kernels();
  kernels.fill_check(largest, set, 3, stream());
  std::mt19937 random(4);
  int wrong = 0;
  for (int call = 0; call < calls; ++call) {
    Workload problem = largest;
    problem.m = 1 + static_cast<std::int64_t>(random() % kLargestM);
    const auto bytes = static_cast<std::size_t>(problem.m * set.ldd * size_bytes(problem.types.d));
    driver().check(driver().cuMemsetD8Async(set.d, 0xff, bytes, stream()), "poison D");
    context.gemm(stream(), problem, OperandPool::operands(set, 1, 0));
    const std::string mistake = kernels.check(problem, set, 3, 1, 0, stream());
    if (!mistake.empty() && wrong++ < 5) ADD_FAILURE() << to_string(problem) << ": " << mistake;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(context.stats().tuned, 60u);
  EXPECT_EQ(context.stats().tuned, context.stats().plans) << "some classes could not be tuned";
  RecordProperty("tuned", static_cast<int>(context.stats().tuned));
  std::printf("%d calls tuned %d times\n", calls, static_cast<int>(context.stats().tuned));
}

/// The tuner does not measure on the caller's operands: C is updated only once.
TEST_F(Tuning, ACallThatTunesAccumulatesOnce) {
  Context context(quick_options());
  for (const bool in_place : {true, false}) {
    GemmCase c;
    c.problem = {.m = in_place ? 200 : 300, .n = 136, .k = 144, .op_b = Op::t};
    c.beta = 1, c.in_place = in_place;
    c.set_tight_ld(8);
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 21);
    const std::uint64_t tuned = context.stats().tuned;
    run.run(caller(context, c.problem));
    EXPECT_EQ(context.stats().tuned, tuned + 1);
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(run.stray_write(), "");
  }
}

/// A process uses the measurements of an earlier process.
TEST_F(Tuning, ARecordAnswersTheNextContext) {
  GemmCase c;
  c.problem = {.m = 64, .n = 136, .k = 144};
  c.set_tight_ld(8);
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::normal, 22);
  std::string config;
  {
    Context context(quick_options());
    run.run(caller(context, c.problem));
    config = context.plan(c.described()).config();
    EXPECT_EQ(context.stats().tuned, 1u);
  }
  const Bytes first = run.found();
  Context context(quick_options());
  run.run(caller(context, c.problem));
  EXPECT_EQ(context.stats().tuned, 0u);
  EXPECT_EQ(context.stats().recorded, 1u);
  EXPECT_EQ(context.stats().compiled, 0u);
  EXPECT_EQ(context.plan(c.described()).config(), config);
  EXPECT_TRUE(run.found() == first);
  EXPECT_LE(run.worst_error(), 1.0);
}

/// If the operands do not fit into the scratch memory, the model answers without measuring.
TEST_F(Tuning, WithoutScratchMemoryTheModelDecides) {
  ContextOptions options = quick_options();
  options.tuning.scratch_bytes = 1024;
  Context context(options);
  GemmCase c;
  c.problem = {.m = 64, .n = 136, .k = 144};
  c.set_tight_ld(8);
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 23);
  run.run(caller(context, c.problem));
  EXPECT_EQ(run.inexact(), "");
  EXPECT_EQ(context.stats().tuned, 0u);
  EXPECT_EQ(context.stats().estimated, 1u);
}

}  // namespace
}  // namespace hotgemm
