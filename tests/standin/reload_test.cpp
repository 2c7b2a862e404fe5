// Records that come from disk while plans are in use.

#include "standin/control_fixture.hpp"
#include "standin/fake_compiler.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace hotgemm::standin {
namespace {

using ReloadTest = ControlTest;

const PlanImpl* impl_address(const Plan& plan) { return &PlanAccess::impl(plan); }

TEST_F(ReloadTest, ARecordOfAnotherProcessIsUsed) {
  const GemmCase c = small_case();
  const Choice other = other_choice(c);
  const Plan held = context().plan(c.described());
  record_elsewhere(c, other);
  EXPECT_EQ(context().plan(c.described()).config(), held.config()) << "nobody has read it";
  EXPECT_EQ(context().reload(), 1u);
  const std::size_t before = loads();
  expect_right(context(), c, stream());
  EXPECT_EQ(loads(), before) << "the call loads a kernel";
  const Plan plan = context().plan(c.described());
  EXPECT_EQ(plan.config(), to_string(other.config));
  EXPECT_EQ(plan.origin(), Origin::tuned);
  expect_right(c, stream(), [&](const Operands& o) { held.launch(stream(), o); });
  EXPECT_EQ(context().stats().plans, 1u);
  EXPECT_EQ(context().reload(), 0u);
}

TEST_F(ReloadTest, OtherPlansStayAsTheyAre) {
  const GemmCase same = small_case(), without = small_case(8, 8, 64), changed = small_case(64, 64, 64);
  const Plan first = context(Policy::estimate).plan(same.described());
  const Plan second = context().plan(without.described());
  context().plan(changed.described());
  record_elsewhere(same, choices(same).front());  // it says what was estimated
  record_elsewhere(changed, other_choice(changed));
  const std::size_t before = loads();
  EXPECT_GE(context().reload(), 1u);
  EXPECT_LE(loads(), before + 1);
  const Plan confirmed = context().plan(same.described());
  EXPECT_EQ(confirmed.config(), first.config());
  EXPECT_EQ(confirmed.origin(), Origin::tuned) << "the kernel has been measured since";
  if (context().plan(without.described()).config() == second.config()) {  // unless a new neighbour is better
    EXPECT_EQ(impl_address(context().plan(without.described())), impl_address(second));
  }
  EXPECT_EQ(context().plan(changed.described()).config(), to_string(other_choice(changed).config));
}

TEST_F(ReloadTest, DeterministicSumsKeepTheirFirstPlan) {
  GemmCase c = small_case();
  c.problem.order = SumOrder::deterministic;
  const Plan first = context(Policy::estimate).plan(c.described());
  record_elsewhere(c, other_choice(c));
  EXPECT_EQ(context().reload(), 0u);
  EXPECT_EQ(impl_address(context().plan(c.described())), impl_address(first));
}

TEST_F(ReloadTest, WithoutItsKernelAClassKeepsItsPlan) {
  ::unsetenv("HOTGEMM_CACHE_PATH");  // where the other kernel may lie
  const GemmCase c = small_case();
  const Plan first = context(Policy::estimate).plan(c.described());
  record_elsewhere(c, other_choice(c));
  const auto db = cache_.path() / "v1" / "db", hidden = cache_.path() / "hidden";
  std::filesystem::rename(db, hidden);
  context_.emplace(options(Policy::cached_only));
  context().plan(c.described());
  std::filesystem::rename(hidden, db);
  warnings_.take();
  EXPECT_EQ(context().reload(), 1u);
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("keeps its plan")));
  EXPECT_EQ(context().plan(c.described()).config(), first.config());
  expect_right(context(), c, stream());
  EXPECT_THAT(warnings_.take(), testing::IsEmpty()) << "every call tries again";
}

TEST_F(ReloadTest, AThreadWithoutACudaContextLeavesItToTheNextCall) {
  const GemmCase c = small_case();
  const Choice other = other_choice(c);
  const Plan first = context().plan(c.described());
  record_elsewhere(c, other);
  const std::size_t before = loads();
  std::thread([&] { EXPECT_EQ(context().reload(), 1u); }).join();
  EXPECT_EQ(loads(), before);
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(context().plan(c.described(), Policy::estimate, stream()).config(), first.config()) << "not in a capture";
  CUgraph graph = nullptr;
  EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  driver_.cuGraphDestroy(graph);
  expect_right(context(), c, stream());
  EXPECT_EQ(context().plan(c.described()).config(), to_string(other.config));
  EXPECT_EQ(context().stats().plans, 1u);
}

TEST_F(ReloadTest, TuneReplacesThePlansOfItsProblems) {
  const GemmCase c = small_case();
  const Plan estimated = context(Policy::estimate).plan(c.described());
  standin().set_speed("hotgemm_" + estimated.config(), 2000);
  const TuneResult result = context().tune(std::vector{c.described()}, quick_tuning(4)).at(0);
  ASSERT_NE(result.config, estimated.config());
  EXPECT_EQ(context().plan(c.described()).config(), result.config);
  expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().plans, 1u);
}

TEST_F(ReloadTest, RejectionsAndVettedKernelsOfOthersCount) {
  Engine& engine = impl_of(context(Policy::estimate)).engine();
  const Environment here = impl_of(context()).current().environment();
  const std::string identity(64, 'b');
  const VettedKernel vetted{std::string(64, 'c'), here.gpu, here.driver};
  EXPECT_FALSE(engine.vetted.knows(vetted));
  {
    Context other(options(Policy::estimate));
    impl_of(other).engine().rejections.add({.identity = identity,
                                            .config = "c",
                                            .problem = "p",
                                            .stage = "check",
                                            .reason = "wrong",
                                            .environment = here});
    impl_of(other).engine().vetted.add(vetted);
  }
  EXPECT_FALSE(engine.rejections.find(identity, here));
  EXPECT_FALSE(engine.vetted.knows(vetted));
  context().reload();
  EXPECT_TRUE(engine.rejections.find(identity, here));
  EXPECT_TRUE(engine.vetted.knows(vetted));
}

/// Calls `change` when the first message that contains `text` is logged.
class AtMessage {
 public:
  AtMessage(std::string text, std::function<void()> change) {
    set_log_level("info");
    set_log_sink([text = std::move(text), change = std::move(change), is_over = false](
                     std::string_view, std::string_view message) mutable {
      if (message.find(text) != message.npos && !std::exchange(is_over, true)) change();
    });
  }
  ~AtMessage() { set_log_sink({}); }
};

TEST_F(ReloadTest, AReloadBesideAReplacementCounts) {
  const GemmCase c = small_case();
  const Choice first = choices(c).front(), second = other_choice(c);
  TuningRecord record = record_of(context(), c, second);
  context().plan(c.described());
  record_elsewhere(c, second);
  const AtMessage meanwhile("anew", [&] {  // the plan has been made, and is not in use yet
    record = record_of(context(), c, first);
    record.timing.median_us = 0.5;
    Context other(options(Policy::estimate));
    impl_of(other).engine().database.add(record);
    context().reload();
  });
  context().reload();
  EXPECT_EQ(context().plan(c.described()).config(), to_string(first.config));
}

TEST_F(ReloadTest, AReloadBesideAFirstPlanCounts) {
  has_real_kernels_ = false;
  ::unsetenv("HOTGEMM_CACHE_PATH");  // so that the plan has to compile
  const GemmCase c = small_case();
  const Choice other = other_choice(c);
  compile_fakes(context(), [&, is_over = false]() mutable {
    if (std::exchange(is_over, true)) return;
    record_elsewhere(c, other);
    context().reload();
  });
  context().plan(c.described());
  EXPECT_EQ(context().plan(c.described()).config(), to_string(other.config));
}

TEST_F(ReloadTest, CallsGoOnMeanwhile) {
  const GemmCase c = small_case();
  const Choice all[] = {choices(c).front(), other_choice(c)};
  context().plan(c.described());
  std::atomic<bool> is_over{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      driver_.cuCtxSetCurrent(cuda_context_);
      const OwnedStream own(driver_);
      do {
        expect_right(context(), c, own.get());
      } while (!is_over);
    });
  }
  for (int i = 0; i < 6; ++i) {
    TuningRecord record = record_of(context(), c, all[i % 2]);
    record.timing.median_us = 1.0 / (i + 1);  // the least counts
    Context other(options(Policy::estimate));
    impl_of(other).engine().database.add(record);
    context().reload();
  }
  is_over = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(context().plan(c.described()).config(), to_string(all[1].config));
}

}  // namespace
}  // namespace hotgemm::standin
