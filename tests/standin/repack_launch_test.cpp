// Launches that repack operands: which kernels run, where the copies lie, and what happens without workspace.

#include "context_impl.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/repack.hpp"
#include "gpu/device_buffer.hpp"
#include "shared/wgmma_config.hpp"

#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

namespace hotgemm::standin {
namespace {

constexpr WgmmaConfig kAlone{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3, .blocks_per_sm = 2};
constexpr const char* kRepack = "hotgemm_repack";

class RepackLaunchTest : public RuntimeTest {
 protected:
  /// A case whose rows and pointers are at no multiple of 16 bytes.
  static GemmCase ragged(std::int64_t m, std::int64_t n, std::int64_t k, float beta = 0) {
    GemmCase c = small_case(m, n, k, beta);
    c.set_tight_ld(1);
    c.offset_a = 1;
    c.offset_b = 3;
    return c;
  }
  /// A plan with this config and launch, which a record for the case selects.
  Plan plan_of(const GemmCase& c, LaunchConfig launch = {2, false}, std::int64_t workspace_bytes = 16 << 20,
               const WgmmaConfig& config = kAlone) {
    ContextOptions how = options(Policy::estimate);
    how.workspace_bytes = workspace_bytes;
    context_.emplace(how);
    Engine& engine = impl_of(*context_).engine();
    launch = with_repacks(launch, config, c.described());
    engine.database.add({.problem = c.described(),
                         .config = config,
                         .launch = launch,
                         .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
                         .environment = impl_of(*context_).current().environment(),
                         .template_digest = engine.template_digest(config)});
    return context_->plan(c.described());
  }
  void expect_right_by(const Plan& plan, const GemmCase& c) {
    expect_right(c, stream(), [&](const Operands& operands) { plan.launch(stream(), operands); });
  }
  std::size_t copies() { return standin().launches(kRepack); }
  /// The plan of `smaller` has room for the copies that `launch` makes for `largest`, and serves both.
  void expect_one_plan(const GemmCase& smaller, const GemmCase& largest, const LaunchConfig& launch) {
    EXPECT_EQ(plan_of(smaller).workspace_bytes(), workspace_size(kAlone, launch, largest.problem).total_bytes());
    expect_right(*context_, smaller, stream());
    expect_right(*context_, largest, stream());
    EXPECT_EQ(copies(), 2u);
    EXPECT_EQ(context_->stats().plans, 1u);
  }
};

TEST_F(RepackLaunchTest, IsRightInEveryLayout) {
  std::int64_t k = 67;  // different for each case, so that each has its own class
  for (const Op op_a : {Op::n, Op::t}) {
    for (const Op op_b : {Op::n, Op::t}) {
      for (const float beta : {0.0f, 1.0f}) {
        GemmCase c = ragged(70, 131, k += 2, beta);
        c.problem.op_a = op_a;
        c.problem.op_b = op_b;
        c.set_tight_ld(1);
        const Plan plan = plan_of(c);
        EXPECT_EQ(plan.config(), to_string(KernelConfig(kAlone)));
        const std::size_t before = copies();
        expect_right_by(plan, c);
        EXPECT_EQ(copies(), before + 1) << "both operands in one launch";
      }
    }
  }
}

TEST_F(RepackLaunchTest, CopiesOnlyWhatNeedsIt) {
  GemmCase c = small_case(40, 48, 24);  // all rows aligned
  c.offset_b = 1;
  const Plan plan = plan_of(c);
  EXPECT_EQ(plan.workspace_bytes(), repacked_bytes({.shape = {24, 48}, .element_bytes = 2}));
  expect_right_by(plan, c);
  EXPECT_EQ(copies(), 1u);
}

TEST_F(RepackLaunchTest, KernelIsProgrammaticBehindTheCopies) {
  const GemmCase c = ragged(40, 41, 43);
  expect_right_by(plan_of(c), c);
  EXPECT_EQ(standin().calls("cuLaunchKernelEx"), 1u) << "the kernel behind the copies";
  const GemmCase other = ragged(40, 41, 45);
  expect_right_by(plan_of(other, {2, false, true}), other);
  EXPECT_EQ(standin().calls("cuLaunchKernelEx"), 3u) << "both";
}

TEST_F(RepackLaunchTest, CopiesNothingThatIsNotRead) {
  GemmCase c = ragged(40, 41, 43, 1);
  c.alpha = 0;
  expect_right_by(plan_of(c), c);
  EXPECT_EQ(copies(), 0u);
}

TEST_F(RepackLaunchTest, SmallerProblemsOfTheClassFitTheWorkspace) {
  expect_one_plan(ragged(131, 41, 43), ragged(144, 41, 43),
                  {.repack_a = Repack::aligned, .repack_b = Repack::transposed});
}

TEST_F(RepackLaunchTest, NarrowRowsAreTransposedForAllOfTheClass) {
  GemmCase largest = ragged(48, 64, 43), smaller = ragged(33, 64, 43);
  for (GemmCase* c : {&largest, &smaller}) {
    c->problem.op_a = Op::t;
    c->set_tight_ld(1);
  }
  expect_one_plan(smaller, largest, {.repack_a = Repack::transposed, .repack_b = Repack::aligned});
}

TEST_F(RepackLaunchTest, WithoutWorkspaceAnotherKernelRuns) {
  const GemmCase c = ragged(40, 41, 43);
  const Plan plan = plan_of(c, {2, false}, 0);
  EXPECT_NE(plan.config(), to_string(KernelConfig(kAlone)));
  EXPECT_EQ(plan.workspace_bytes(), 0u);
  expect_right_by(plan, c);
  EXPECT_EQ(copies(), 0u);
}

TEST_F(RepackLaunchTest, ThreadsThatLoadNeedNoCopyAndNoWorkspace) {
  constexpr WgmmaConfig kLoads{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3, .loaders = 1};
  std::int64_t k = 67;
  for (const Op op : {Op::n, Op::t}) {
    for (const bool programmatic : {false, true}) {
      for (const int offset_a : {0, 1}) {  // the copy engine loads an aligned A
        GemmCase c = ragged(40, 41, k += 2);
        c.problem.op_a = c.problem.op_b = op;
        c.set_tight_ld(1);
        if (offset_a == 0) c.lda = (c.lda + 7) / 8 * 8, c.offset_a = 0;
        const Plan plan = plan_of(c, {2, false, programmatic}, 0, kLoads);
        EXPECT_EQ(plan.config(), to_string(KernelConfig(kLoads)));
        EXPECT_EQ(plan.workspace_bytes(), 0u);
        expect_right_by(plan, c);
      }
    }
  }
  EXPECT_EQ(copies(), 0u);
}

TEST_F(RepackLaunchTest, CopiesIntoTheWorkspaceThatTheCallerGives) {
  const GemmCase c = ragged(40, 41, 43);
  const Plan plan = plan_of(c);
  const DeviceBuffer memory(driver_, plan.workspace_bytes());
  expect_right(c, stream(), [&](Operands operands) {
    operands.workspace = reinterpret_cast<void*>(memory.get());
    operands.workspace_bytes = plan.workspace_bytes();
    plan.launch(stream(), operands);
  });
  EXPECT_EQ(copies(), 1u);
}

TEST_F(RepackLaunchTest, TuningTriesBothWays) {
  const GemmCase c = ragged(40, 41, 43);
  ContextOptions how = options(Policy::tune);
  how.tuning = quick_tuning(8);
  context_.emplace(how);
  expect_right(*context_, c, stream());
  EXPECT_EQ(context_->stats().tuned, 1u);
  EXPECT_GT(copies(), 0u);
}

/// Launches the kernel that copies, and pauses before the product is launched.
decltype(Driver::cuLaunchKernel) launch_at_once = nullptr;
CUresult CUDAAPI launch_and_pause(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                                  unsigned threads_y, unsigned threads_z, unsigned shared_bytes, CUstream stream,
                                  void** parameters, void** extra) {
  const CUresult result =
      launch_at_once(function, x, y, z, threads_x, threads_y, threads_z, shared_bytes, stream, parameters, extra);
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  return result;
}

TEST_F(RepackLaunchTest, ThreadsOnOneStreamReadTheirOwnCopies) {
  const GemmCase c = ragged(8, 8, 8);
  const Plan plan = plan_of(c);
  auto& launch = const_cast<Driver&>(driver_).cuLaunchKernel;
  launch_at_once = std::exchange(launch, &launch_and_pause);
  std::barrier start(2);
  const auto work = [&](unsigned seed) {
    driver_.cuCtxSetCurrent(cuda_context_);
    CaseRun run(Driver::get(), c, stream());
    run.fill(CaseRun::Data::integers, seed);
    start.arrive_and_wait();
    for (int i = 0; i < 100; ++i) {
      run.run([&](const Operands& operands) { plan.launch(stream(), operands); });
      ASSERT_EQ(run.inexact(), "");
    }
  };
  {
    const std::jthread other(work, 1);
    work(2);
  }
  launch = launch_at_once;
}

}  // namespace
}  // namespace hotgemm::standin
