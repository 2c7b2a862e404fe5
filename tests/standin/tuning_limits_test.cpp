// Tuning that is cancelled, paused, out of time, or short of memory.

#include "standin/control_fixture.hpp"
#include "standin/fake_compiler.hpp"

#include "tune/tune.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

namespace hotgemm::standin {
namespace {

class TuningLimitsTest : public ControlTest {
 protected:
  TuningLimitsTest() { has_real_kernels_ = false; }
  void SetUp() override {
    ControlTest::SetUp();
    ::unsetenv("HOTGEMM_CACHE_PATH");
  }

  /// Makes the context with kernels that "compile" by `before`, which gets the number of the compilation, from 0.
  Context& context_that_compiles_by(const ContextOptions& how, std::function<void(int)> before) {
    context_.emplace(how);
    compile_fakes(*context_, [this, before = std::move(before)] { before(compiled_++); });
    return *context_;
  }
  ContextOptions one_compiler(Policy policy = Policy::tune) const {
    ContextOptions how = options(policy, 20);
    how.tuning.jobs = 1;
    return how;
  }

  std::atomic<int> compiled_{0};
};

TEST_F(TuningLimitsTest, ACancelledTuningLeavesTheEstimate) {
  const GemmCase c = small_case();
  context_that_compiles_by(one_compiler(), [&](int index) {
    if (index == 3) context().cancel_tuning();  // by another thread, at this moment
  });
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated);
  EXPECT_EQ(compiled_, 4) << "the estimate's kernel, and those until it was cancelled";
  EXPECT_EQ(records().size(), 0u);
  EXPECT_EQ(warnings_.take().size(), 1u);
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated) << "the pause is not over";
  EXPECT_EQ(compiled_, 4);
  impl_of(context()).set_tuning_pause(0, std::chrono::seconds(0));
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::tuned);
}

TEST_F(TuningLimitsTest, TuneEndsWithTheProblemThatItMeasures) {
  const std::vector<Workload> problems{small_case().described(), small_case(8, 32, 8).described(),
                                       small_case(8, 64, 8).described()};
  context_that_compiles_by(one_compiler(Policy::estimate), [](int) {});
  int told = 0;
  const auto results = context().tune(problems, quick_tuning(2), false, [&](const TuneResult&) {
    if (++told == 2) context().cancel_tuning();
    return true;
  });
  EXPECT_EQ(results.size(), 2u);
  EXPECT_EQ(results.at(1).failure, "");
  EXPECT_EQ(context().tune(problems, quick_tuning(2)).size(), 3u) << "a later call";
}

TEST_F(TuningLimitsTest, ACancelledTuneSaysSo) {
  context_that_compiles_by(one_compiler(Policy::estimate), [&](int index) {
    if (index == 2) context().cancel_tuning();
  });
  TuneOptions how = quick_tuning(20);
  how.jobs = 1;
  const auto results = context().tune(std::vector{small_case().described(), small_case(8, 32, 8).described()}, how);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].failure_code, ErrorCode::interrupted) << results[0].failure;
}

TEST_F(TuningLimitsTest, WhilePausedCallsGetTheEstimate) {
  const GemmCase c = small_case();
  context_that_compiles_by(one_compiler(), [](int) {});
  impl_of(context()).tuning_control().pause();
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated);
  EXPECT_EQ(compiled_, 1);
  const std::size_t queries = standin().calls("cuMemGetInfo");
  expect_right(context(), c, stream());
  EXPECT_EQ(standin().calls("cuMemGetInfo"), queries);
  EXPECT_EQ(context().stats().tuning.count, 0u);
  EXPECT_THAT(warnings_.take(), testing::IsEmpty());
  impl_of(context()).tuning_control().resume();
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::tuned) << "at once";
}

TEST_F(TuningLimitsTest, ATuningEndsWhenItIsPaused) {
  const GemmCase c = small_case();
  context_that_compiles_by(one_compiler(), [&](int index) {
    if (index == 3) impl_of(context()).tuning_control().pause();
  });
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated);
  EXPECT_EQ(compiled_, 4);
}

TEST_F(TuningLimitsTest, TheTotalIsForAllTuningsTogether) {
  ContextOptions how = one_compiler();
  how.tuning_total_s = 50;
  context_that_compiles_by(how, [](int) {});
  EXPECT_EQ(context().plan(small_case().described()).origin(), Origin::tuned);
  EXPECT_LT(impl_of(context()).tuning_control().left_s(), 50);
  impl_of(context()).tuning_control().add_used(50);
  const int before = compiled_;
  EXPECT_NE(context().plan(small_case(64, 64, 64).described()).origin(), Origin::tuned);
  EXPECT_LE(compiled_, before + 1);
  EXPECT_EQ(context().stats().tuned, 1u);
  EXPECT_THAT(warnings_.take(), testing::IsEmpty());
  const Workload asked = small_case(8, 64, 64).described();
  EXPECT_EQ(context().tune(std::vector{asked}, quick_tuning(2)).at(0).failure, "") << "this is asked for";
}

TEST_F(TuningLimitsTest, ATuningGetsWhatIsLeft) {
  ContextOptions how = one_compiler();
  how.tuning_total_s = 1e-3;
  context_that_compiles_by(how, [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  EXPECT_EQ(context().plan(small_case().described()).origin(), Origin::estimated);
  EXPECT_EQ(compiled_, 1) << "the time was up";
  how.tuning_total_s = -1;
  expect_thrown(ErrorCode::invalid_argument, {"tuning_total_s is -1"}, [&] { Context refused(how); });
}

TEST_F(TuningLimitsTest, OperandsTakeAShareOfTheFreeMemory) {
  context_that_compiles_by(one_compiler(), [](int) {});
  const Workload problem = small_case().described();  // its operands and their guards take 140 KiB
  standin().set_memory_limit(270 << 10);
  EXPECT_EQ(context().plan(problem).origin(), Origin::estimated);
  EXPECT_EQ(compiled_, 1) << "it is known before anything else is compiled";
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("share of 0.5")));
  standin().set_memory_limit(0);
  TuneOptions all = quick_tuning(2);
  all.scratch_share = 1e-9;
  EXPECT_EQ(context().tune(std::vector{problem}, all).at(0).failure_code, ErrorCode::out_of_memory);
  all.scratch_share = 0.5;
  EXPECT_EQ(context().tune(std::vector{problem}, all).at(0).failure, "");
  for (const double share : {-0.1, 1.1, std::nan("")}) {
    all.scratch_share = share;
    expect_thrown(ErrorCode::invalid_argument, {"scratch_share is "},
                  [&] { context().tune(std::vector{problem}, all, true); });
  }
}

TEST(ScratchLimit, IsTheSmallerOne) {
  EXPECT_EQ(scratch_limit({.scratch_bytes = 1000, .scratch_share = 0.5}, 10'000), 1000);
  EXPECT_EQ(scratch_limit({.scratch_bytes = 1000, .scratch_share = 0.5}, 400), 200);
  EXPECT_EQ(scratch_limit({.scratch_bytes = 1000, .scratch_share = 0}, 400), 0);
}

}  // namespace
}  // namespace hotgemm::standin
