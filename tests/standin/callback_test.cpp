// Functions of the user that throw, on the user's thread and on the library's.

#include "standin/fake_measurer.hpp"
#include "standin/runtime_fixture.hpp"

#include "tune/tuning_run.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace hotgemm::standin {
namespace {

class CallbackTest : public RuntimeTest {
 protected:
  CallbackTest() { has_real_kernels_ = false; }  // see CompileElsewhere

  static std::vector<Workload> problems(int count) {
    std::vector<Workload> all;
    for (int i = 0; i < count; ++i) all.emplace_back(Problem{.m = 8, .n = 16 + 64 * i, .k = 32 + 512 * i});
    return all;
  }
};

/// A kernel that "compiles" at once, but on the calling thread only when another thread has had its turn.
class CompileElsewhere {
 public:
  explicit CompileElsewhere(KernelBuilder& builder) {
    builder.compile_with([this](const KernelSource& source) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (std::this_thread::get_id() == caller_ && !is_told_ && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return Cubin{.image = fake_cubin({source.symbol}), .symbol = source.symbol, .arch = "sm_90a"};
    });
  }
  /// The user's function was called on a thread of the library.
  void tell() { is_told_ = true; }
  bool is_told() const { return is_told_; }

 private:
  const std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> is_told_{false};
};

TEST_F(CallbackTest, PrewarmThrowsWhatItsProgressThrowsOnACompileThread) {
  ::unsetenv("HOTGEMM_CACHE_PATH");
  context(Policy::estimate);
  CompileElsewhere compile(impl_of(context()).engine().builder);
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  PrewarmOptions options{.archs = {"sm_90a", "sm_80"}, .jobs = 2, .candidates = true};
  options.progress = [&](std::size_t, std::size_t) -> bool {
    ++calls;
    EXPECT_NE(std::this_thread::get_id(), caller);
    compile.tell();
    throw std::runtime_error("no more room on the screen");
  };
  expect_thrown(ErrorCode::interrupted, {"a callback threw: no more room on the screen"},
                [&] { context().prewarm(problems(3), options); });
  EXPECT_TRUE(compile.is_told());
  EXPECT_EQ(calls, 1) << "called again after it had thrown";
}

TEST_F(CallbackTest, AnErrorComesOutAsItIsAndAnythingElseAsInterrupted) {
  PrewarmOptions options{.archs = {"sm_90a"}, .jobs = 1};
  options.progress = [](std::size_t, std::size_t) -> bool { throw Error(ErrorCode::io_error, "the pipe is closed"); };
  expect_thrown(ErrorCode::io_error, {"the pipe is closed"}, [&] { context().prewarm(problems(1), options); });
  options.progress = [](std::size_t, std::size_t) -> bool { throw 1; };
  expect_thrown(ErrorCode::interrupted, {"not a std::exception"}, [&] { context().prewarm(problems(1), options); });
  options.progress = [](std::size_t, std::size_t) { return true; };
  EXPECT_EQ(context().prewarm(problems(1), options).failed, 0u) << "the Context is as good as before";
}

TEST_F(CallbackTest, TuneThrowsWhatItsProgressThrowsOnTheCallingThread) {
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  const auto progress = [&](const TuneResult&) -> bool {
    ++calls;
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(context().stats().plans, 0u) << "no lock is held";
    throw std::runtime_error("enough");
  };
  expect_thrown(ErrorCode::interrupted, {"a callback threw: enough"},
                [&] { context().tune(problems(2), quick_tuning(1), false, progress); });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(records().size(), 1u) << "what was measured is recorded";
}

TEST_F(CallbackTest, ALogSinkThatThrowsDisturbsNothing) {
  std::atomic<int> calls{0};
  set_log_level("debug");
  set_log_sink([&](std::string_view, std::string_view) {
    ++calls;
    throw std::runtime_error("no sink");
  });
  testing::internal::CaptureStderr();
  expect_right(context(Policy::estimate), small_case(), stream());
  const std::string text = testing::internal::GetCapturedStderr();
  set_log_sink({});
  set_log_level("warn");
  EXPECT_GT(calls, 0);
  EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("the log sink threw"), testing::HasSubstr("not tuned")));
}

/// Each function of the observer in turn, told on the thread that runs and on those of two GPUs.
TEST_F(CallbackTest, ATuningRunThrowsWhatItsObserverThrows) {
  Engine engine(options(Policy::tune));
  const std::vector<std::pair<const char*, std::function<void(TuningObserver&)>>> functions = {
      {"started", [](TuningObserver& o) { o.started = [](auto&&...) { throw std::runtime_error("thrown"); }; }},
      {"earlier",
       [](TuningObserver& o) { o.earlier = [](auto&&...) -> EarlierRun { throw std::runtime_error("thrown"); }; }},
      {"began", [](TuningObserver& o) { o.began = [](auto&&...) { throw std::runtime_error("thrown"); }; }},
      {"rejected", [](TuningObserver& o) { o.rejected = [](auto&&...) { throw std::runtime_error("thrown"); }; }},
      {"sampled", [](TuningObserver& o) { o.sampled = [](auto&&...) { throw std::runtime_error("thrown"); }; }},
      {"led", [](TuningObserver& o) { o.led = [](auto&&...) { throw std::runtime_error("thrown"); }; }},
      {"finished", [](TuningObserver& o) { o.finished = [](auto&&...) { throw std::runtime_error("thrown"); }; }},
      {"is_cancelled",
       [](TuningObserver& o) { o.is_cancelled = []() -> bool { throw std::runtime_error("thrown"); }; }},
  };
  for (const auto& [name, set] : functions) {
    SCOPED_TRACE(name);
    FakeGpus gpus;
    std::atomic<bool> rejects_one{true};
    gpus.verdict = [&](const Trial&) { return rejects_one.exchange(false) ? std::string("check: rejected") : ""; };
    TuningObserver observer;
    set(observer);
    TuningRunOptions how{.tuning = quick_tuning(3)};
    how.tuning.jobs = 1;
    how.gpus = {0, 1};
    how.retune = true;
    std::vector<Workload> list;
    for (int i = 0; i < 3; ++i) list.emplace_back(Problem{.m = 64, .n = 64 + 64 * i, .k = 64, .types = kF32});
    TuningRun run(
        engine, [&](int gpu) { return std::make_unique<FakeMeasurer>(gpus, gpu); }, how, observer);
    expect_thrown(ErrorCode::interrupted, {"a callback threw: thrown"}, [&] { run.run(list); });
  }
  warnings_.take();
}

}  // namespace
}  // namespace hotgemm::standin
