#include "standin/runtime_fixture.hpp"

#include <barrier>
#include <functional>
#include <thread>

namespace hotgemm::standin {
namespace {

class ConcurrencyTest : public RuntimeTest {
 protected:
  /// Runs `work(thread, its stream)` on threads that start together in the test's CUDA context.
  void on_threads(int count, const std::function<void(int, CUstream)>& work) {
    std::barrier start(count);
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        EXPECT_EQ(driver_.cuCtxSetCurrent(cuda_context_), CUDA_SUCCESS);
        const OwnedStream own(driver_);
        start.arrive_and_wait();
        work(t, own.get());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(ConcurrencyTest, OneClassIsPlannedOnce) {
  context();
  on_threads(8, [&](int t, CUstream on) {
    for (unsigned i = 0; i < 3; ++i) expect_right(*context_, small_case(8 - t % 3), on, i);
  });
  EXPECT_EQ(context().stats().plans, 1u);
  EXPECT_EQ(context().stats().tuned, 1u);
  EXPECT_EQ(records().size(), 1u);
}

TEST_F(ConcurrencyTest, ClassesArePlannedBesideEachOther) {
  context();
  on_threads(4, [&](int t, CUstream on) {
    for (int i = 0; i < 4; ++i) expect_right(*context_, small_case(8, 16, 8 + 8 * ((t + i) % 4)), on);
  });
  EXPECT_EQ(context().stats().plans, 4u);
  EXPECT_EQ(context().stats().tuned, 4u);
  EXPECT_EQ(records().size(), 4u);
}

TEST_F(ConcurrencyTest, TwoContextsOverOneCache) {
  Context first(options(Policy::tune)), second(options(Policy::tune));
  on_threads(4, [&](int t, CUstream on) { expect_right(t % 2 == 0 ? first : second, small_case(), on); });
  EXPECT_EQ(first.stats().tuned, 1u);
  EXPECT_EQ(second.stats().tuned, 1u);
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(ConcurrencyTest, APlanIsLaunchedFromAllThreads) {
  const Plan plan = context(Policy::estimate).plan(small_case().described());
  on_threads(4, [&](int t, CUstream on) {
    for (unsigned i = 0; i < 5; ++i) {
      expect_right(
          small_case(), on, [&](const Operands& operands) { plan.launch(on, operands); }, i + static_cast<unsigned>(t));
    }
  });
}

TEST_F(ConcurrencyTest, TuningPrewarmingAndCallingMix) {
  context();
  on_threads(4, [&](int t, CUstream on) {
    const std::vector<Workload> one{small_case().described()};
    if (t == 0) {
      EXPECT_EQ(context_->tune(one, quick_tuning(2), true).at(0).failure, "");
    } else if (t == 1) {
      EXPECT_EQ(context_->prewarm(one, PrewarmOptions{.archs = {"sm_90a"}, .jobs = 1}).failed, 0u);
    } else {
      expect_right(*context_, small_case(), on);
    }
    context_->stats();
  });
}

TEST_F(ConcurrencyTest, ACudaContextThatIsMadeAgainIsPlannedAgain) {
  expect_right(context(Policy::estimate), small_case(), stream());
  const GemmCase c = small_case();
  stream_.reset();
  ASSERT_EQ(driver_.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&cuda_context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuCtxSetCurrent(cuda_context_), CUDA_SUCCESS);
  stream_.emplace(driver_);
  expect_right(context(), c, stream());
  EXPECT_EQ(context().stats().plans, 2u);
}

// ---- two GPUs, in a separate process ----

/// True if one Context computes on two GPUs, both alternately and at the same time.
bool works_on_two_gpus() {
  const Driver& driver = (standin(), Driver::get());
  make_all_slow();
  const ScratchDirectory cache;
  {
    Context context(options_in(cache.path(), Policy::tune));
    CUcontext gpus[2] = {};
    for (const int gpu : {0, 1}) driver.check(driver.cuDevicePrimaryCtxRetain(&gpus[gpu], gpu), "retain");
    for (const int turn : {0, 1, 0, 1}) {
      driver.check(driver.cuCtxSetCurrent(gpus[turn]), "switch");
      expect_right(context, small_case(), OwnedStream(driver).get());
    }
    std::vector<std::thread> threads;
    for (const int gpu : {0, 1}) {
      threads.emplace_back([&, gpu] {
        driver.check(driver.cuCtxSetCurrent(gpus[gpu]), "switch");
        const OwnedStream stream(driver);
        expect_right(context, small_case(8, 16, 16), stream.get());
      });
    }
    for (std::thread& thread : threads) thread.join();
    // Both are of the same model, but each measures for itself unless it finds the record of the other.
    EXPECT_EQ(context.stats().plans, 4u);
    EXPECT_GE(context.stats().tuned, 2u);
  }
  EXPECT_THAT(standin().violations(), testing::IsEmpty());
  KernelShelf::add(cache.path());
  return !testing::Test::HasFailure();
}

TEST(TwoGpusDeathTest, OneContextServesBoth) {
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
