// Loading and compiling beside each other: each kernel once, and none waits for another.

#include "config/render.hpp"
#include "config/traits.hpp"
#include "gpu/nvrtc.hpp"
#include "standin/runtime_fixture.hpp"

#include <atomic>
#include <future>
#include <latch>
#include <thread>

namespace hotgemm::standin {
namespace {

constexpr std::chrono::seconds kPatience{60};  // only a test that fails waits so long

class SingleFlightTest : public RuntimeTest {
 protected:
  template <class Work>
  auto beside(Work work) {
    return std::async(std::launch::async, [this, work] {
      driver_.cuCtxSetCurrent(cuda_context_);
      return work();
    });
  }
};

TEST_F(SingleFlightTest, AKernelIsLoadedWhileAnotherIsCompiled) {
  const GemmCase c = small_case();
  const Plan plan = context(Policy::estimate).plan(c.described());  // its kernel is in the cache now
  const Choice choice = PlanAccess::impl(plan).choice();
  Engine& engine = impl_of(context()).engine();
  const KernelSource source = render(choice.config, traits_of(c.described()), "sm_90a", engine.bundle);
  const Cubin cubin = *engine.builder.find(source);

  ::unsetenv("HOTGEMM_CACHE_PATH");
  Context fresh(options(Policy::estimate));
  DeviceState& state = impl_of(fresh).current();
  std::latch compiling(1), go_on(1);
  impl_of(fresh).engine().builder.compile_with([&](const KernelSource& wanted) {
    compiling.count_down();
    go_on.wait();
    return Nvrtc::get().compile(wanted, impl_of(fresh).engine().bundle);
  });
  auto checks = beside([&] { return &state.check_kernels(); });
  compiling.wait();
  auto loaded = beside([&] { return state.load(choice.config, traits_of(c.described()), cubin); });
  EXPECT_EQ(loaded.wait_for(kPatience), std::future_status::ready) << "waits for another kernel's compilation";
  go_on.count_down();
  EXPECT_NE(loaded.get(), nullptr);
  EXPECT_NE(checks.get(), nullptr);
}

TEST(KernelTable, LoadsEachKernelOnceForAllThatAsk) {
  KernelTable<int> table;
  std::atomic<int> loads{0};
  std::latch start(4);
  std::vector<std::future<std::shared_ptr<int>>> all;
  for (int t = 0; t < 4; ++t) {
    all.push_back(std::async(std::launch::async, [&] {
      start.arrive_and_wait();
      return table.find_or_load("kernel", [&] { return ++loads; });
    }));
  }
  for (auto& one : all) EXPECT_EQ(*one.get(), 1);
  EXPECT_EQ(loads, 1);
}

TEST(KernelTable, TriesAgainAfterAnErrorButNotAfterARefusal) {
  KernelTable<int> table;
  const auto fail = []() -> int { throw Error(ErrorCode::out_of_memory, "full"); };
  const auto refuse = []() -> int { throw RefusedCubin("refused twice"); };
  expect_thrown(ErrorCode::out_of_memory, {"full"}, [&] { table.find_or_load("a", fail); });
  EXPECT_EQ(*table.find_or_load("a", [] { return 7; }), 7);
  expect_thrown(ErrorCode::driver_error, {"refused twice"}, [&] { table.find_or_load("b", refuse); });
  expect_thrown(ErrorCode::driver_error, {"refused twice"}, [&] { table.find_or_load("b", [] { return 7; }); });
  expect_thrown(ErrorCode::driver_error, {"refused twice"}, [&] { table.require_not_refused("b"); });
  table.require_not_refused("a");
  EXPECT_EQ(table.all().size(), 1u) << "a refused kernel is not loaded";
}

TEST(KernelTable, AThreadThatWaitedForAFailureLoadsItself) {
  KernelTable<int> table;
  std::latch loading(1), go_on(1);
  auto first = std::async(std::launch::async, [&] {
    return table.find_or_load("kernel", [&]() -> int {
      loading.count_down();
      go_on.wait();
      throw Error(ErrorCode::out_of_memory, "full");
    });
  });
  loading.wait();
  auto second = std::async(std::launch::async, [&] { return table.find_or_load("kernel", [] { return 2; }); });
  go_on.count_down();
  EXPECT_THROW(first.get(), Error);
  EXPECT_EQ(*second.get(), 2);
}

}  // namespace
}  // namespace hotgemm::standin
