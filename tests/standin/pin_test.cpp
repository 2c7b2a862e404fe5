// Configs that the program names.

#include "standin/control_fixture.hpp"
#include "standin/fake_cubin.hpp"

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace hotgemm::standin {
namespace {

class PinTest : public ControlTest {
 protected:
  void pin(const GemmCase& c, const Choice& choice) {
    context().pin(c.described(), to_string(choice.config), to_string(choice.launch));
  }
};

TEST_F(PinTest, TheClassRunsTheConfig) {
  const GemmCase c = small_case();
  const Choice other = other_choice(c);
  context_.emplace(options(Policy::tune));
  pin(c, other);
  const std::size_t before = standin().launches(to_string(other.config));
  expect_right(context(), c, stream());
  EXPECT_EQ(standin().launches(to_string(other.config)), before + 1);
  const Plan plan = context().plan(c.described());
  EXPECT_EQ(plan.origin(), Origin::pinned);
  EXPECT_EQ(to_string(plan.origin()), "pinned");
  EXPECT_EQ(plan.config(), to_string(other.config));
  EXPECT_THAT(plan.explain(), testing::HasSubstr("pinned"));
  expect_right(context(), small_case(7), stream());  // of the same class
  EXPECT_EQ(context().stats().tuned, 0u);
  EXPECT_EQ(records().size(), 0u);
}

TEST_F(PinTest, UntilItIsUnpinned) {
  const GemmCase c = small_case();
  const std::string estimated = context(Policy::estimate).plan(c.described()).config();
  const Choice other = other_choice(c);
  for (const bool by_forgetting : {true, false}) {
    pin(c, other);
    EXPECT_EQ(context().plan(c.described()).config(), to_string(other.config));
    by_forgetting ? void(context().forget(c.described())) : context().pin(c.described(), "");
    EXPECT_EQ(context().plan(c.described()).config(), estimated);
    EXPECT_NE(context().plan(c.described()).origin(), Origin::pinned);
  }
}

TEST_F(PinTest, RecordsAndOtherClassesDoNotMoveIt) {
  ContextOptions how = options(Policy::estimate);
  how.max_plans = 1;
  const GemmCase c = small_case();
  const Choice first = choices(c).front(), other = other_choice(c);
  context_.emplace(how);
  pin(c, other);
  for (const std::int64_t n : {8, 24, 32}) context().plan(small_case(8, n, 8).described());
  record_elsewhere(c, first);
  EXPECT_EQ(context().reload(), 0u);
  context().tune(std::vector{c.described()}, quick_tuning(2));
  EXPECT_EQ(context().plan(c.described()).config(), to_string(other.config));
  EXPECT_EQ(context().stats().live_plans, 2u);
}

TEST_F(PinTest, ATuningThatGoesOnDoesNotReplaceIt) {
  const GemmCase c = small_case();
  const Choice other = other_choice(c);
  ::unsetenv("HOTGEMM_CACHE_PATH");
  has_real_kernels_ = false;
  for (const bool is_elsewhere : {false, true}) {
    forget_context();
    std::filesystem::remove_all(cache_.path() / "v1");
    ContextOptions how = options(Policy::tune, 4);
    how.tuning.jobs = 1;  // compiles on this thread, which has a CUDA context
    context_.emplace(how);
    bool is_pinned = false;
    impl_of(*context_).engine().builder.compile_with([&](const KernelSource& source) {
      std::vector<std::string> symbols{source.symbol};
      if (source.symbol == "hotgemm_check") {
        symbols = {"hotgemm_fill", "hotgemm_check", "hotgemm_digest", "hotgemm_pointwise"};
        if (!std::exchange(is_pinned, true)) {  // as another thread would, here or in another CUDA context
          is_elsewhere ? impl_of(*context_).pinned().set(class_key(c.described()), {other.config, other.launch})
                       : pin(c, other);
        }
      }
      return Cubin{.image = fake_cubin(symbols), .symbol = source.symbol, .arch = "sm_90a"};
    });
    context().plan(c.described());
    EXPECT_TRUE(is_pinned);
    EXPECT_EQ(context().plan(c.described()).config(), to_string(other.config));
    EXPECT_EQ(context().plan(c.described()).origin(), Origin::pinned);
  }
}

TEST_F(PinTest, WithoutALaunchTheModelSuggestsOne) {
  const GemmCase c = small_case();
  const Choice other = other_choice(c);
  context().pin(c.described(), to_string(other.config));
  expect_right(context(), c, stream());
  EXPECT_EQ(context().plan(c.described()).config(), to_string(other.config));
}

TEST_F(PinTest, WhatCannotComputeTheClassIsRefused) {
  const GemmCase c = small_case();
  ContextOptions how = options(Policy::estimate);
  how.workspace_bytes = 0;
  context_.emplace(how);
  const std::string present = context().plan(c.described()).config();
  const auto refused = [&](ErrorCode code, const std::vector<std::string>& parts, const Workload& problem,
                           std::string_view config, std::string_view launch = {}) {
    expect_thrown(code, parts, [&] { context().pin(problem, config, launch); });
  };
  refused(ErrorCode::invalid_argument, {"there is no config \"fast\""}, c.described(), "fast");
  refused(ErrorCode::invalid_argument, {"there is no launch \"quick\""}, c.described(), present, "quick");
  const std::string wgmma = to_string(KernelConfig(WgmmaConfig{}));
  refused(ErrorCode::not_supported, {wgmma, "sm_90a"}, Workload(Problem{.m = 8, .n = 16, .k = 8, .types = kF32}),
          wgmma);
  const WgmmaConfig split{.block_m = 64, .block_n = 64, .consumers = 1, .one_tile = true, .stages = 4, .split_k = true};
  refused(ErrorCode::not_supported, {"bytes of workspace; the cap is 0"}, small_case(64, 64, 256).described(),
          to_string(KernelConfig(split)), "r8m_s4");
  Workload nothing = c.described();
  nothing.n = 0;
  refused(ErrorCode::invalid_argument, {"nothing to pin"}, nothing, present);
  EXPECT_EQ(context().plan(c.described()).config(), present);
  EXPECT_NE(context().plan(c.described()).origin(), Origin::pinned);
}

TEST_F(PinTest, AKernelThatIsNotThereIsNotPinned) {
  ::unsetenv("HOTGEMM_CACHE_PATH");  // where the other kernel may lie
  const GemmCase c = small_case();
  const Choice other = other_choice(c);
  const std::string present = context().plan(c.described()).config();
  forget_context();
  context(Policy::cached_only);
  expect_thrown(ErrorCode::not_prepared, {to_string(other.config)}, [&] { pin(c, other); });
  EXPECT_EQ(context().plan(c.described()).config(), present);
}

// ---- two GPUs, in a separate process ----

bool works_on_two_gpus() {
  const Driver& driver = (standin(), Driver::get());
  make_all_slow();
  const ScratchDirectory cache;
  const GemmCase c = small_case();
  CUcontext gpus[2] = {};
  for (const int gpu : {0, 1}) driver.check(driver.cuDevicePrimaryCtxRetain(&gpus[gpu], gpu), "retain");
  const auto use = [&](int gpu) { driver.check(driver.cuCtxSetCurrent(gpus[gpu]), "switch"); };
  {
    Context context(options_in(cache.path(), Policy::estimate));
    use(0);
    const std::string estimated = context.plan(c.described()).config();
    DeviceState& device = impl_of(context).current();
    std::vector<Choice> all =
        choose(c.described(), device.info().arch, impl_of(context).engine().database, device.query());
    std::erase_if(all, [&](const Choice& choice) { return to_string(choice.config) == estimated; });
    const std::string first = to_string(all.at(0).config), second = to_string(all.at(1).config);
    context.pin(c.described(), first);
    use(1);
    EXPECT_EQ(context.plan(c.described()).config(), first) << "a CUDA context that is used later";
    context.pin(c.described(), second);
    use(0);
    EXPECT_EQ(context.plan(c.described()).config(), second) << "a CUDA context that was not current";
    expect_right(context, c, OwnedStream(driver).get());
    EXPECT_EQ(context.forget(c.described()).plans, 2u);
    EXPECT_EQ(context.plan(c.described()).config(), estimated);
    use(1);
    EXPECT_EQ(context.plan(c.described()).config(), estimated);
  }
  EXPECT_THAT(standin().violations(), testing::IsEmpty());
  KernelShelf::add(cache.path());
  return !testing::Test::HasFailure();
}

TEST(TwoContextsDeathTest, APinHoldsInAllCudaContexts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        set_test_environment();
        ::setenv("HOTGEMM_STANDIN_DEVICES", "2", 1);
        _exit(works_on_two_gpus() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hotgemm::standin
