#include "runtime/workspace_pool.hpp"

#include "standin/runtime_fixture.hpp"

#include <cstring>
#include <thread>

namespace hotgemm::standin {
namespace {

constexpr WorkspaceSize kNeed{.scratch_bytes = 4096, .counters = 10};
constexpr std::size_t kBytes = 4096 + 256;
constexpr WorkspaceSize kMore{.scratch_bytes = 5000, .counters = 10};

class WorkspacePoolTest : public RuntimeTest {
 protected:
  CUgraph end_capture() {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
    return graph;
  }
  void begin_capture() {
    ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  }
  /// The memory that a launch on `stream` gets. The launch has ended when this returns.
  static std::optional<WorkspaceArgs> found(WorkspacePool& pool, CUstream stream, const WorkspaceSize& size) {
    const std::optional<WorkspacePool::Lent> lent = pool.find(stream, size);
    return lent ? std::optional(lent->args) : std::nullopt;
  }
  /// Captures a stream while `find` looks for workspace; nothing else is captured.
  std::pair<std::optional<WorkspaceArgs>, CUgraph> find_in_capture(WorkspacePool& pool, const WorkspaceSize& size) {
    begin_capture();
    const std::size_t calls = allocations();
    const auto args = found(pool, stream(), size);
    EXPECT_EQ(allocations(), calls) << "allocated on a capturing stream";
    return {args, end_capture()};
  }
  static std::size_t allocations() { return standin().calls("cuMemAlloc"); }
};

TEST_F(WorkspacePoolTest, SizesAreInWholeLines) {
  EXPECT_EQ(kNeed.total_bytes(), kBytes);
  EXPECT_TRUE(WorkspaceSize{}.is_empty());
  EXPECT_EQ(WorkspaceSize{}.total_bytes(), 0u);
  EXPECT_EQ((WorkspaceSize{.scratch_bytes = 0, .counters = 65}).total_bytes(), 512u);
  EXPECT_TRUE(kMore.holds(kNeed));
  EXPECT_FALSE(kNeed.holds(kMore));
  EXPECT_FALSE((WorkspaceSize{.scratch_bytes = 1 << 20, .counters = 9}).holds(kNeed));
}

TEST_F(WorkspacePoolTest, EachStreamHasASlabOfItsOwnAndKeepsIt) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const OwnedStream other(driver_);
  const auto first = found(pool, stream(), kNeed), second = found(pool, other.get(), kNeed);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->counters, second->counters);
  EXPECT_EQ(first->scratch, first->counters + 256);
  EXPECT_EQ(first->scratch % 256, 0u);
  for (unsigned i = 0; i < kNeed.counters; ++i) EXPECT_EQ(reinterpret_cast<const unsigned*>(first->counters)[i], 0u);
  EXPECT_EQ(budget.used_bytes(), 2 * kBytes);
  const std::size_t calls = allocations();
  EXPECT_EQ(found(pool, stream(), kNeed)->counters, first->counters);
  EXPECT_EQ(found(pool, other.get(), kNeed)->counters, second->counters);
  EXPECT_EQ(allocations(), calls);
}

TEST_F(WorkspacePoolTest, TheDefaultStreamsHaveSlabsOfTheirOwn) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const auto legacy = found(pool, nullptr, kNeed), mine = found(pool, CU_STREAM_PER_THREAD, kNeed);
  ASSERT_TRUE(legacy && mine);
  EXPECT_EQ(found(pool, CU_STREAM_LEGACY, kNeed)->counters, legacy->counters);
  EXPECT_NE(mine->counters, legacy->counters);
  std::thread([&] {
    driver_.cuCtxSetCurrent(cuda_context_);
    const auto others = found(pool, CU_STREAM_PER_THREAD, kNeed);
    ASSERT_TRUE(others);
    EXPECT_NE(others->counters, mine->counters);
  }).join();
}

TEST_F(WorkspacePoolTest, AStreamThatNeedsMoreGetsTwiceAsMuch) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const auto small = found(pool, stream(), kNeed), large = found(pool, stream(), kMore);
  ASSERT_TRUE(small && large);
  EXPECT_NE(small->counters, large->counters);
  EXPECT_EQ(budget.used_bytes(), kBytes + 2 * 4096 + 256);
  const std::size_t calls = allocations();
  EXPECT_EQ(found(pool, stream(), kNeed)->counters, large->counters);
  EXPECT_EQ(found(pool, stream(), {.scratch_bytes = 8192, .counters = 20})->counters, large->counters);
  EXPECT_EQ(allocations(), calls);
}

TEST_F(WorkspacePoolTest, GrowthThatTheCapForbidsIsByWhatIsNeeded) {
  WorkspaceBudget budget(kBytes + 5000 + 256);
  WorkspacePool pool(driver_, budget);
  ASSERT_TRUE(found(pool, stream(), kNeed));
  ASSERT_TRUE(found(pool, stream(), kMore));
  EXPECT_EQ(budget.used_bytes(), budget.cap_bytes());
}

TEST_F(WorkspacePoolTest, BeyondTheCapThereIsNoneUntilAPlanIsMade) {
  WorkspaceBudget budget(2 * kBytes - 1);
  WorkspacePool pool(driver_, budget);
  const OwnedStream other(driver_);
  ASSERT_TRUE(found(pool, stream(), kNeed));
  EXPECT_FALSE(found(pool, other.get(), kNeed));
  EXPECT_FALSE(found(pool, other.get(), kNeed));
  EXPECT_EQ(allocations(), 1u);
  EXPECT_EQ(budget.used_bytes(), kBytes);
  EXPECT_TRUE(found(pool, stream(), kNeed));
  EXPECT_TRUE(found(pool, other.get(), {.scratch_bytes = 256, .counters = 1})) << "there is room for less";
}

TEST_F(WorkspacePoolTest, TheMemoryOfADestroyedStreamIsFreeOnceAPlanIsMade) {
  WorkspaceBudget budget(2 * kBytes);
  WorkspacePool pool(driver_, budget);
  const auto mine = found(pool, stream(), kNeed);
  ASSERT_TRUE(mine);
  for (int i = 0; i < 5; ++i) {
    const OwnedStream passing(driver_);  // with the handle of the one before
    EXPECT_EQ(found(pool, passing.get(), kNeed).has_value(), i == 0) << "a launch waits for nothing";
    pool.reserve(kNeed, 0);  // a plan is made
    const auto args = found(pool, passing.get(), kNeed);
    ASSERT_TRUE(args) << i;
    EXPECT_NE(args->counters, mine->counters);
    EXPECT_EQ(found(pool, passing.get(), kNeed)->counters, args->counters);
    EXPECT_EQ(found(pool, stream(), kNeed)->counters, mine->counters);
    EXPECT_EQ(budget.used_bytes(), 2 * kBytes);
  }
  EXPECT_EQ(allocations(), 6u);
}

TEST_F(WorkspacePoolTest, AStreamThatIsNotKnownToBeDestroyedKeepsItsMemory) {
  WorkspaceBudget budget(2 * kBytes);
  WorkspacePool pool(driver_, budget);
  std::optional<OwnedStream> first(driver_);
  const OwnedStream second(driver_), third(driver_);
  ASSERT_TRUE(found(pool, first->get(), kNeed));
  const auto seconds = found(pool, second.get(), kNeed);
  first.reset();
  pool.reserve(kNeed, 0);
  EXPECT_FALSE(found(pool, third.get(), kNeed)) << "nobody has told that a stream was destroyed";
  first.emplace(driver_);
  EXPECT_FALSE(found(pool, first->get(), kNeed));
  pool.reserve(kNeed, 0);
  EXPECT_TRUE(found(pool, third.get(), kNeed));
  EXPECT_FALSE(found(pool, first->get(), kNeed));
  EXPECT_EQ(found(pool, second.get(), kNeed)->counters, seconds->counters);
}

TEST_F(WorkspacePoolTest, AStreamGrowsInANodeOfADestroyedOne) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  ASSERT_TRUE(found(pool, stream(), kNeed));  // its node lies behind
  std::optional<OwnedStream> passing(driver_);
  ASSERT_TRUE(found(pool, passing->get(), kNeed));
  const OwnedStream last(driver_);
  ASSERT_TRUE(found(pool, last.get(), kNeed));
  passing.reset();
  passing.emplace(driver_);
  ASSERT_TRUE(found(pool, passing->get(), kNeed));
  pool.reserve(kNeed, 0);
  ASSERT_TRUE(found(pool, last.get(), kMore)) << "in the node of the destroyed one, behind its own";
  const std::size_t used = budget.used_bytes();
  ASSERT_TRUE(found(pool, last.get(), {.scratch_bytes = 9000, .counters = 10}));
  EXPECT_EQ(budget.used_bytes() - used, 16384u + 256) << "twice as much as its largest";
}

TEST_F(WorkspacePoolTest, WhereTheDriverHasNoMemoryThereIsNoneAndNothingLeaks) {
  for (const char* function : {"cuMemAlloc", "cuMemsetD32Async"}) {
    SCOPED_TRACE(function);
    WorkspaceBudget budget(1 << 20);
    WorkspacePool pool(driver_, budget);
    const auto live = live_handles();
    standin().fail(function, 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_FALSE(found(pool, stream(), kNeed));
    EXPECT_EQ(budget.used_bytes(), 0u);
    EXPECT_EQ(live_handles(), live);
    EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("no workspace of 4352 bytes")));
    const std::size_t calls = allocations();
    EXPECT_FALSE(found(pool, stream(), kNeed)) << "tried again by a warm call";
    EXPECT_EQ(allocations(), calls);
    pool.reserve(kNeed, 0);  // a plan is made
    EXPECT_TRUE(found(pool, stream(), kNeed));
  }
}

TEST_F(WorkspacePoolTest, TheFirstLaunchOnAStreamWaitsForNoKernel) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const auto waits = [] { return standin().calls("cuStreamSynchronize") + standin().calls("cuMemFree"); };
  const std::size_t before = waits();
  ASSERT_TRUE(found(pool, stream(), kNeed));
  ASSERT_TRUE(found(pool, stream(), kMore));
  EXPECT_EQ(waits(), before);
}

TEST_F(WorkspacePoolTest, ALostContextIsAnError) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  standin().fail("cuMemAlloc", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
  expect_thrown(ErrorCode::context_lost, {"allocate"}, [&] { found(pool, stream(), kNeed); });
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST_F(WorkspacePoolTest, ACaptureHasASlabOfItsOwnUntilItsGraphIsGone) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const auto eager = found(pool, stream(), kNeed);
  pool.reserve(kNeed, 2);
  EXPECT_EQ(budget.used_bytes(), 3 * kBytes);
  begin_capture();
  const auto first = found(pool, stream(), kNeed);
  ASSERT_TRUE(eager && first);
  EXPECT_NE(first->counters, eager->counters);
  EXPECT_EQ(found(pool, stream(), kNeed)->counters, first->counters) << "launches of one stream follow each other";
  const CUgraph graph = end_capture();
  const auto [second, second_graph] = find_in_capture(pool, kNeed);
  ASSERT_TRUE(second);
  EXPECT_NE(second->counters, first->counters);
  EXPECT_NE(second->counters, eager->counters);
  const auto [third, third_graph] = find_in_capture(pool, kNeed);
  EXPECT_FALSE(third) << "two were set apart";
  EXPECT_EQ(found(pool, stream(), kNeed)->counters, eager->counters);

  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver_.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
  const auto [fourth, fourth_graph] = find_in_capture(pool, kNeed);
  EXPECT_FALSE(fourth) << "what was instantiated from the graph may still run";
  EXPECT_EQ(driver_.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  const auto [fifth, fifth_graph] = find_in_capture(pool, kNeed);
  ASSERT_TRUE(fifth);
  EXPECT_EQ(fifth->counters, first->counters);
  for (const CUgraph other : {second_graph, third_graph, fourth_graph, fifth_graph}) driver_.cuGraphDestroy(other);
}

TEST_F(WorkspacePoolTest, APlanFillsUpWhatCapturesTook) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  pool.reserve(kNeed, 1);
  const auto [first, graph] = find_in_capture(pool, kNeed);
  pool.reserve(kNeed, 1);
  pool.reserve(kNeed, 1);
  EXPECT_EQ(budget.used_bytes(), 2 * kBytes);
  pool.reserve(kMore, 1);  // replaces the waiting slab, which is too small
  EXPECT_EQ(budget.used_bytes(), kBytes + kMore.total_bytes());
  EXPECT_EQ(standin().live(Kind::allocation) - before_.at(Kind::allocation), 2u);
  driver_.cuGraphDestroy(graph);
}

TEST_F(WorkspacePoolTest, ACaptureTakesTheSmallestSlabThatSuffices) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  pool.reserve(kMore, 1);
  pool.reserve(kNeed, 2);
  const auto [small, small_graph] = find_in_capture(pool, kNeed);
  const auto [large, large_graph] = find_in_capture(pool, kMore);
  EXPECT_TRUE(small && large);
  driver_.cuGraphDestroy(small_graph);
  driver_.cuGraphDestroy(large_graph);
}

TEST_F(WorkspacePoolTest, CapturesHaveAtMostHalfOfTheCap) {
  WorkspaceBudget budget(4 * kBytes + 2);
  WorkspacePool pool(driver_, budget);
  pool.reserve(kNeed, 100);
  EXPECT_EQ(budget.used_bytes(), 2 * kBytes);
  EXPECT_TRUE(found(pool, stream(), kNeed));
}

TEST_F(WorkspacePoolTest, AStreamComesBeforeCapturesThatHaveNotBegun) {
  WorkspaceBudget budget(2 * kBytes);
  WorkspacePool pool(driver_, budget);
  pool.reserve(kNeed, 1);
  const auto [captured, graph] = find_in_capture(pool, kNeed);
  ASSERT_TRUE(captured);
  ASSERT_TRUE(found(pool, stream(), kNeed));
  const OwnedStream other(driver_);
  EXPECT_FALSE(found(pool, other.get(), kNeed)) << "took the slab of a graph that may run";
  driver_.cuGraphDestroy(graph);
  pool.reserve(kNeed, 1);  // the slab waits again, and a plan has been made
  const auto live = live_handles();
  EXPECT_TRUE(found(pool, other.get(), kNeed));
  EXPECT_EQ(live_handles(), live);
  EXPECT_EQ(budget.used_bytes(), 2 * kBytes);
}

TEST_F(WorkspacePoolTest, APlanWhoseNeedFitsAloneGetsItsSlab) {
  constexpr WorkspaceSize kCounters{.scratch_bytes = 256, .counters = 1000};
  WorkspaceBudget budget(2 * kBytes);
  WorkspacePool pool(driver_, budget);
  pool.reserve(kNeed, 1);
  ASSERT_EQ(budget.used_bytes(), kBytes);
  pool.reserve(kMore, 1);  // exceeds the captures' half, so the waiting slab stays
  EXPECT_EQ(budget.used_bytes(), kBytes);
  pool.reserve(kCounters, 1);  // one slab for both plans would exceed it
  EXPECT_EQ(budget.used_bytes(), kCounters.total_bytes());
  const auto [found, graph] = find_in_capture(pool, kCounters);
  EXPECT_TRUE(found);
  driver_.cuGraphDestroy(graph);
}

TEST_F(WorkspacePoolTest, ACaptureThatFailsGivesItsSlabBack) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  pool.reserve(kNeed, 1);
  begin_capture();
  ASSERT_TRUE(found(pool, stream(), kNeed));
  EXPECT_EQ(driver_.cuStreamSynchronize(stream()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_FALSE(found(pool, stream(), kNeed)) << "nothing can be captured any more";
  CUgraph graph = nullptr;
  EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  const auto [found, good] = find_in_capture(pool, kNeed);
  EXPECT_TRUE(found);
  driver_.cuGraphDestroy(good);
}

TEST_F(WorkspacePoolTest, WhatCannotBeTiedToTheGraphStaysFree) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  pool.reserve(kNeed, 1);
  for (const char* function : {"cuUserObjectCreate", "cuGraphRetainUserObject"}) {
    standin().fail(function, 1, CUDA_ERROR_OUT_OF_MEMORY);
    const auto [none, graph] = find_in_capture(pool, kNeed);
    EXPECT_FALSE(none) << function;
    EXPECT_THAT(warnings_.take(), testing::ElementsAre(testing::HasSubstr("tie workspace to a graph")));
    driver_.cuGraphDestroy(graph);
  }
  const auto [found, graph] = find_in_capture(pool, kNeed);
  EXPECT_TRUE(found);
  driver_.cuGraphDestroy(graph);
}

TEST_F(WorkspacePoolTest, AStreamsFirstUseBesideACaptureDoesNotSpoilIt) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  const OwnedStream beside(driver_);
  begin_capture();
  EXPECT_TRUE(found(pool, beside.get(), kNeed));
  pool.reserve(kNeed, 1);
  pool.reserve(kMore, 1);  // frees the slab that is too small
  driver_.cuGraphDestroy(end_capture());
}

TEST_F(WorkspacePoolTest, AGraphMayOutliveThePool) {
  CUgraph graph = nullptr;
  {
    WorkspaceBudget budget(1 << 20);
    WorkspacePool pool(driver_, budget);
    pool.reserve(kNeed, 1);
    graph = find_in_capture(pool, kNeed).second;
  }
  EXPECT_EQ(driver_.cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(WorkspacePoolTest, WhatIsAbandonedIsLeftToTheDriver) {
  WorkspaceBudget budget(1 << 20);
  std::optional<WorkspaceArgs> left;
  {
    WorkspacePool pool(driver_, budget);
    left = found(pool, stream(), kNeed);
    pool.abandon();
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
  EXPECT_EQ(driver_.cuMemFree(left->counters), CUDA_SUCCESS);
}

TEST_F(WorkspacePoolTest, ManyThreadsOnOneStreamMakeOneSlab) {
  WorkspaceBudget budget(1 << 20);
  WorkspacePool pool(driver_, budget);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      driver_.cuCtxSetCurrent(cuda_context_);
      EXPECT_TRUE(found(pool, stream(), kNeed));
    });
  }
  threads.clear();
  EXPECT_EQ(budget.used_bytes(), kBytes);
}

}  // namespace
}  // namespace hotgemm::standin
