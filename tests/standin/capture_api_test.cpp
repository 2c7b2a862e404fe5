#include "context_impl.hpp"
#include "standin/runtime_fixture.hpp"

#include <functional>
#include <thread>

namespace hotgemm::standin {
namespace {

constexpr CUstreamCaptureMode kModes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                          CU_STREAM_CAPTURE_MODE_RELAXED};

/// Calls while the program is capturing a stream.
class CaptureApiTest : public RuntimeTest {
 protected:
  /// Captures the operations that `work` enqueues on the test's stream. The test fails if they invalidate the capture.
  CUgraphExec capture(CUstreamCaptureMode mode, const std::function<void()>& work) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(driver_.cuStreamBeginCapture(stream(), mode), CUDA_SUCCESS);
    work();
    EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
    if (graph == nullptr) return nullptr;
    EXPECT_EQ(driver_.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
    return exec;
  }
  /// Captures `work` with the operands of the case and replays it on two sets of data.
  void expect_right_replays(CUstreamCaptureMode mode, const GemmCase& c, const CaseRun::Launch& work) {
    CaseRun run(driver_, c, stream());
    const std::size_t launches = standin().launches();
    CUgraphExec exec = capture(mode, [&] { work(run.operands()); });
    ASSERT_NE(exec, nullptr);
    EXPECT_EQ(standin().launches(), launches) << "something ran during the capture";
    for (const unsigned seed : {1u, 2u}) {
      run.fill(CaseRun::Data::integers, seed);
      run.run([&](const Operands&) { driver_.check(driver_.cuGraphLaunch(exec, stream()), "replay"); });
      EXPECT_EQ(run.inexact(), "");
      EXPECT_EQ(run.stray_write(), "");
    }
    EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  }
};

TEST_F(CaptureApiTest, AWarmCallIsCaptured) {
  const GemmCase c = small_case(8, 16, 8, 1);
  expect_right(context(), c, stream());
  for (const CUstreamCaptureMode mode : kModes) {
    expect_right_replays(mode, c, [&](const Operands& o) { context().gemm(stream(), c.problem, o); });
  }
  EXPECT_EQ(context().stats().plans, 1u);
}

TEST_F(CaptureApiTest, AColdCallIsEstimatedAndTunedOnTheNextNormalCall) {
  for (const CUstreamCaptureMode mode : kModes) {
    SCOPED_TRACE(mode);
    const ScratchDirectory cache;
    Context fresh(options_in(cache.path(), Policy::tune));
    const GemmCase c = small_case();
    const auto count = [](const char* name) { return standin().calls(name); };
    expect_right_replays(mode, c, [&](const Operands& o) {
      const std::size_t unsafe = count("cuMemAlloc") + count("cuStreamSynchronize") + count("cuEventCreate");
      fresh.gemm(stream(), c.problem, o);
      fresh.gemm(stream(), c.problem, o);
      EXPECT_EQ(count("cuMemAlloc") + count("cuStreamSynchronize") + count("cuEventCreate"), unsafe);
    });
    EXPECT_EQ(fresh.stats().estimated, 1u);
    EXPECT_EQ(fresh.stats().tuned, 0u);
    EXPECT_THAT(impl_of(fresh).engine().database.all(), testing::IsEmpty());
    expect_right(fresh, c, stream());
    EXPECT_EQ(fresh.stats().tuned, 1u);
    EXPECT_EQ(impl_of(fresh).engine().database.all().size(), 1u);
    KernelShelf::add(cache.path());
  }
}

TEST_F(CaptureApiTest, AGraphOfTheProvisionalKernelStaysGood) {
  const GemmCase c = small_case();
  CaseRun run(driver_, c, stream());
  CUgraphExec exec =
      capture(CU_STREAM_CAPTURE_MODE_GLOBAL, [&] { context().gemm(stream(), c.problem, run.operands()); });
  expect_right(context(), c, stream());  // this call tunes
  run.fill(CaseRun::Data::integers, 3);
  run.run([&](const Operands&) { driver_.check(driver_.cuGraphLaunch(exec, stream()), "replay"); });
  EXPECT_EQ(run.inexact(), "");
  EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

TEST_F(CaptureApiTest, APlanIsCapturedAndMade) {
  const GemmCase c = small_case();
  const Plan made = context(Policy::estimate).plan(c.described());
  for (const CUstreamCaptureMode mode : kModes) {
    expect_right_replays(mode, c, [&](const Operands& o) { made.launch(stream(), o); });
    const GemmCase other = small_case(8, 16, 16 + 8 * mode);
    expect_right_replays(mode, other, [&](const Operands& o) {
      const Plan plan = context().plan(other.described(), Policy::tune, stream());
      EXPECT_EQ(plan.origin(), Origin::estimated);
      plan.launch(stream(), o);
    });
  }
  EXPECT_EQ(context().stats().tuned, 0u);
}

TEST_F(CaptureApiTest, UnpreparedUnderCachedOnlyLeavesTheCaptureAlone) {
  ::unsetenv("HOTGEMM_CACHE_PATH");
  const GemmCase c = small_case();
  CaseRun run(driver_, c, stream());
  CUgraphExec exec = capture(CU_STREAM_CAPTURE_MODE_GLOBAL, [&] {
    expect_thrown(ErrorCode::not_prepared, {"8 16 8"},
                  [&] { context(Policy::cached_only).gemm(stream(), c.problem, run.operands()); });
  });
  EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

TEST_F(CaptureApiTest, TuningBesideACaptureDoesNotSpoilIt) {
  for (const CUstreamCaptureMode mode : kModes) {
    for (const bool on_other_thread : {false, true}) {
      SCOPED_TRACE(testing::Message() << mode << " " << on_other_thread);
      const ScratchDirectory cache;
      Context fresh(options_in(cache.path(), Policy::tune, 1));
      CaseRun run(driver_, small_case(), stream());
      const OwnedStream beside(driver_);
      const auto tune = [&] {
        driver_.cuCtxSetCurrent(cuda_context_);
        fresh.gemm(beside.get(), small_case().problem, run.operands());
      };
      CUgraphExec exec = capture(mode, [&] {
        on_other_thread ? std::thread(tune).join() : tune();
        fresh.gemm(stream(), small_case().problem, run.operands());
      });
      EXPECT_EQ(fresh.stats().tuned, 1u);
      EXPECT_THAT(warnings_.take(), testing::IsEmpty());
      EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
      KernelShelf::add(cache.path());
    }
  }
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  driver_.cuThreadExchangeStreamCaptureMode(&mode);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "this thread's mode was not restored";
}

TEST_F(CaptureApiTest, ACaptureThatIsAlreadyInvalidIsAnError) {
  const GemmCase c = small_case();
  CaseRun run(driver_, c, stream());
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuStreamSynchronize(stream()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_thrown(ErrorCode::driver_error, {"launch", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)"},
                [&] { context().gemm(stream(), c.problem, run.operands()); });
  CUgraph graph = nullptr;
  EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(context().stats().tuned, 0u);
  expect_right(context(), c, stream());
}

}  // namespace
}  // namespace hotgemm::standin
