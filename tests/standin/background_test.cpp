// Tuning in the background: beside the calls, and never on their account.

#include "standin/guest_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

namespace hotgemm::standin {
namespace {

using namespace std::chrono_literals;

class BackgroundTest : public GuestFixture {
 protected:
  static auto after(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }
  static auto soon() { return after(60s); }

  ContextOptions how() const {
    ContextOptions how = with_worker();
    how.policy = Policy::background;
    how.background = {.gpu_share = 1, .scratch_bytes = 1 << 20, .jobs = 2};
    return how;
  }
  /// A context in which the kernel of the second candidate is the fastest.
  void make_context(const ContextOptions& options) {
    configs_ = measured_configs();
    best_ = to_string(configs_.at(1));
    const std::string script = "hotgemm_=speed:1000;" + symbol_part(configs_.at(1)) + "=speed:300";
    ::setenv("HOTGEMM_STANDIN_SCRIPT", script.c_str(), 1);  // for the worker
    context_.emplace(options);
  }
  void call(int times = 1) {
    for (int i = 0; i < times; ++i) expect_right(context(), small_case(), stream());
  }
  /// Waits until so many classes wait, at most a minute.
  void wait_until_waiting(std::uint64_t count) {
    for (const auto end = soon(); context().stats().waiting_classes != count; std::this_thread::sleep_for(1ms)) {
      if (std::chrono::steady_clock::now() > end) break;
    }
    EXPECT_EQ(context().stats().waiting_classes, count);
  }
  /// Calls until `is_done`, at most a minute.
  template <class Done>
  void call_until(Done is_done) {
    for (const auto end = soon(); !is_done() && std::chrono::steady_clock::now() < end;) call();
    EXPECT_TRUE(is_done());
  }

  std::vector<KernelConfig> configs_;  // in the order of their check
  std::string best_;
};

TEST_F(BackgroundTest, AClassThatRecursGetsTheMeasuredKernelWhileItIsCalled) {
  make_context(how());
  Plan plan = context().plan(problem());
  EXPECT_EQ(plan.origin(), Origin::estimated);
  EXPECT_FALSE(context().refresh(plan)) << "there is no other one yet";
  call_until([&] { return context().stats().exchanged == 1; });
  call();
  EXPECT_EQ(context().plan(problem()).config(), best_);
  EXPECT_EQ(plan.origin(), Origin::estimated) << "a handle is replaced on request only";
  EXPECT_TRUE(context().refresh(plan));
  EXPECT_EQ(plan.config(), best_);
  EXPECT_EQ(plan.origin(), Origin::tuned);
  EXPECT_FALSE(context().refresh(plan));
  const Stats stats = context().stats();
  EXPECT_EQ(stats.tuned, 1u);
  EXPECT_EQ(stats.waiting_classes, 0u);
  EXPECT_EQ(stats.tuning.count, 0u) << "a call was tuned within";
  EXPECT_EQ(standin().launches(symbol_part(configs_.at(2))), 0u) << "something was measured in this process";
  ASSERT_EQ(records().size(), 1u);
}

TEST_F(BackgroundTest, AClassThatIsCalledOnceWaitsUntilAskedFor) {
  make_context(how());
  call();
  EXPECT_EQ(context().stats().waiting_classes, 1u);
  EXPECT_TRUE(context().wait_tuned(soon()));
  EXPECT_EQ(context().stats().waiting_classes, 0u);
  EXPECT_EQ(context().plan(problem()).config(), best_);
  EXPECT_TRUE(context().wait_tuned(after(0ms))) << "nothing is left";
}

TEST_F(BackgroundTest, APlanOfAContextWithAnotherPolicyWaitsToo) {
  ContextOptions options = how();
  options.policy = Policy::estimate;
  make_context(options);
  EXPECT_EQ(context().plan(problem(), Policy::background).origin(), Origin::estimated);
  EXPECT_TRUE(context().wait_tuned(soon()));
  EXPECT_EQ(context().plan(problem()).config(), best_);
}

TEST_F(BackgroundTest, WhatPaysMostIsMeasuredFirst) {
  std::vector<std::string> tuned;
  make_context(how());
  context().pause_tuning();
  const GemmCase often = small_case(8, 16, 24), seldom = small_case(8, 16, 32);
  for (int i = 0; i < 3; ++i) expect_right(context(), seldom, stream());
  for (int i = 0; i < 30; ++i) expect_right(context(), often, stream());
  std::mutex mutex;
  set_log_level("info");
  set_log_sink([&](std::string_view, std::string_view message) {
    const std::lock_guard lock(mutex);
    if (message.starts_with("exchanged ")) tuned.emplace_back(message);
  });
  context().resume_tuning();
  EXPECT_TRUE(context().wait_tuned(soon()));
  set_log_sink({});
  set_log_level("warn");
  const std::lock_guard lock(mutex);
  ASSERT_EQ(tuned.size(), 2u);
  EXPECT_THAT(tuned[0], testing::HasSubstr(to_string(often.described())));
}

TEST_F(BackgroundTest, NothingIsMeasuredWhilePaused) {
  make_context(how());
  context().pause_tuning();
  call(3);
  EXPECT_FALSE(context().wait_tuned(after(100ms)));
  EXPECT_EQ(context().stats().waiting_classes, 1u);
  EXPECT_EQ(context().stats().tuned, 0u);
  context().resume_tuning();
  EXPECT_TRUE(context().wait_tuned(soon()));
  EXPECT_EQ(context().stats().exchanged, 1u);
}

TEST_F(BackgroundTest, PausedCallsDoNotTuneEither) {
  ContextOptions options = how();
  options.policy = Policy::tune;
  make_context(options);
  context().pause_tuning();
  EXPECT_EQ(context().plan(problem()).origin(), Origin::estimated);
  context().resume_tuning();
  EXPECT_EQ(context().plan(problem()).origin(), Origin::tuned);
}

TEST_F(BackgroundTest, APauseEndsTheMeasurementThatGoesOn) {
  ContextOptions options = how();
  options.background.gpu_share = 1e-6;  // the pause after the first slice takes an hour
  make_context(options);
  call(2);
  wait_until_waiting(0);  // it is measured
  context().pause_tuning();
  wait_until_waiting(1);
  EXPECT_TRUE(records().empty()) << "half a measurement is no answer";
}

TEST_F(BackgroundTest, ACancelledMeasurementEndsAndIsTriedAgain) {
  ContextOptions options = how();
  options.background.gpu_share = 1e-6;
  make_context(options);
  call(2);
  wait_until_waiting(0);
  context().cancel_tuning();
  wait_until_waiting(1);
  EXPECT_TRUE(records().empty());
}

TEST_F(BackgroundTest, NobodyWaitsForAClassWhenTheTimeIsUsedUp) {
  ContextOptions options = how();
  options.tuning_total_s = 0;
  make_context(options);
  call(2);
  EXPECT_FALSE(context().wait_tuned(std::chrono::steady_clock::time_point::max()));
}

TEST_F(BackgroundTest, APinnedClassIsNotMeasured) {
  make_context(how());
  context().pause_tuning();
  const Plan plan = context().plan(problem());
  call(2);
  context().pin(problem(), best_, {});
  context().resume_tuning();
  EXPECT_TRUE(context().wait_tuned(soon()));
  EXPECT_EQ(context().stats().tuned, 0u);
  EXPECT_TRUE(records().empty());
  EXPECT_EQ(context().plan(problem()).origin(), Origin::pinned);
}

TEST_F(BackgroundTest, ACallMayForbidIt) {
  make_context(how());
  EXPECT_EQ(context().plan(problem(), Policy::estimate).origin(), Origin::estimated);
  EXPECT_EQ(context().stats().waiting_classes, 0u);
}

TEST_F(BackgroundTest, WithoutAWorkerNothingIsLoadedForAProgramThatLoadsByItself) {
  ContextOptions options = how();
  options.worker = "none";
  options.background.loads_kernels = false;
  make_context(options);
  vet({configs_.begin() + 1, configs_.end()});
  call(2);
  const auto loads = standin().calls("cuModuleLoadData");
  EXPECT_TRUE(context().wait_tuned(soon()));
  EXPECT_EQ(standin().calls("cuModuleLoadData"), loads);
  EXPECT_EQ(context().stats().tuned, 0u);
}

TEST_F(BackgroundTest, AProgramMayChooseWhenThePickIsLoaded) {
  ContextOptions options = how();
  options.background.loads_kernels = false;
  make_context(options);
  call(2);
  EXPECT_TRUE(context().wait_tuned(soon()));
  const auto loads = standin().calls("cuModuleLoadData");
  call();
  EXPECT_EQ(context().stats().tuned, 1u);
  EXPECT_EQ(context().stats().exchanged, 0u);
  EXPECT_EQ(context().plan(problem()).origin(), Origin::estimated);
  EXPECT_EQ(standin().calls("cuModuleLoadData"), loads);
  EXPECT_EQ(context().reload(), 1u);
  EXPECT_EQ(context().plan(problem()).config(), best_);
}

TEST_F(BackgroundTest, ABadCandidateCostsAWorkerAndNoMore) {
  for (const std::string fate : {"fault", "hang", "wrong"}) {
    SCOPED_TRACE(fate);
    for (const char* kind : {"db", "rejected", "vetted"}) std::filesystem::remove_all(cache_.path() / "v1" / kind);
    const KernelConfig bad = measured_configs().at(1);
    plant(bad, fate);
    context_.emplace(how());
    call(2);
    EXPECT_TRUE(context().wait_tuned(soon()));
    EXPECT_EQ(context().plan(problem()).origin(), Origin::tuned);
    EXPECT_NE(context().plan(problem()).config(), to_string(bad));
    call();
    EXPECT_EQ(standin().launches(symbol_part(bad)), 0u) << "it ran in this process";
    EXPECT_NE(remembered(bad), "");
    forget_context();
  }
}

TEST_F(BackgroundTest, WithoutAWorkerOnlyVettedKernelsRun) {
  const std::vector<KernelConfig> configs = measured_configs();
  ASSERT_GE(configs.size(), 6u);
  ContextOptions options = how();
  options.worker = "none";
  context_.emplace(options);
  const std::string estimate = context().plan(problem()).config();
  const std::uint64_t compiled = context().stats().compiled;
  EXPECT_TRUE(context().wait_tuned(soon())) << "it is not tried for ever";
  EXPECT_EQ(context().plan(problem()).config(), estimate);
  EXPECT_EQ(context().stats().compiled, compiled) << "none of the candidates could have run";
  EXPECT_THAT(warnings_.take(), testing::Contains(testing::HasSubstr("only kernels that are vetted may run in this")));
  EXPECT_EQ(standin().launches(), 0u);

  context_.emplace(options);
  vet({configs.begin() + 1, configs.begin() + 5});
  standin().set_speed(symbol_part(configs[2]), 300);
  EXPECT_EQ(context().plan(problem()).origin(), Origin::estimated);
  EXPECT_TRUE(context().wait_tuned(soon()));
  EXPECT_EQ(context().plan(problem()).config(), to_string(configs[2]));
  EXPECT_EQ(standin().launches(symbol_part(configs[5])), 0u);
}

TEST_F(BackgroundTest, AClassThatExceedsASliceIsLeft) {
  ContextOptions options = how();
  options.background.slice_s = 1e-9;
  make_context(options);
  call(3);
  EXPECT_EQ(context().stats().waiting_classes, 0u);
  EXPECT_TRUE(context().wait_tuned(after(0ms)));
  EXPECT_EQ(context().plan(problem()).origin(), Origin::estimated);
}

/// There rounds mislead, and the estimate is better than their pick.
TEST_F(BackgroundTest, AClassThatReachesThePowerCapIsLeft) {
  ContextOptions options = how();
  options.background.slice_s = 1;
  context_.emplace(options);
  context().plan(parse_workload("4096 4096 4096 nt f16"));
  EXPECT_EQ(context().stats().waiting_classes, 0u);
  context().plan(parse_workload("16 4096 4096 nt f16"));
  EXPECT_EQ(context().stats().waiting_classes, 1u);
}

TEST_F(BackgroundTest, APlanThatWasPushedOutDoesNotWait) {
  ContextOptions options = how();
  options.max_plans = 1;
  make_context(options);
  context().pause_tuning();
  call();
  expect_right(context(), small_case(8, 16, 24), stream());
  context().resume_tuning();
  EXPECT_TRUE(context().wait_tuned(soon()));
  EXPECT_EQ(context().stats().tuned, 1u);
  EXPECT_EQ(records().at(0).record.problem.k, 24);
}

TEST_F(BackgroundTest, AContextMayEndWhileItMeasures) {
  ContextOptions options = how();
  options.background.gpu_share = 1e-6;
  make_context(options);
  call(2);
  wait_until_waiting(0);
  const auto start = std::chrono::steady_clock::now();
  forget_context();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
}

TEST_F(BackgroundTest, ACapturedCallGetsTheEstimate) {
  make_context(how());
  ASSERT_EQ(driver_.cuStreamBeginCapture(stream(), CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(context().plan(problem(), Policy::background, stream()).origin(), Origin::estimated);
  EXPECT_TRUE(context().wait_tuned(soon())) << "measuring does not wait for the capture, and leaves it valid";
  CUgraph graph = nullptr;
  EXPECT_EQ(driver_.cuStreamEndCapture(stream(), &graph), CUDA_SUCCESS);
  driver_.cuGraphDestroy(graph);
  EXPECT_EQ(context().plan(problem()).config(), best_);
}

TEST_F(BackgroundTest, ACudaContextThatIsGoneIsLeft) {
  make_context(how());
  context().pause_tuning();
  Plan plan = context().plan(problem());
  stream_.reset();
  standin().reset_primary(0);
  context().resume_tuning();
  EXPECT_TRUE(context().wait_tuned(soon()));
  EXPECT_EQ(context().stats().tuned, 0u);
  EXPECT_FALSE(context().refresh(plan));
}

TEST_F(BackgroundTest, OptionsHaveLimits) {
  const auto refused = [&](const char* what, auto set) {
    ContextOptions options = how();
    set(options.background);
    expect_thrown(ErrorCode::invalid_argument, {"background tuning: ", what}, [&] { Context refused(options); });
  };
  refused("gpu_share", [](BackgroundOptions& o) { o.gpu_share = 0; });
  refused("gpu_share", [](BackgroundOptions& o) { o.gpu_share = 1.5; });
  refused("gpu_share", [](BackgroundOptions& o) { o.gpu_share = std::numeric_limits<double>::quiet_NaN(); });
  refused("slice_s", [](BackgroundOptions& o) { o.slice_s = 0; });
  refused("scratch_bytes", [](BackgroundOptions& o) { o.scratch_bytes = -1; });
  refused("jobs", [](BackgroundOptions& o) { o.jobs = -1; });
}

TEST_F(BackgroundTest, AForkedChildMayDropTheContext) {
  make_context(how());
  call();  // the thread waits for more
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    forget_context();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

/// Runs guest_program with these words, which ends by itself. Returns its status.
int status_of_guest(const std::filesystem::path& cache, std::vector<std::string> words) {
  const std::string program = std::string(HOTGEMM_TEST_BIN_DIR) + "/guest_program";
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setenv("HOTGEMM_TUNE", "background", 1);
    ::setenv("HOTGEMM_CACHE_DIR", cache.c_str(), 1);
    ::setenv("HOTGEMM_WORKER", HOTGEMM_COMMAND, 1);
    // In the guest's own child, the objects of the thread that does not exist there look like leaks.
    const char* checks = std::getenv("ASAN_OPTIONS");
    ::setenv("ASAN_OPTIONS", (std::string(checks != nullptr ? checks : "") + ":detect_leaks=0").c_str(), 1);
    ::alarm(60);
    std::vector<char*> arguments;
    words.insert(words.begin(), program);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(program.c_str(), arguments.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// It ends a while after a class began to be measured.
int end_while_it_measures(const std::filesystem::path& cache, const Workload& problem,
                          std::chrono::milliseconds after) {
  return status_of_guest(cache, {"--default-context", to_string(problem), std::to_string(after.count())});
}

/// The default context is never destroyed, so its thread must end before the objects of the process do.
TEST_F(BackgroundTest, AProgramMayEndWhileItMeasures) {
  make_context(how());
  forget_context();
  EXPECT_EQ(end_while_it_measures(cache_.path(), problem(), 0ms), 0);
}

/// NVRTC registers destructors when it compiles first, here on the thread of the background. They must not run before
/// that thread has ended.
TEST_F(BackgroundTest, AProgramMayEndWhileItCompilesFirst) {
  make_context(how());
  ::unsetenv("HOTGEMM_CACHE_PATH");  // the kernels that all tests share
  forget_context();
  context(Policy::estimate).plan(problem());  // the only kernel in the cache
  forget_context();
  for (const std::chrono::milliseconds after : {50ms, 100ms, 150ms, 200ms, 300ms, 400ms}) {
    EXPECT_EQ(end_while_it_measures(cache_.path(), problem(), after), 0) << after.count() << " ms";
  }
}

/// A thread of the program itself compiles. NVRTC is taken apart only when that has ended.
TEST_F(BackgroundTest, AProgramMayEndWhileItsThreadCompiles) {
  ::unsetenv("HOTGEMM_CACHE_PATH");  // where an earlier run may have left the kernels
  for (int after = 100; after <= 900; after += 100) {
    EXPECT_EQ(status_of_guest(cache_.path(), {"--end-while-compiling", std::to_string(after)}), 0) << after << " ms";
  }
}

/// The main thread, which ends the program, has not called the library.
TEST_F(BackgroundTest, AProgramMayEndWhileAThreadCompilesOfWhichItsMainThreadKnowsNothing) {
  ::unsetenv("HOTGEMM_CACHE_PATH");  // where an earlier run may have left the kernels
  for (const int after : {100, 300, 500, 700}) {
    EXPECT_EQ(status_of_guest(cache_.path(), {"--end-while-a-guest-compiles", std::to_string(after)}), 0)
        << after << " ms";
  }
}

TEST_F(BackgroundTest, NvrtcIsNotOpenedWhenAProgramHasBegunToEnd) {
  EXPECT_EQ(status_of_guest(cache_.path(), {"--open-while-ending"}), 0);
}

}  // namespace
}  // namespace hotgemm::standin
