// Calls on a stream that is being captured.

#include "gpu/gpu_fixture.hpp"

#include <utility>

namespace hotgemm {
namespace {

GemmCase graph_case() {
  GemmCase c;
  c.problem = {.m = 100, .n = 120, .k = 200, .op_b = Op::t};
  c.beta = 1;
  c.set_tight_ld(8);
  return c;
}

class Capture : public GpuTest, public testing::WithParamInterface<CUstreamCaptureMode> {
 protected:
  Context& cold_context() { return context_.emplace(tuning_options(cache_.string())); }

  /// Captures `enqueue` in the mode under test. The capture must stay valid.
  CUgraphExec capture(const std::function<void()>& enqueue) {
    EXPECT_EQ(driver().cuStreamBeginCapture(stream(), GetParam()), CUDA_SUCCESS);
    try {
      enqueue();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    CUgraph graph = nullptr;
    const CUresult ended = driver().cuStreamEndCapture(stream(), &graph);
    EXPECT_EQ(ended, CUDA_SUCCESS) << driver().describe(ended);
    if (ended != CUDA_SUCCESS || graph == nullptr) return nullptr;
    CUgraphExec executable = nullptr;
    EXPECT_EQ(driver().cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuGraphDestroy(graph), CUDA_SUCCESS);
    return executable;
  }

  /// Replays `graph` on `runs` different sets of data.
  void expect_right_replays(CUgraphExec graph, CaseRun& run, int runs) {
    for (int i = 0; i < runs; ++i) {
      run.fill(CaseRun::Data::integers, static_cast<unsigned>(100 + i));
      run.run([&](const Operands&) { driver().check(driver().cuGraphLaunch(graph, stream()), "replay a graph"); });
      EXPECT_EQ(run.inexact(), "") << "replay " << i;
      EXPECT_EQ(run.stray_write(), "");
    }
  }

 private:
  TemporaryDirectory cache_;
  std::optional<Context> context_;
};

TEST_P(Capture, AColdCallEstimatesAndIsTunedLater) {
  Context& context = cold_context();
  const GemmCase c = graph_case();
  CaseRun run(driver(), c, stream());
  const CUgraphExec graph = capture([&] { context.gemm(stream(), c.problem, run.operands()); });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(context.stats().tuned, 0u);
  EXPECT_EQ(context.stats().estimated, 1u);
  expect_right_replays(graph, run, 5);

  run.fill(CaseRun::Data::integers, 7);
  run.run(caller(context, c.problem));
  EXPECT_EQ(run.inexact(), "");
  EXPECT_EQ(context.stats().tuned, 1u);
  expect_right_replays(graph, run, 2);  // the graph's kernel is still loaded
  EXPECT_EQ(driver().cuGraphExecDestroy(graph), CUDA_SUCCESS);
}

TEST_P(Capture, AWarmCallIsCapturedAsItIs) {
  Context& context = cold_context();
  const GemmCase c = graph_case();
  CaseRun run(driver(), c, stream());
  run.fill(CaseRun::Data::integers, 7);
  run.run(caller(context, c.problem));
  EXPECT_EQ(context.stats().tuned, 1u);
  const std::uint64_t plans = context.stats().plans;
  const CUgraphExec graph = capture([&] {
    context.gemm(stream(), c.problem, run.operands());
    context.gemm(stream(), c.problem, run.operands());  // D does not alias C, so a second call gives the same result
  });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(context.stats().plans, plans);
  expect_right_replays(graph, run, 50);
  EXPECT_EQ(driver().cuGraphExecDestroy(graph), CUDA_SUCCESS);
}

TEST_P(Capture, APlanMadeBeforeIsCaptured) {
  Context& context = cold_context();
  const GemmCase c = graph_case();
  const Plan plan = context.plan(c.described(), Policy::estimate);
  CaseRun run(driver(), c, stream());
  const CUgraphExec graph = capture([&] { plan.launch(stream(), run.operands()); });
  ASSERT_NE(graph, nullptr);
  expect_right_replays(graph, run, 3);
  EXPECT_EQ(driver().cuGraphExecDestroy(graph), CUDA_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Modes, Capture,
                         testing::Values(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED),
                         [](const testing::TestParamInfo<CUstreamCaptureMode>& info) -> std::string {
                           return info.param == CU_STREAM_CAPTURE_MODE_GLOBAL         ? "Global"
                                  : info.param == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ? "ThreadLocal"
                                                                                      : "Relaxed";
                         });

}  // namespace
}  // namespace hotgemm
