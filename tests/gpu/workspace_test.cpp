// Kernels that run at the same time never share workspace: calls on several streams, captured streams, replays.

#include "gpu/gpu_fixture.hpp"
#include "gpu/split_kernel.hpp"
#include "runtime/workspace_pool.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

/// A stream with its own data. If a launch adds parts of the sum of another launch, its result is wrong.
struct Lane {
  Lane(const Driver& driver, const GemmCase& c) : stream(driver), run(driver, c, stream.get()) {}

  OwnedStream stream;
  CaseRun run;
};

class Workspace : public GpuTest {
 protected:
  static constexpr std::size_t kCap = std::size_t{64} << 20;

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    case_.problem = {.m = 96, .n = 80, .k = 128};
    case_.set_tight_ld(8);
    Engine& engine = impl_of(gpu().context()).engine();
    kernel_ = SplitKernel::load(driver(), SplitKernel::compile(gpu().arch(), engine.bundle));
    budget_.emplace(kCap);
    pool_.emplace(driver(), *budget_);
  }
  void TearDown() override {
    if (!IsSkipped()) driver().cuCtxSynchronize();
    pool_.reset();
  }

  PlanImpl plan(std::shared_ptr<const PlanImpl> without = nullptr) {
    return SplitKernel::plan(driver(), kernel_, case_.problem, *pool_, *budget_, std::move(without));
  }
  /// A plan of a kernel that needs no workspace.
  std::shared_ptr<const PlanImpl> without() {
    const SimtConfig config{.block_m = 32, .block_n = 32, .block_k = 8, .thread_m = 2, .thread_n = 2};
    const auto kernel = gpu().kernel(config, traits_of(case_.described()));
    return std::make_shared<const PlanImpl>(driver(), gpu().state().context_id(), Choice{.config = config}, kernel);
  }
  void launch(const PlanImpl& plan, Lane& lane) {
    plan.launch(lane.stream.get(), case_.described(), lane.run.operands());
  }
  OwnedGraph capture(const PlanImpl& plan, Lane& lane) {
    return OwnedGraph::capture(driver(), lane.stream.get(), [&] { launch(plan, lane); });
  }

  /// Fills all lanes with new data, runs `work`, and returns the number of lanes with a wrong result.
  int wrong_after(std::vector<Lane*> lanes, unsigned seed, const std::function<void()>& work) {
    if (lanes.empty()) {
      driver().check(driver().cuCtxSynchronize(), "wait for the data");
      work();
      driver().check(driver().cuCtxSynchronize(), "wait for the work");
      return 0;
    }
    Lane& lane = *lanes.back();
    lanes.pop_back();
    int wrong = 0;
    lane.run.fill(CaseRun::Data::integers, seed);
    lane.run.run([&](const Operands&) { wrong = wrong_after(lanes, seed + 1000, work); });
    const bool is_right = lane.run.inexact().empty() && lane.run.stray_write().empty();
    return wrong + (is_right ? 0 : 1);
  }

  GemmCase case_;
  std::shared_ptr<const GemmKernel> kernel_;
  std::optional<WorkspaceBudget> budget_;
  std::optional<WorkspacePool> pool_;
};

TEST_F(Workspace, CallsOnTwoStreamsAreRight) {
  const PlanImpl split = plan();
  Lane one(driver(), case_), two(driver(), case_);
  for (unsigned round = 0; round < 20; ++round) {
    EXPECT_EQ(wrong_after({&one, &two}, round,
                          [&] {
                            for (int i = 0; i < 5; ++i) {
                              launch(split, one);
                              launch(split, two);
                            }
                          }),
              0)
        << "round " << round;
  }
  EXPECT_EQ(budget_->launches_without(), 0u);
}

/// The other tests are valid only if a shared slab gives wrong results.
TEST_F(Workspace, AnExactCheckFindsASharedSlab) {
  const PlanImpl split = plan();
  Lane one(driver(), case_), two(driver(), case_);
  const DeviceBuffer memory(driver(), split.workspace_size().total_bytes());
  const auto launch_in_memory = [&](Lane& lane) {
    Operands operands = lane.run.operands();
    operands.workspace = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory.get()));
    operands.workspace_bytes = memory.bytes();
    split.launch(lane.stream.get(), case_.described(), operands);
  };
  EXPECT_EQ(wrong_after({&one}, 1, [&] { launch_in_memory(one); }), 0) << "alone it is right";
  int wrong = 0;
  for (unsigned round = 0; round < 20; ++round) {
    wrong += wrong_after({&one, &two}, round, [&] {
      for (int i = 0; i < 5; ++i) {
        launch_in_memory(one);
        launch_in_memory(two);
      }
    });
  }
  EXPECT_GT(wrong, 0);
}

/// The graph is replayed on the stream that it was captured from and on another one, while calls run on both.
TEST_F(Workspace, OneGraphOnTwoStreamsBesideCallsIsRight) {
  const PlanImpl split = plan();
  pool_->reserve(split.workspace_size(), 1);
  Lane captured(driver(), case_), one(driver(), case_), two(driver(), case_);
  const OwnedGraph graph = capture(split, captured);
  EXPECT_EQ(budget_->launches_without(), 0u);
  for (unsigned round = 0; round < 20; ++round) {
    EXPECT_EQ(wrong_after({&captured, &one, &two}, round,
                          [&] {
                            for (int i = 0; i < 5; ++i) {
                              graph.launch(captured.stream.get());
                              launch(split, one);
                              launch(split, two);
                              graph.launch(one.stream.get());
                              launch(split, two);
                              graph.launch(two.stream.get());
                              launch(split, one);
                            }
                          }),
              0)
        << "round " << round;
  }
}

TEST_F(Workspace, TwoCapturesOfOneStreamRunAtTheSameTime) {
  const PlanImpl split = plan();
  pool_->reserve(split.workspace_size(), 2);
  Lane one(driver(), case_), two(driver(), case_);
  const auto capture_on_one = [&](Lane& lane) {
    return OwnedGraph::capture(driver(), one.stream.get(),
                               [&] { split.launch(one.stream.get(), case_.described(), lane.run.operands()); });
  };
  const OwnedGraph of_one = capture_on_one(one), of_two = capture_on_one(two);
  EXPECT_EQ(budget_->launches_without(), 0u);
  for (unsigned round = 0; round < 20; ++round) {
    EXPECT_EQ(wrong_after({&one, &two}, round,
                          [&] {
                            for (int i = 0; i < 5; ++i) {
                              of_one.launch(one.stream.get());
                              of_two.launch(two.stream.get());
                            }
                          }),
              0)
        << "round " << round;
  }
}

/// One capture of two streams: the branches of its graph run at the same time.
TEST_F(Workspace, TwoStreamsOfOneCaptureRunAtTheSameTime) {
  using Wait = CUresult (*)(CUstream, CUevent, unsigned);
  void* library = ::dlopen(driver().path.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto wait = reinterpret_cast<Wait>(::dlsym(library, "cuStreamWaitEvent"));
  ASSERT_NE(wait, nullptr);
  const PlanImpl split = plan();
  pool_->reserve(split.workspace_size(), 2);
  Lane one(driver(), case_), two(driver(), case_);
  const OwnedEvent fork(driver()), join(driver());
  const OwnedGraph graph = OwnedGraph::capture(driver(), one.stream.get(), [&] {
    fork.record(one.stream.get());
    driver().check(wait(two.stream.get(), fork.get(), 0), "fork");
    for (int i = 0; i < 5; ++i) {
      launch(split, one);
      launch(split, two);
    }
    join.record(two.stream.get());
    driver().check(wait(one.stream.get(), join.get(), 0), "join");
  });
  EXPECT_EQ(budget_->launches_without(), 0u);
  for (unsigned round = 0; round < 20; ++round) {
    EXPECT_EQ(wrong_after({&one, &two}, round, [&] { graph.launch(one.stream.get()); }), 0) << "round " << round;
  }
}

TEST_F(Workspace, AGraphThatIsGoneGivesItsSlabBack) {
  const PlanImpl split = plan(without());
  pool_->reserve(split.workspace_size(), 1);
  Lane lane(driver(), case_);
  std::optional<OwnedGraph> first = capture(split, lane);
  EXPECT_EQ(budget_->launches_without(), 0u);
  const OwnedGraph second = capture(split, lane);
  EXPECT_EQ(budget_->launches_without(), 1u);
  EXPECT_NE(split.explain_workspace().find("1 launches so far"), std::string::npos);
  EXPECT_EQ(wrong_after({&lane}, 1, [&] { first->launch(lane.stream.get()); }), 0);
  EXPECT_EQ(wrong_after({&lane}, 2, [&] { second.launch(lane.stream.get()); }), 0) << "the kernel without workspace";

  first.reset();
  bool is_back = false;  // a thread of the driver frees the slab
  for (int i = 0; i < 100 && !is_back; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::uint64_t before = budget_->launches_without();
    const OwnedGraph again = capture(split, lane);
    is_back = budget_->launches_without() == before;
    EXPECT_EQ(wrong_after({&lane}, 3, [&] { again.launch(lane.stream.get()); }), 0);
  }
  EXPECT_TRUE(is_back);
}

/// The graph is destroyed while it runs. If another capture got its slab at once, the two would disturb each other.
TEST_F(Workspace, AGraphKeepsItsSlabWhileItRuns) {
  const PlanImpl split = plan(without());
  Lane one(driver(), case_), two(driver(), case_);
  for (unsigned round = 0; round < 20; ++round) {
    pool_->reserve(split.workspace_size(), 1);
    std::optional<OwnedGraph> first = capture(split, one);
    EXPECT_EQ(wrong_after({&one, &two}, round,
                          [&] {
                            for (int i = 0; i < 10; ++i) first->launch(one.stream.get());
                            first.reset();
                            const OwnedGraph second = capture(split, two);
                            for (int i = 0; i < 10; ++i) second.launch(two.stream.get());
                          }),
              0)
        << "round " << round;
  }
}

/// Each of the streams would keep a slab if the driver did not use handles again. A handle is an address in the heap of
/// the process, so that a sanitizer, which keeps memory for longer, leaves fewer to use again.
TEST_F(Workspace, StreamsThatComeAndGoShareSlabs) {
  const PlanImpl split = plan();
  Lane lane(driver(), case_);
  constexpr unsigned kStreams = 50;
  for (unsigned round = 0; round < kStreams; ++round) {
    pool_->reserve(split.workspace_size(), 0);
    EXPECT_EQ(wrong_after({&lane}, round,
                          [&] {
                            const OwnedStream brief(driver());
                            for (int i = 0; i < 5; ++i)
                              split.launch(brief.get(), case_.described(), lane.run.operands());
                          }),
              0)
        << "round " << round;
  }
  const std::size_t slabs = budget_->used_bytes() / split.workspace_size().total_bytes();
  EXPECT_LE(slabs, small_run() ? kStreams - 1 : 4);
}

/// Kernels of a destroyed stream still run when its slab is freed, and others write to that memory next.
TEST_F(Workspace, ADestroyedStreamKeepsItsSlabWhileItsKernelsRun) {
  const PlanImpl split = plan();
  const std::size_t bytes = split.workspace_size().total_bytes();
  Lane lane(driver(), case_);
  const auto destroy_and_reserve = [&] {
    std::optional<OwnedStream> brief(std::in_place, driver());
    const CUstream handle = brief->get();
    for (int i = 0; i < 500; ++i) split.launch(handle, case_.described(), lane.run.operands());
    brief.reset();
    std::vector<OwnedStream> later;
    do later.emplace_back(driver());
    while (later.back().get() != handle && later.size() < 1000);
    if (later.back().get() != handle) GTEST_SKIP() << "the driver has not used the handle again";
    EXPECT_TRUE(pool_->find(handle, split.workspace_size()).has_value());
    EXPECT_EQ(budget_->used_bytes(), 2 * bytes);
    pool_->reserve(split.workspace_size(), 0);
    EXPECT_EQ(budget_->used_bytes(), bytes);
    std::vector<DeviceBuffer> others;
    for (int i = 0; i < 64; ++i) {
      others.emplace_back(driver(), bytes);
      driver().check(driver().cuMemsetD32Async(others.back().get(), 0x7fc00000, bytes / 4, handle), "write NaN");
    }
    later.back().synchronize();
  };
  EXPECT_EQ(wrong_after({&lane}, 1, destroy_and_reserve), 0);
}

TEST_F(Workspace, WithoutMemoryTheOtherKernelRuns) {
  pool_.reset();
  budget_.emplace(0);
  pool_.emplace(driver(), *budget_);
  const PlanImpl split = plan(without());
  Lane lane(driver(), case_);
  EXPECT_EQ(wrong_after({&lane}, 1, [&] { launch(split, lane); }), 0);
  EXPECT_EQ(budget_->launches_without(), 1u);
}

}  // namespace
}  // namespace hotgemm
