// The time that tuning takes from the caller, and from others.

#include "standin/fake_compiler.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/render.hpp"
#include "gpu/nvrtc.hpp"
#include "runtime/gpu_lock.hpp"
#include "tune/tune.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hotgemm::standin {
namespace {

using namespace std::chrono_literals;
using TimingClock = std::chrono::steady_clock;

class TuningTimeTest : public RuntimeTest {
 protected:
  TuningTimeTest() { has_real_kernels_ = false; }
  void SetUp() override {
    RuntimeTest::SetUp();
    ::unsetenv("HOTGEMM_CACHE_PATH");
  }

  /// Makes the context with kernels that "compile" by `before`, which gets the number of the compilation, from 0.
  Context& context_that_compiles(const ContextOptions& how, std::function<void(int)> before) {
    context_.emplace(how);
    compile_fakes(*context_, [this, before = std::move(before)] { before(compiled_++); });
    return *context_;
  }

  std::atomic<int> compiled_{0};
};

/// A door that a compilation waits at until the test opens it.
class Door {
 public:
  /// Returns after a while even if nobody opens the door, so that a test fails instead of hanging.
  void pass() {
    std::unique_lock lock(mutex_);
    is_waiting_ = true;
    changed_.notify_all();
    was_opened_ = changed_.wait_for(lock, 20s, [&] { return is_open_; });
  }
  void wait_for_someone() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_waiting_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  bool was_opened() const { return was_opened_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_waiting_ = false, is_open_ = false, was_opened_ = false;
};

TEST_F(TuningTimeTest, CompilingCounts) {
  ContextOptions how = options(Policy::tune, 20);
  how.tuning.budget_s = 2.5 * kSanitizerFactor;
  how.tuning.jobs = 1;
  const std::chrono::duration<double> compile_share(0.6 * how.tuning.budget_s);
  context_that_compiles(how, [&](int index) {
    if (index == 4) std::this_thread::sleep_for(compile_share);
  });
  const TuneResult result = context().tune(std::vector{small_case().described()}, how.tuning).at(0);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(compiled_, 5) << "the estimate's kernel, the check kernels, and three others";
  EXPECT_LE(result.measured, 4);
  int left_out = 0;
  for (const Rejection& r : result.rejections) left_out += r.stage == "build" && r.reason == kNoTimeLeft ? 1 : 0;
  EXPECT_EQ(left_out, 16);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_TRUE(records().at(0).record.is_provisional) << "an offline tuning finishes it";
}

TEST_F(TuningTimeTest, TheEstimatesKernelIsCompiledFirst) {
  const GemmCase c = small_case();
  const std::string expected = context(Policy::estimate).plan(c.described()).config();
  forget_context();
  std::string first;
  context_.emplace(options(Policy::tune, 4));
  impl_of(*context_).engine().builder.compile_with([&](const KernelSource& source) -> Cubin {
    if (first.empty()) first = source.symbol;
    throw Error(ErrorCode::compile_failed, "not today");
  });
  std::filesystem::remove_all(cache_.path() / "v1" / "cubin");
  TuneOptions how = quick_tuning(4);
  how.jobs = 1;
  EXPECT_NE(context().tune(std::vector{c.described()}, how).at(0).failure, "");
  EXPECT_THAT(first, testing::HasSubstr(expected));
}

TEST_F(TuningTimeTest, WithoutTimeTheEstimateIsTheAnswer) {
  ContextOptions how = options(Policy::tune, 20);
  how.tuning.budget_s = 0;
  context_that_compiles(how, [](int) {});
  EXPECT_EQ(context().plan(small_case().described()).origin(), Origin::estimated);
  EXPECT_EQ(compiled_, 1);
  EXPECT_EQ(context().plan(small_case().described()).origin(), Origin::estimated);
  EXPECT_EQ(warnings_.take().size(), 1u) << "no later call tries again";
}

TEST_F(TuningTimeTest, WhatCannotBeMeasuredIsNotCompiled) {
  ContextOptions how = options(Policy::tune, 20);
  how.tuning.scratch_bytes = 1000;
  context_that_compiles(how, [](int) {});
  EXPECT_EQ(context().plan(small_case().described()).origin(), Origin::estimated);
  EXPECT_EQ(compiled_, 1);
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("of scratch are allowed")));
  context_that_compiles(options(Policy::tune, 20), [](int) {});
  compiled_ = 0;
  standin().set_memory_limit(100 << 10);
  EXPECT_EQ(context().plan(small_case().described()).origin(), Origin::estimated);
  EXPECT_EQ(compiled_, 0) << "the estimate's kernel is in the cache";
  EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("of the GPU's memory are free")));
}

TEST_F(TuningTimeTest, NobodyWaitsForTheTuningOfAnother) {
  const GemmCase c = small_case();
  Door door;
  ContextOptions how = options(Policy::tune, 4);
  how.tuning.jobs = 1;
  context_that_compiles(how, [&](int index) {
    if (index == 2) door.pass();
  });
  std::thread tuner([&] {
    driver_.cuCtxSetCurrent(cuda_context_);
    EXPECT_EQ(context_->plan(c.described()).origin(), Origin::tuned);
  });
  door.wait_for_someone();
  EXPECT_EQ(context().plan(c.described(), Policy::estimate).origin(), Origin::estimated);
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated) << "another thread tunes the class";
  expect_right(context(), c, stream());
  EXPECT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(context().plan(c.described(), Policy::tune, stream()).origin(), Origin::estimated);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  driver_.cuGraphDestroy(graph);
  door.open();
  tuner.join();
  EXPECT_TRUE(door.was_opened()) << "they waited";
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::tuned) << "upgraded";
  EXPECT_EQ(context().stats().tuned, 1u);
  EXPECT_EQ(context().stats().plans, 1u);
}

TEST_F(TuningTimeTest, ATurnToMeasureIsWaitedForUntilTheDeadline) {
  const GemmCase c = small_case();
  ContextOptions how = options(Policy::tune, 2);
  how.tuning.budget_s = 2 * kSanitizerFactor;
  context_that_compiles(how, [](int) {});
  {
    const GpuLock other(driver_);
    EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated);
    EXPECT_EQ(warnings_.take().size(), 1u);
    EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated);
    expect_right(context(), c, stream());
    EXPECT_EQ(context().stats().tuning.count, 1u) << "a later call waited again";
    EXPECT_THAT(warnings_.take(), testing::IsEmpty());
  }
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::estimated) << "the pause is not over";
  impl_of(context()).set_tuning_pause(0, 0s);
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::tuned) << "the failure was no fault of the class";
  EXPECT_EQ(context().stats().tuning.count, 2u);
}

TEST_F(TuningTimeTest, NvrtcIsToldToStop) {
  Engine& engine = impl_of(context(Policy::estimate)).engine();
  const KernelSource source = render_check("sm_90a", engine.bundle);
  const Nvrtc& nvrtc = Nvrtc::get();
  expect_thrown(ErrorCode::interrupted, {"hotgemm_check"},
                [&] { nvrtc.compile(source, engine.bundle, nullptr, TimingClock::now()); });
  const auto results =
      engine.builder.build_all(std::vector{source, source, source}, 1, {}, {.deadline = TimingClock::now()});
  EXPECT_TRUE(results[0].cubin.has_value()) << "the first one is always compiled";
  EXPECT_EQ(results[1].failure, kLateBuild);
  EXPECT_EQ(results[2].failure, kLateBuild);
}

}  // namespace
}  // namespace hotgemm::standin
