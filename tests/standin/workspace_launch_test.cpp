// Launches of a test kernel that needs workspace and counters. The stand-in knows this kernel. It reports a violation
// if two streams or graphs work in one slab, or if counters are not zero.

#include "gpu/split_kernel.hpp"
#include "standin/allocation_count.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/traits.hpp"

#include <cstring>

namespace hotgemm::standin {
namespace {

const Cubin& split_cubin() {
  static const Cubin cubin = SplitKernel::compile("sm_90", TemplateBundle::from_environment());
  return cubin;
}

class WorkspaceLaunchTest : public RuntimeTest {
 protected:
  WorkspaceLaunchTest() : case_(small_case(40, 24, 16)) {}

  void SetUp() override {
    RuntimeTest::SetUp();
    kernel_ = SplitKernel::load(driver_, split_cubin());
  }
  void TearDown() override {
    kernel_.reset();
    RuntimeTest::TearDown();
  }

  std::size_t needed() const { return SplitKernel::size(case_.problem.m, case_.problem.n).total_bytes(); }
  /// A plan whose kernel needs no workspace.
  std::shared_ptr<const PlanImpl> without() {
    context(Policy::estimate).plan(case_.described());
    return impl_of(context()).current().plans().find(class_key(case_.described()))->entry.plan;
  }
  CaseRun::Launch launcher(const PlanImpl& plan, CUstream on) const {
    return [this, &plan, on](const Operands& o) { plan.launch(on, case_.described(), o); };
  }
  CUgraphExec capture(const std::function<void()>& work) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    work();
    EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
    return exec;
  }

  GemmCase case_;
  std::shared_ptr<const GemmKernel> kernel_;
};

TEST_F(WorkspaceLaunchTest, CallsOnTwoStreamsAreRight) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const PlanImpl plan = SplitKernel::plan(driver_, kernel_, case_.problem, pool, budget);
  const OwnedStream other(driver_);
  for (unsigned round = 1; round < 4; ++round) {
    expect_right(case_, stream(), launcher(plan, stream()), round);
    expect_right(case_, other.get(), launcher(plan, other.get()), round + 10);
  }
  EXPECT_EQ(budget.used_bytes(), 2 * needed());
  EXPECT_EQ(budget.launches_without(), 0u);
}

TEST_F(WorkspaceLaunchTest, OneGraphOnTwoStreamsBesideCallsIsRight) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const PlanImpl plan = SplitKernel::plan(driver_, kernel_, case_.problem, pool, budget);
  pool.reserve(plan.workspace_size(), 1);
  const OwnedStream other(driver_);
  CaseRun captured(driver_, case_, stream());
  const CUgraphExec exec = capture([&] {
    plan.launch(stream(), case_.described(), captured.operands());
    plan.launch(stream(), case_.described(), captured.operands());
  });
  for (unsigned round = 1; round < 4; ++round) {
    for (const CUstream on : {stream(), other.get()}) {
      expect_right(case_, on, launcher(plan, on), round);
      captured.fill(CaseRun::Data::integers, round + 20);
      captured.run([&](const Operands&) { driver_.check(driver_.cuGraphLaunch(exec, on), "replay"); });
      EXPECT_EQ(captured.inexact(), "");
    }
  }
  EXPECT_EQ(budget.launches_without(), 0u);
  EXPECT_EQ(budget.used_bytes(), 3 * needed());
  EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

/// The tests above find a wrong slab only because the stand-in reports it.
TEST_F(WorkspaceLaunchTest, TheStandInReportsASharedSlab) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const PlanImpl plan = SplitKernel::plan(driver_, kernel_, case_.problem, pool, budget);
  const DeviceBuffer memory(driver_, needed());
  const OwnedStream other(driver_);
  for (const CUstream on : {stream(), other.get()}) {
    expect_right(case_, on, [&](Operands o) {
      o.workspace = reinterpret_cast<void*>(memory.get());
      o.workspace_bytes = memory.bytes();
      plan.launch(on, case_.described(), o);
    });
  }
  EXPECT_THAT(standin().violations(), testing::ElementsAre(testing::HasSubstr("two streams or graphs")));
  standin().reset();
}

TEST_F(WorkspaceLaunchTest, TheCallersMemoryIsUsedWhateverItHolds) {
  WorkspaceBudget budget(0);
  WorkspacePool pool(driver_, budget);
  const PlanImpl plan = SplitKernel::plan(driver_, kernel_, case_.problem, pool, budget);
  const DeviceBuffer memory(driver_, needed());
  std::memset(reinterpret_cast<void*>(memory.get()), 0xff, needed());
  const auto with = [&](std::size_t bytes, std::size_t offset) {
    return [&, bytes, offset](Operands o) {
      o.workspace = reinterpret_cast<void*>(memory.get() + offset);
      o.workspace_bytes = bytes;
      plan.launch(stream(), case_.described(), o);
    };
  };
  expect_right(case_, stream(), with(needed(), 0));
  std::memset(reinterpret_cast<void*>(memory.get()), 0xff, needed());
  expect_right(case_, stream(), with(needed(), 0));
  CaseRun run(driver_, case_, stream());
  const std::size_t launches = standin().launches();
  expect_thrown(ErrorCode::invalid_argument,
                {"workspace_bytes is " + std::to_string(needed() - 1), "needs " + std::to_string(needed())},
                [&] { with(needed() - 1, 0)(run.operands()); });
  expect_thrown(ErrorCode::invalid_argument, {"workspace", "multiple of 256"},
                [&] { with(needed(), 16)(run.operands()); });
  EXPECT_EQ(standin().launches(), launches);
}

TEST_F(WorkspaceLaunchTest, WithoutMemoryAnotherKernelRunsAndThePlanSaysSo) {
  WorkspaceBudget budget(0);
  WorkspacePool pool(driver_, budget);
  const PlanImpl plan = SplitKernel::plan(driver_, kernel_, case_.problem, pool, budget, without());
  EXPECT_THAT(plan.explain_workspace(), testing::Not(testing::HasSubstr("so far")));
  expect_right(case_, stream(), launcher(plan, stream()));
  expect_right(case_, stream(), launcher(plan, stream()));
  EXPECT_EQ(standin().launches("testsplit"), 0u);
  EXPECT_EQ(budget.launches_without(), 2u);
  EXPECT_THAT(
      plan.explain_workspace(),
      testing::AllOf(testing::HasSubstr(std::to_string(needed()) + " bytes of workspace"),
                     testing::HasSubstr(to_string(without()->choice())), testing::HasSubstr("(2 launches so far)")));
}

TEST_F(WorkspaceLaunchTest, RepeatedLaunchesWithoutMemoryBuildNoMessage) {
  WorkspaceBudget budget(0);
  WorkspacePool pool(driver_, budget);
  const std::shared_ptr<const PlanImpl> other = without();
  const PlanImpl plan = SplitKernel::plan(driver_, kernel_, case_.problem, pool, budget, other);
  CaseRun run(driver_, case_, stream());
  const auto allocations_of = [&](const PlanImpl& launched) {
    const std::size_t before = allocation_count();
    launched.launch(stream(), case_.described(), run.operands());
    return allocation_count() - before;
  };
  allocations_of(plan);                               // logs; later launches are only counted
  const std::size_t direct = allocations_of(*other);  // the stand-in's own
  const WorkspaceSize& size = plan.workspace_size();
  pool.find(stream(), size);  // refused; a later refusal is silent
  const std::size_t before = allocation_count();
  EXPECT_FALSE(pool.find(stream(), size));
  const std::size_t finding = allocation_count() - before;
  EXPECT_EQ(allocations_of(plan), finding + direct);
}

TEST_F(WorkspaceLaunchTest, ACaptureThatFindsNoneIsOfTheOtherKernel) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const PlanImpl plan = SplitKernel::plan(driver_, kernel_, case_.problem, pool, budget, without());
  pool.reserve(plan.workspace_size(), 1);
  CaseRun run(driver_, case_, stream());
  std::vector<CUgraphExec> execs;
  const std::size_t before = standin().calls("cuMemAlloc");
  for (int i = 0; i < 2; ++i) {
    execs.push_back(capture([&] { plan.launch(stream(), case_.described(), run.operands()); }));
  }
  EXPECT_EQ(standin().calls("cuMemAlloc"), before);
  EXPECT_EQ(budget.launches_without(), 1u);
  for (const CUgraphExec exec : execs) {
    run.fill(CaseRun::Data::integers, 5);
    run.run([&](const Operands&) { driver_.check(driver_.cuGraphLaunch(exec, stream()), "replay"); });
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  }
  EXPECT_EQ(standin().launches("testsplit"), 1u);
}

TEST_F(WorkspaceLaunchTest, WithNoOtherKernelALaunchFailsAndSaysWhy) {
  WorkspaceBudget budget(0);
  WorkspacePool pool(driver_, budget);
  const PlanImpl plan = SplitKernel::plan(driver_, kernel_, case_.problem, pool, budget);
  CaseRun run(driver_, case_, stream());
  expect_thrown(ErrorCode::out_of_memory, {std::to_string(needed()) + " bytes of workspace"},
                [&] { plan.launch(stream(), case_.described(), run.operands()); });
  EXPECT_EQ(standin().launches("testsplit"), 0u);
}

}  // namespace
}  // namespace hotgemm::standin
