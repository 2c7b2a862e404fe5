// The first call of a class under Policy::background runs a kernel that is loaded, until its own is.

#include "plan/choice.hpp"
#include "plan/model.hpp"
#include "runtime/loaded_choice.hpp"
#include "standin/fake_cubin.hpp"
#include "standin/guest_fixture.hpp"
#include "tune/tune.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <latch>
#include <string>

namespace hotgemm::standin {
namespace {

using namespace std::chrono_literals;

class InterimTest : public GuestFixture {
 protected:
  void TearDown() override {
    set_log_sink({});
    set_log_level("warn");
    GuestFixture::TearDown();
  }

  /// Nothing is measured, so that only loads change plans.
  ContextOptions how() const {
    ContextOptions how = options(Policy::background);
    how.tuning_total_s = 0;
    how.worker = "none";
    return how;
  }
  /// Makes a context in which one kernel is loaded: not the one of the best choice for problem(), but a good one.
  void make_context(const ContextOptions& options) {
    context_.emplace(options);
    DeviceState& device = impl_of(context()).current();
    Engine& engine = impl_of(context()).engine();
    const std::vector<Choice> choices = choose(problem(), device.info().arch, engine.database, device.query());
    best_ = choices.front();
    const auto good = std::ranges::find_if(choices, [&](const Choice& c) {
      return !(c.config == best_.config) && engine.workspace_of(c.config, c.launch, problem()).is_empty() &&
             predicted_us(device, problem(), c) < 2 * bound_us(problem(), device.info());
    });
    ASSERT_NE(good, choices.end());
    loaded_ = *good;
    context().pin(small_case(8, 16, 64).described(), to_string(loaded_.config), {});
    ASSERT_EQ(device.kernels().size(), 1u);
  }
  /// Loads `count` kernels that are expected to take longer than that of loaded_, and need no workspace.
  void load_slower(int count) {
    DeviceState& device = impl_of(context()).current();
    Engine& engine = impl_of(context()).engine();
    const auto us = [&](const Choice& c) { return predicted_us(device, problem(), c); };
    int slower = 0;
    for (const Choice& c : choose(problem(), device.info().arch, engine.database, device.query())) {
      if (us(c) <= us(loaded_) || !engine.workspace_of(c.config, c.launch, problem()).is_empty()) continue;
      context().pin(small_case(8 + 8 * ++slower, 16, 64).described(), to_string(c.config), {});
      if (slower == count) break;
    }
    ASSERT_EQ(slower, count);
  }
  /// Holds the thread that plans problem() until `held_` is counted down.
  void hold_planning() {
    set_log_level("info");
    set_log_sink([this](std::string_view, std::string_view message) {
      if (message.starts_with("not tuned: " + to_string(problem()) + " runs " + to_string(best_.config))) held_.wait();
    });
  }
  void call() { expect_right(context(), small_case(), stream()); }
  /// Captures a call, after `begun` in the capture, and launches the graph.
  void call_by_graph(const std::function<void()>& begun = [] {}) {
    expect_right(small_case(), stream(), [&](const Operands& o) {
      CUgraph graph = nullptr;
      CUgraphExec exec = nullptr;
      driver_.check(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
      begun();
      context().gemm(stream(), small_case().problem, o);
      driver_.check(driver_.cuStreamEndCapture(stream(), &graph), "end");
      driver_.check(driver_.cuGraphInstantiate(&exec, graph, 0), "instantiate");
      driver_.check(driver_.cuGraphLaunch(exec, stream()), "launch");
      driver_.check(driver_.cuStreamSynchronize(stream()), "wait");
      driver_.cuGraphExecDestroy(exec);
      driver_.cuGraphDestroy(graph);
    });
  }
  bool wait_until_loaded() {
    context().wait_tuned(std::chrono::steady_clock::now() + 60s);
    return std::ranges::any_of(impl_of(context()).current().kernels(), [this](const auto& kernel) {
      return kernel->config == best_.config && kernel->traits == traits_of(problem(), best_.launch);
    });
  }
  std::size_t launches(const Choice& choice) { return standin().launches(symbol_part(choice.config)); }

  Choice best_, loaded_;
  std::latch held_{1};
};

TEST_F(InterimTest, CallsRunALoadedKernelUntilThatOfTheClassIsLoaded) {
  make_context(how());
  hold_planning();
  call();
  call();
  EXPECT_EQ(launches(loaded_), 2u) << "neither call waits for the kernel, which is not loaded yet";
  EXPECT_EQ(launches(best_), 0u);
  held_.count_down();
  EXPECT_TRUE(wait_until_loaded());
  call();
  EXPECT_EQ(launches(loaded_), 2u);
  EXPECT_EQ(launches(best_), 1u);
  EXPECT_EQ(context().stats().plans, 1u) << "a plan that takes the place of an interim one is the same class's";
}

TEST_F(InterimTest, TheFastestOfTheLoadedKernelsIsIt) {
  make_context(how());
  load_slower(3);
  DeviceState& device = impl_of(context()).current();
  const auto us = [&](const Choice& c) { return predicted_us(device, problem(), c); };
  const double bound = bound_us(problem(), device.info());
  const auto best = best_loaded(device, problem(), 2, 0);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->choice.config, loaded_.config);
  EXPECT_TRUE(best_loaded(device, problem(), 1.001 * us(loaded_) / bound, 0));
  EXPECT_FALSE(best_loaded(device, problem(), 0.999 * us(loaded_) / bound, 0)) << "too slow";
  EXPECT_TRUE(best_loaded(device, problem(), 1, 1.001 * (us(loaded_) - bound)));
  EXPECT_FALSE(best_loaded(device, problem(), 1, 0.999 * (us(loaded_) - bound))) << "too slow";
  Workload transposed = problem();
  transposed.op_b = transposed.op_b == Op::n ? Op::t : Op::n;
  EXPECT_FALSE(best_loaded(device, transposed, 100, 0)) << "no kernel of this layout is loaded";
}

TEST_F(InterimTest, ThatOfTheRecordIsItThoughOthersSeemFaster) {
  make_context(how());
  load_slower(3);
  DeviceState& device = impl_of(context()).current();
  Engine& engine = impl_of(context()).engine();
  for (const auto& kernel : device.kernels()) {
    const LaunchConfig launch{.raster_width = 16};
    engine.database.add({.problem = problem(),
                         .config = kernel->config,
                         .launch = launch,
                         .timing = {.median_us = 1, .samples = 9},
                         .environment = device.environment(),
                         .template_digest = engine.template_digest(kernel->config)});
    const auto best = best_loaded(device, problem(), 2, 0);
    ASSERT_TRUE(best);
    EXPECT_EQ(best->choice.config, kernel->config);
    EXPECT_EQ(best->choice.launch, launch);
    EXPECT_TRUE(best_loaded(device, problem(), 0.01, 0)) << "what is measured need not be predicted";
  }
}

TEST_F(InterimTest, AKernelThatDoesNotServeTheClassIsNone) {
  make_context(how());
  DeviceState& device = impl_of(context()).current();
  Engine& engine = impl_of(context()).engine();
  const auto is_served = [&](const Workload& workload) { return best_loaded(device, workload, 100, 1e9).has_value(); };
  EXPECT_TRUE(is_served(problem()));
  Workload large = problem();
  large.m = large.n = 4096;
  EXPECT_TRUE(is_served(large));
  large.sm_limit = 1;
  EXPECT_FALSE(is_served(large)) << "it has a block for each tile";
  large.sm_limit = 0;
  large.m = large.n = std::int64_t{1} << 30;
  EXPECT_FALSE(is_served(large)) << "no grid has so many blocks";
  engine.workspace_of = [](const KernelConfig&, const LaunchConfig&, const Problem&) {
    return WorkspaceSize{.scratch_bytes = 1};
  };
  EXPECT_FALSE(is_served(problem())) << "an interim plan has no workspace";
}

TEST_F(InterimTest, AKernelThatSpillsIsNone) {
  make_context(how());
  const std::string config = to_string(loaded_.config);
  ::unsetenv("HOTGEMM_CACHE_PATH");  // where kernels lie that do not spill
  for (const int spill_bytes : {0, 4}) {
    ContextOptions uncached = how();
    uncached.cache.mode = CacheMode::off;
    context_.emplace(uncached);
    impl_of(context()).engine().builder.compile_with([=](const KernelSource& source) {
      return Cubin{
          .image = fake_cubin({source.symbol}), .symbol = source.symbol, .arch = "sm_90a", .spill_bytes = spill_bytes};
    });
    context().pin(small_case(8, 16, 64).described(), config, {});
    DeviceState& device = impl_of(context()).current();
    ASSERT_EQ(device.kernels().size(), 1u);
    EXPECT_EQ(best_loaded(device, problem(), 2, 0).has_value(), spill_bytes == 0);
  }
}

TEST_F(InterimTest, AKernelThatIsMuchTooSlowIsNone) {
  context_.emplace(how());
  const GemmCase deep = small_case(16, 16, 65536);
  DeviceState& device = impl_of(context()).current();
  Engine& engine = impl_of(context()).engine();
  const double bound = bound_us(deep.described(), device.info());
  const std::vector<Choice> choices = choose(deep.described(), device.info().arch, engine.database, device.query());
  const auto slow = std::ranges::find_if(choices, [&](const Choice& c) {
    return engine.workspace_of(c.config, c.launch, deep.described()).is_empty() &&
           predicted_us(device, deep.described(), c) > 2 * (3 * bound + 50);
  });
  ASSERT_NE(slow, choices.end());
  context().pin(small_case(8, 16, 64).described(), to_string(slow->config), {});
  expect_right(context(), deep, stream());
  EXPECT_EQ(launches(*slow), 0u);
  EXPECT_GE(device.kernels().size(), 2u) << "the call loads the kernel that is chosen";
}

TEST_F(InterimTest, PlanLoads) {
  make_context(how());
  hold_planning();
  call();
  held_.count_down();
  EXPECT_EQ(context().plan(problem()).config(), to_string(best_.config)) << "an interim plan is for calls only";
  EXPECT_EQ(context().plan(small_case(8, 16, 32).described()).config(), to_string(best_.config));
}

TEST_F(InterimTest, PlanThatComesFirstLoads) {
  make_context(how());
  EXPECT_EQ(context().plan(problem()).config(), to_string(best_.config));
}

TEST_F(InterimTest, ACapturedCallThatComesFirstLoads) {
  make_context(how());
  call_by_graph();
  EXPECT_EQ(launches(loaded_), 0u);
  EXPECT_EQ(launches(best_), 1u);
}

TEST_F(InterimTest, ARefreshedPlanIsNoInterimOne) {
  make_context(how());
  context().pin(problem(), to_string(loaded_.config), {});
  Plan held = context().plan(problem());
  context().forget(problem());
  hold_planning();
  call();
  EXPECT_FALSE(context().refresh(held));
  held_.count_down();
  EXPECT_TRUE(wait_until_loaded());
  EXPECT_TRUE(context().refresh(held));
  EXPECT_EQ(held.config(), to_string(best_.config));
}

TEST_F(InterimTest, ACapturedCallThatMayDeclineRunsNoInterimKernel) {
  make_context(how());
  hold_planning();
  call();
  const GemmCase c = small_case();
  CaseRun run(Driver::get(), c, stream());
  run.fill(CaseRun::Data::integers, 1);
  run.run([&](const Operands& o) {
    EXPECT_TRUE(context().try_gemm(stream(), c.problem, o, {}));
    driver_.check(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
    EXPECT_FALSE(context().try_gemm(stream(), c.problem, o, {}));
    CUgraph graph = nullptr;
    driver_.check(driver_.cuStreamEndCapture(stream(), &graph), "end");
    driver_.cuGraphDestroy(graph);
  });
  held_.count_down();
}

TEST_F(InterimTest, AGraphKeepsNoInterimKernel) {
  make_context(how());
  hold_planning();
  call();
  call_by_graph([this] { held_.count_down(); });
  EXPECT_EQ(launches(loaded_), 1u);
  EXPECT_EQ(launches(best_), 1u);
}

TEST_F(InterimTest, AClassThatKeepsItsFirstKernelLoadsIt) {
  make_context(how());
  GemmCase deterministic = small_case();
  deterministic.problem.order = SumOrder::deterministic;
  expect_right(context(), deterministic, stream());
  EXPECT_EQ(launches(loaded_), 0u);
  ContextOptions by_itself = how();
  by_itself.background.loads_kernels = false;
  make_context(by_itself);
  call();
  EXPECT_EQ(launches(loaded_), 0u) << "this program chooses the moments of loads: the first calls are such moments";
}

TEST_F(InterimTest, WhatTheDriverRefusesLeavesTheLoadedKernel) {
  make_context(how());
  standin().refuse_image("hotgemm_", 1000);  // the driver refuses each kernel from now on
  call();
  EXPECT_FALSE(wait_until_loaded());
  call();
  EXPECT_EQ(launches(loaded_), 2u);
  EXPECT_EQ(context().plan(problem()).config(), to_string(loaded_.config));
  standin().refuse_image("hotgemm_", 0);
}

}  // namespace
}  // namespace hotgemm::standin
