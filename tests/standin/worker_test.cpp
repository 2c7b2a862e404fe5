#include "context_impl.hpp"
#include "standin/fake_trials.hpp"
#include "standin/runtime_fixture.hpp"

#include "tune/device_measurer.hpp"
#include "worker/child_process.hpp"
#include "worker/isolated_measurer.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <thread>

namespace hotgemm::standin {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Measuring in a worker that has its own stand-in.
class WorkerTest : public RuntimeTest {
 protected:
  void TearDown() override {
    ::unsetenv("HOTGEMM_STANDIN_SCRIPT");
    ::unsetenv("HOTGEMM_STANDIN_INIT");
    RuntimeTest::TearDown();
  }

  static void set_script(const std::string& script) { ::setenv("HOTGEMM_STANDIN_SCRIPT", script.c_str(), 1); }
  /// Makes every kernel take 1000 µs and appends `script`.
  static void set_slow_script(const std::string& script) { set_script("hotgemm_=speed:1000;" + script); }
  std::string rule(std::size_t trial, const std::string& what) const {
    return symbol_part(trials_.at(trial).config) + "=" + what + ";";
  }
  WorkerOptions worker_options(double hang_timeout_s = 60) const {
    return {.program = HOTGEMM_COMMAND, .cache_directory = cache_.path().string(), .hang_timeout_s = hang_timeout_s};
  }
  static MeasureOptions measure_options() { return {.scratch_bytes = 1 << 20}; }
  static RaceOptions race_options(int rounds = 3) { return {.rounds = rounds}; }
  void begin(Measurer& measurer) const { measurer.begin(problem_, measure_options()); }

  /// The reason of each verdict; "" for sound trials.
  static std::vector<std::string> reasons(const std::vector<Verdict>& verdicts) {
    std::vector<std::string> all;
    for (const Verdict& verdict : verdicts) all.push_back(verdict.reason);
    return all;
  }
  static void expect_times(const RaceResult& result, std::size_t row, double us) {
    EXPECT_EQ(result.failures.at(row), "");
    ASSERT_EQ(result.us.at(row).size(), static_cast<std::size_t>(result.rounds_done));
    for (const double sample : result.us[row]) EXPECT_NEAR(sample, us, 1e-3 * us);
  }

  Workload problem_{Problem{.m = 8, .n = 16, .k = 8}};
  std::vector<Trial> trials_ = fake_trials(problem_, 9);
};

TEST_F(WorkerTest, AgreesWithThisProcess) {
  std::string script;
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    script += rule(i, "speed:" + std::to_string(300 + 10 * i));
    standin().set_speed(symbol_part(trials_[i].config), 300 + 10 * static_cast<double>(i));
  }
  script += rule(2, "wrong");
  standin().corrupt(symbol_part(trials_[2].config), Corruption::wrong);
  set_script(script);
  IsolatedMeasurer worker(worker_options());
  {
    DeviceMeasurer here(impl_of(context()).current());
    EXPECT_EQ(worker.gpu().info, here.gpu().info);
    EXPECT_EQ(worker.gpu().environment.gpu, here.gpu().environment.gpu);
    EXPECT_EQ(worker.gpu().environment.driver, here.gpu().environment.driver);
    begin(here);
    begin(worker);
    EXPECT_EQ(reasons(worker.check(trials_, 7)), reasons(here.check(trials_, 7)));
    const std::span sound = std::span(trials_).first(2);
    for (const TimingMode mode : {TimingMode::eager, TimingMode::graph}) {
      RaceOptions options = race_options();
      options.mode = mode;
      const RaceResult there = worker.race(sound, options, true);
      const RaceResult expected = here.race(sound, options, true);
      EXPECT_EQ(there.rounds_done, 3);
      EXPECT_EQ(there.failures, expected.failures);
      ASSERT_EQ(there.us.size(), expected.us.size());
      for (std::size_t i = 0; i < sound.size(); ++i) expect_times(there, i, 300 + 10 * static_cast<double>(i));
    }
  }
  worker.end();
  EXPECT_EQ(worker.restarts(), 0);
}

TEST_F(WorkerTest, EachTrialCostsItsOwnRow) {
  set_slow_script(rule(0, "fault") + rule(1, "hang") + rule(2, "crash") + rule(3, "wrong") + rule(4, "nan") +
                  rule(5, "nothing") + rule(6, "stray") + rule(7, "speed:100000") + rule(8, "speed:500"));
  IsolatedMeasurer worker(worker_options(3));
  begin(worker);
  const auto verdicts = worker.check(trials_, 1);
  using testing::HasSubstr;
  const auto wrong = testing::AllOf(testing::StartsWith("wrong: "), HasSubstr("of 128 elements"));
  EXPECT_THAT(reasons(verdicts),
              testing::ElementsAre(
                  testing::AllOf(testing::StartsWith("faulted: "), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)")),
                  "hung: no answer within 3.0 s", testing::StartsWith("faulted: the worker ended with "), wrong, wrong,
                  wrong, testing::StartsWith("stray write: "), "", ""));
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(verdicts[i].stage, Stage::check);
  EXPECT_EQ(worker.restarts(), 4);  // a crash is blamed on its trial the second time
  RaceOptions options = race_options();
  options.abandon_ratio = 2;
  const RaceResult result = worker.race(std::span(trials_).subspan(7), options, false);
  EXPECT_TRUE(std::isnan(result.us.at(0).at(0)));
  EXPECT_EQ(result.failures.at(0), "");
  expect_times(result, 1, 500);
}

TEST_F(WorkerTest, AHangCostsItsDeadline) {
  set_slow_script(rule(0, "hang") + rule(2, "hang"));
  const auto seconds_of_a_start = [this] {
    const auto start = Clock::now();
    IsolatedMeasurer{worker_options()}.begin(problem_, measure_options());
    return seconds_since(start);
  };
  IsolatedMeasurer worker(worker_options(2));
  begin(worker);
  double start_s = seconds_of_a_start();
  const auto start = Clock::now();
  const auto verdicts = worker.check(trials_, 1);
  const double check_s = seconds_since(start);
  start_s = std::max(start_s, seconds_of_a_start());  // other work on the machine comes and goes
  EXPECT_EQ(std::ranges::count(reasons(verdicts), ""), 7);
  EXPECT_GE(check_s, 2 * 2);
  EXPECT_LT(check_s, 2 * (2 + 4 * start_s) + 1);
}

TEST_F(WorkerTest, AFaultAmongSeveralIsFound) {
  for (const char* fate : {"fault@4", "crash@4", "hang@4"}) {
    SCOPED_TRACE(fate);
    set_slow_script(rule(1, fate) + rule(2, "speed:500"));
    IsolatedMeasurer worker(worker_options(3));
    begin(worker);
    RaceOptions options = race_options();
    options.deadline = Clock::now() + 2s;
    const RaceResult result = worker.race(std::span(trials_).first(3), options, false);
    expect_times(result, 0, 1000);
    expect_times(result, 2, 500);
    EXPECT_EQ(result.rounds_done, 3);  // the time of the dead workers is not taken from the others
    EXPECT_THAT(result.failures.at(1), testing::StartsWith(fate[0] == 'h' ? "hung: " : "faulted: "));
    EXPECT_EQ(worker.restarts(), 2);  // one after the round, and one after the guilty trial alone
    EXPECT_EQ(reasons(worker.check(std::span(trials_).subspan(2, 1), 1)).front(), "");
  }
}

TEST_F(WorkerTest, AFaultInAStepOfOneIsThatOnes) {
  set_slow_script(rule(1, "fault@2"));
  IsolatedMeasurer worker(worker_options());
  begin(worker);
  const RaceResult result = worker.race(std::span(trials_).first(3), race_options(), false);
  expect_times(result, 0, 1000);
  expect_times(result, 2, 1000);
  EXPECT_THAT(result.failures.at(1), testing::HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(worker.restarts(), 1);
}

TEST_F(WorkerTest, AllMayBeGuilty) {
  set_script("hotgemm_wgmma=fault;hotgemm_mma=fault;hotgemm_simt=fault");
  IsolatedMeasurer worker(worker_options());
  begin(worker);
  for (const std::string& reason : reasons(worker.check(trials_, 1))) {
    EXPECT_THAT(reason, testing::StartsWith("faulted: "));
  }
  const RaceResult result = worker.race(trials_, race_options(), false);
  EXPECT_EQ(result.rounds_done, 0);
  for (const std::string& failure : result.failures) EXPECT_THAT(failure, testing::StartsWith("faulted: "));
}

TEST_F(WorkerTest, WhatIsNoTrialsFaultIsThrown) {
  ::setenv("HOTGEMM_STANDIN_INIT", "100", 1);
  expect_thrown(ErrorCode::no_device, {"CUDA_ERROR_NO_DEVICE"}, [&] { IsolatedMeasurer{worker_options()}; });
  ::setenv("HOTGEMM_STANDIN_INIT", "719", 1);
  expect_thrown(ErrorCode::context_lost, {"2 times", "CUDA_ERROR_LAUNCH_FAILED"},
                [&] { IsolatedMeasurer{worker_options()}; });
  ::unsetenv("HOTGEMM_STANDIN_INIT");
  WorkerOptions options = worker_options();
  options.program = "/no/such/hotgemm";
  expect_thrown(ErrorCode::io_error, {"/no/such/hotgemm"}, [&] { IsolatedMeasurer{options}; });
  options = worker_options();
  options.device = 5;
  expect_thrown(ErrorCode::no_device, {"GPU 5"}, [&] { IsolatedMeasurer{options}; });
}

TEST_F(WorkerTest, GoesOnAfterAProblemThatDoesNotFit) {
  set_slow_script("");
  IsolatedMeasurer worker(worker_options());
  const Workload large{Problem{.m = 4096, .n = 4096, .k = 4096}};
  expect_thrown(ErrorCode::out_of_memory, {}, [&] { worker.begin(large, measure_options()); });
  begin(worker);
  EXPECT_EQ(reasons(worker.check(std::span(trials_).first(1), 1)).front(), "");
  EXPECT_EQ(worker.restarts(), 0);
}

TEST_F(WorkerTest, RefusesToMeasureBesideOthers) {
  set_script("mps=1");
  expect_thrown(ErrorCode::not_supported, {"GPU 0 is shared through MPS", "--allow-mps"},
                [&] { IsolatedMeasurer{worker_options()}; });
  WorkerOptions options = worker_options();
  options.allow_mps = true;
  IsolatedMeasurer worker(options);
  begin(worker);
  EXPECT_EQ(reasons(worker.check(std::span(trials_).first(1), 1)).front(), "");
}

TEST_F(WorkerTest, AFaultBesideOthersIsBelievedTheSecondTime) {
  set_slow_script("mps=1;" + rule(0, "fault"));
  WorkerOptions options = worker_options();
  options.allow_mps = true;
  IsolatedMeasurer worker(options);
  begin(worker);
  EXPECT_THAT(reasons(worker.check(std::span(trials_).first(1), 1)).front(), testing::StartsWith("faulted: "));
  EXPECT_EQ(worker.restarts(), 1);  // started for the second time
}

TEST_F(WorkerTest, IsNotStartedByHand) {
  const std::string command = std::string(HOTGEMM_COMMAND) + " worker < /dev/null 2> /dev/null";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

/// Kills the worker at one time, and the next worker at another time.
class Killer {
 public:
  Killer(const IsolatedMeasurer& worker, std::chrono::microseconds first, std::chrono::microseconds second)
      : thread_([&worker, first, second] {
          for (const auto delay : {first, second}) {
            std::this_thread::sleep_for(delay);
            const int pid = worker.pid();
            if (pid > 0) ::kill(pid, SIGKILL);
          }
        }) {}
  ~Killer() { thread_.join(); }
  Killer(const Killer&) = delete;
  Killer& operator=(const Killer&) = delete;

 private:
  std::thread thread_;
};

TEST_F(WorkerTest, AKilledWorkerChangesNoResult) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kRuns = 50;  // workers start seven times as slowly here, and dev kills at all 150 moments
#else
  constexpr int kRuns = 150;
#endif
  set_slow_script(rule(0, "speed:500") + rule(1, "wrong") + rule(2, "nan"));
  auto start = Clock::now();
  IsolatedMeasurer worker(worker_options());
  begin(worker);
  const double start_s = seconds_since(start);
  const std::span four = std::span(trials_).first(4);
  const auto run = [&] {
    const auto found = reasons(worker.check(four, 1));
    EXPECT_EQ(found[0], "");
    EXPECT_THAT(found[1], testing::StartsWith("wrong: "));
    EXPECT_THAT(found[2], testing::StartsWith("wrong: "));
    EXPECT_EQ(found[3], "");
    const std::vector<Trial> sound{four[0], four[3]};
    const RaceResult result = worker.race(sound, race_options(), false);
    EXPECT_EQ(result.rounds_done, 3);
    expect_times(result, 0, 500);
    expect_times(result, 1, 1000);
  };
  run();
  start = Clock::now();
  run();
  std::uniform_real_distribution<double> delay_us(0, 1e6 * (start_s + seconds_since(start)));
  std::mt19937 random(20);
  const auto delay = [&] { return std::chrono::microseconds(static_cast<int>(delay_us(random))); };
  for (int i = 0; i < kRuns; ++i) {
    const Killer killer(worker, delay(), delay());
    run();
    if (i % 4 == 0) begin(worker);
  }
  EXPECT_GE(worker.restarts(), kRuns);  // at least one of the two kills hit a worker and was noticed
}

/// The processes with `text` among their arguments.
std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::ostringstream arguments;
    arguments << std::ifstream(entry.path() / "cmdline").rdbuf();  // reads nothing if the process has just ended
    if (pid > 0 && arguments.str().find(text) != std::string::npos) found.push_back(pid);
  }
  return found;
}

/// Waits until there are none left. Returns the number of processes that did not end by themselves.
std::size_t processes_left_with(const std::string& text) {
  const auto deadline = Clock::now() + 20s;
  std::vector<pid_t> left = processes_with(text);
  for (; !left.empty() && Clock::now() < deadline; left = processes_with(text)) std::this_thread::sleep_for(1ms);
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  return left.size();
}

/// A process that tunes in a worker and is killed.
class KilledParentTest : public WorkerTest {
 protected:
  void SetUp() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not every system's init reaps orphans
    WorkerTest::SetUp();
  }
  void TearDown() override {
    WorkerTest::TearDown();
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  std::string cache() const { return cache_.path().string(); }
  std::unique_ptr<ChildProcess> start_tuning(int first = 0) const {
    return std::make_unique<ChildProcess>(HOTGEMM_TEST_BIN_DIR "/tuning_program",
                                          std::vector{cache(), std::to_string(first)});
  }
  /// The output until `deadline`, at most `most` characters.
  static std::string read_until(ChildProcess& child, Clock::time_point deadline, std::size_t most) {
    std::string text;
    std::byte letter{};
    while (text.size() < most && child.read_all({&letter, 1}, deadline) == ChildProcess::Io::done) {
      text += static_cast<char>(letter);
    }
    return text;
  }
  /// Adds the complete lines; the last one may have been cut.
  static void add_lines(const std::string& text, std::set<std::string>& lines) {
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      lines.insert(text.substr(begin, end - begin));
    }
  }
};

TEST_F(KilledParentTest, LosesNothingThatItReportedAndLeavesNobodyBehind) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr unsigned kKills = 20;  // each kill takes ten times as long here
#else
  constexpr unsigned kKills = 110;
#endif
  const std::string winner = to_string(trials_[2].config);
  set_slow_script(rule(0, "speed:300") + rule(0, "wrong") + rule(2, "speed:500"));
  std::set<std::string> reported;
  std::mt19937 random(21);
  for (unsigned i = 0; i < kKills; ++i) {
    const auto child = start_tuning(static_cast<int>(4 * i));  // with new problems
    // Alternately: kill soon after the start, or later between problems.
    const bool is_early = i % 2 == 0;
    const auto life = is_early ? std::chrono::milliseconds(random() % 60) : 60s;
    const std::string text = read_until(*child, Clock::now() + life, is_early ? 10000 : random() % 170);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    ASSERT_TRUE(child->kill());
    EXPECT_EQ(child->how_it_ended(), "signal 9 (Killed)");
    add_lines(text, reported);
    EXPECT_EQ(processes_left_with(cache()), 0u);
  }
  std::set<std::string> recorded;
  for (const Found& found : records()) {
    EXPECT_EQ(to_string(found.record.config), winner);
    EXPECT_NEAR(found.record.timing.median_us, 500, 0.5);
    recorded.insert(to_string(found.record.problem) + "|" + to_string(found.record.config));
  }
  EXPECT_GE(reported.size(), kKills / 6) << "too few were killed in the middle of their work";
  for (const std::string& line : reported) EXPECT_TRUE(recorded.contains(line)) << line;
}

TEST_F(KilledParentTest, TakesAWorkerAlongThatHangs) {
  set_slow_script(rule(0, "hang"));
  const auto child = start_tuning();
  while (processes_with(cache()).size() < 2) std::this_thread::sleep_for(1ms);
  std::byte letter{};
  EXPECT_EQ(child->read_all({&letter, 1}, Clock::now() + 2s), ChildProcess::Io::timed_out);  // by now it hangs
  EXPECT_EQ(processes_with(cache()).size(), 2u);
  ASSERT_TRUE(child->kill());
  EXPECT_EQ(processes_left_with(cache()), 0u);
}

TEST_F(WorkerTest, UsesTheDiskAsItIsTold) {
  ::unsetenv("HOTGEMM_CACHE_PATH");  // so that it compiles the check kernels
  WorkerOptions how = worker_options();
  how.cache_directory = (cache_.path() / "of-the-worker").string();
  how.cache_mode = CacheMode::off;
  set_slow_script("");
  IsolatedMeasurer measurer(how);
  begin(measurer);
  EXPECT_FALSE(std::filesystem::exists(how.cache_directory));
}

}  // namespace
}  // namespace hotgemm::standin
