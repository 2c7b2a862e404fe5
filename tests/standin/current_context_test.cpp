// Threads without a current CUDA context, CUDA contexts that end, and captures beside a plan.

#include "standin/runtime_fixture.hpp"

#include <functional>
#include <thread>

namespace hotgemm::standin {
namespace {

class CurrentContextTest : public RuntimeTest {
 protected:
  /// Runs `work` on a thread that has no current CUDA context, and must have none afterwards.
  void without_context(const std::function<void()>& work) {
    std::thread([&] {
      work();
      CUcontext current = cuda_context_;
      EXPECT_EQ(driver_.cuCtxGetCurrent(&current), CUDA_SUCCESS);
      EXPECT_EQ(current, nullptr) << "the thread was left with a context";
    }).join();
  }
};

TEST_F(CurrentContextTest, AThreadWithoutOneGetsThatOfTheStream) {
  const GemmCase c = small_case();
  CaseRun run(driver_, c, stream());
  run.fill(CaseRun::Data::integers, 1);
  std::optional<Plan> plan;
  run.run([&](const Operands& o) { without_context([&] { context(Policy::estimate).gemm(stream(), c.problem, o); }); });
  EXPECT_EQ(run.inexact(), "");
  run.run([&](const Operands& o) { without_context([&] { context().gemm(stream(), c.problem, o); }); });
  EXPECT_EQ(run.inexact(), "") << "a warm call";
  without_context([&] { plan = context().plan(c.described(), Policy::estimate, stream()); });
  run.run([&](const Operands& o) { without_context([&] { plan->launch(stream(), o); }); });
  EXPECT_EQ(run.inexact(), "");
  const DeviceBuffer from(driver_, 1 << 12), to(driver_, 1 << 12);
  without_context([&] {
    context().pack(stream(), c.problem, Operand::a, reinterpret_cast<const void*>(from.get()), 8,
                   reinterpret_cast<void*>(to.get()));
  });
  EXPECT_EQ(standin().launches("repack"), 1u);
}

TEST_F(CurrentContextTest, TheDefaultStreamBelongsToNone) {
  const GemmCase c = small_case();
  CaseRun run(driver_, c, stream());
  const Plan plan = context(Policy::estimate).plan(c.described());
  for (const CUstream none : {CUstream{}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    without_context([&] {
      const std::vector<std::string> advice = {"default stream", "cudaSetDevice", "CUDA_ERROR_INVALID_CONTEXT"};
      expect_thrown(ErrorCode::no_device, advice, [&] { context().gemm(none, c.problem, run.operands()); });
      expect_thrown(ErrorCode::no_device, advice, [&] { plan.launch(none, run.operands()); });
      expect_thrown(ErrorCode::no_device, advice, [&] { context().plan(c.described(), Policy::estimate, none); });
      expect_thrown(ErrorCode::no_device, {"cudaSetDevice"}, [&] { context().tune({}, quick_tuning(1)); });
    });
  }
}

TEST_F(CurrentContextTest, APlanIsMadeBesideTheCaptureOfAStreamThatSynchronises) {
  const GemmCase c = small_case();
  CaseRun run(driver_, c, stream());
  CUstream blocking = nullptr;
  ASSERT_EQ(driver_.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(driver_.cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  const Plan plan = context().plan(c.described());
  EXPECT_EQ(plan.origin(), Origin::estimated) << "nothing may be measured on the null stream";
  expect_thrown(ErrorCode::driver_error, {"beside a capture", "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
                [&] { context().gemm(nullptr, small_case(8, 8, 8).problem, run.operands()); });
  CUgraph graph = nullptr;
  EXPECT_EQ(driver_.cuStreamEndCapture(blocking, &graph), CUDA_SUCCESS) << "the capture was spoiled";
  EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuStreamDestroy(blocking), CUDA_SUCCESS);
  EXPECT_EQ(context().plan(c.described()).origin(), Origin::tuned);
}

TEST_F(CurrentContextTest, AnotherErrorOfTheStreamIsNotTakenForACapture) {
  const GemmCase c = small_case();
  CaseRun run(driver_, c, stream());
  context(Policy::estimate);
  standin().fail("cuStreamIsCapturing", 1, CUDA_ERROR_INVALID_HANDLE);
  const Thrown thrown = thrown_by([&] { context().gemm(stream(), c.problem, run.operands()); });
  EXPECT_THAT(thrown.message, testing::HasSubstr("CUDA_ERROR_INVALID_HANDLE"));
  EXPECT_THAT(thrown.message, testing::Not(testing::HasSubstr("beside a capture")));
}

TEST_F(CurrentContextTest, APlanIsDroppedAfterItsCudaContextWasReset) {
  std::optional<Plan> dropped_first = context(Policy::estimate).plan(small_case().described());
  std::optional<Plan> dropped_last = *dropped_first;
  stream_.reset();
  standin().reset_primary(0);
  dropped_first.reset();
  context_.reset();
  dropped_last.reset();
  EXPECT_THAT(standin().violations(), testing::IsEmpty());
}

TEST_F(CurrentContextTest, APlanIsDroppedAfterItsContextWasDestroyedAndTheCudaContextReset) {
  std::optional<Plan> plan = context(Policy::estimate).plan(small_case().described());
  context_.reset();
  EXPECT_EQ(standin().live(Kind::module), 0u) << "the Context unloads its kernels, although a plan is left";
  stream_.reset();
  standin().reset_primary(0);
  ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&cuda_context_, 0), CUDA_SUCCESS);  // the handle lives again
  plan.reset();
  EXPECT_THAT(standin().violations(), testing::IsEmpty());
  ASSERT_EQ(driver_.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(CurrentContextTest, AContextIsDestroyedWithoutACurrentCudaContext) {
  expect_right(context(), small_case(), stream());
  impl_of(context()).current().workspace().find(stream(), {.scratch_bytes = 4096, .counters = 10});
  EXPECT_GT(standin().live(Kind::module), 0u);
  without_context([&] { context_.reset(); });
  EXPECT_EQ(standin().live(Kind::module), 0u);
  EXPECT_EQ(standin().live(Kind::allocation), 0u);
}

// ---- two GPUs, in a separate process ----

bool leaves_nothing_on_another_gpu() {
  const Driver& driver = (standin(), Driver::get());
  make_all_slow();
  const ScratchDirectory cache;
  CUcontext gpus[2] = {}, current = nullptr;
  for (const int gpu : {0, 1}) driver.check(driver.cuDevicePrimaryCtxRetain(&gpus[gpu], gpu), "retain");
  {
    Context context(options_in(cache.path(), Policy::estimate));
    for (const int gpu : {0, 1}) {
      driver.check(driver.cuCtxSetCurrent(gpus[gpu]), "switch");
      expect_right(context, small_case(), OwnedStream(driver).get());
    }
    EXPECT_EQ(standin().live(Kind::module), 2u);
  }
  EXPECT_EQ(standin().live(Kind::module), 0u);
  driver.check(driver.cuCtxGetCurrent(&current), "ask");
  EXPECT_EQ(current, gpus[1]) << "the caller's context was changed";
  EXPECT_THAT(standin().violations(), testing::IsEmpty());
  KernelShelf::add(cache.path());
  return !testing::Test::HasFailure();
}

TEST(TwoContextsDeathTest, AContextIsDestroyedWhileAnotherCudaContextIsCurrent) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        set_test_environment();
        ::setenv("HOTGEMM_STANDIN_DEVICES", "2", 1);
        _exit(leaves_nothing_on_another_gpu() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace hotgemm::standin
