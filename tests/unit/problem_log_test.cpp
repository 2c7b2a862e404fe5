#include "records/problem_log.hpp"

#include "config/shapes.hpp"
#include "records/problem_fields.hpp"
#include "unit/database_fixture.hpp"

#include "base/log.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;

/// The calls by class, as a tuning run reads them.
std::map<std::string, std::int64_t> logged_calls(const std::filesystem::path& directory) {
  std::map<std::string, std::int64_t> calls;
  for (const Shape& shape : load_shapes(directory)) calls[to_string(class_of(shape.workload))] += shape.count;
  return calls;
}

std::size_t logged_lines(const std::filesystem::path& directory) { return load_shapes(directory).size(); }

template <class Condition>
bool comes_true(Condition&& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

const std::string kLogged = "64 64 64 nn f16 align=16", kOther = "1 4096 512 nt bf16 align=16";

TEST(ProblemLogTest, AClassHasALineAtOnceAndItsCallsAtTheEnd) {
  const TemporaryDirectory directory;
  const std::filesystem::path log_directory = directory.path() / "a" / "b";
  {
    ProblemLog log({.directory = log_directory, .interval = 1h});
    EXPECT_FALSE(std::filesystem::exists(log_directory)) << "a program without problems has no file";
    log.add(parse_workload("60 64 64 nn f16"));
    EXPECT_EQ(to_string(load_shapes(log_directory).at(0).workload), "60 64 64 nn f16 align=16");
    log.add(parse_workload("61 64 64 nn f16"));  // of the same class
    log.add(parse_workload(kOther));
    EXPECT_EQ(logged_calls(log_directory), (std::map<std::string, std::int64_t>{{kLogged, 1}, {kOther, 1}}));
  }
  EXPECT_EQ(logged_calls(log_directory), (std::map<std::string, std::int64_t>{{kLogged, 2}, {kOther, 1}}));
  EXPECT_EQ(files_in(log_directory).size(), 1u);
  EXPECT_EQ(read_file(files_in(log_directory)[0]).rfind("# Problems of ", 0), 0u);
}

TEST(ProblemLogTest, CountsAreWrittenAtIntervalsInFewLines) {
  const TemporaryDirectory directory;
  ProblemLog log({.directory = directory.path(), .interval = 1ms});
  const Workload problem = parse_workload(kLogged);
  for (int i = 0; i < 100'000; ++i) log.add(problem);
  // Less than an eighth is not written.
  EXPECT_TRUE(comes_true([&] { return logged_calls(directory.path())[kLogged] >= 100'000 * 8 / 9; }));
  EXPECT_LE(logged_lines(directory.path()), 120u);  // 1.125^120 is above a million
  const auto others = [&] { return logged_calls(directory.path())[kOther]; };
  for (int i = 0; i < 16; ++i) log.add(parse_workload(kOther));
  EXPECT_TRUE(comes_true([&] { return others() == 16; }));
  log.add(parse_workload(kOther));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(others(), 16) << "one call is less than an eighth";
  log.add(parse_workload(kOther));
  EXPECT_TRUE(comes_true([&] { return others() == 18; }));
  log.stop();
  EXPECT_EQ(logged_calls(directory.path())[kLogged], 100'000);
}

TEST(ProblemLogTest, ThreadsLoseNoCall) {
  const TemporaryDirectory directory;
  constexpr int kThreads = 4, kClasses = 1500;  // more than the first table holds
  {
    ProblemLog log({.directory = directory.path(), .interval = 1ms});
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int round = 0; round < 3; ++round) {
          for (int n = 1; n <= kClasses; ++n) log.add(Workload(Problem{.m = 8, .n = n, .k = 8}));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const auto calls = logged_calls(directory.path());
  EXPECT_EQ(calls.size(), static_cast<std::size_t>(kClasses));
  for (const auto& [text, count] : calls) EXPECT_EQ(count, 3 * kThreads) << text;
}

TEST(ProblemLogTest, AKilledProcessLosesNoClass) {
  const TemporaryDirectory directory;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ProblemLog log({.directory = directory.path(), .interval = 1h});
    for (int n = 8; n <= 800; n += 8) log.add(Workload(Problem{.m = 8, .n = n, .k = 8}));
    [[maybe_unused]] const ssize_t written = ::write(ends[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char ready = 0;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(logged_calls(directory.path()).size(), 100u);
}

TEST(ProblemLogTest, TheFilesOfProcessesAddUp) {
  const TemporaryDirectory directory;
  for (int process = 0; process < 3; ++process) {
    ProblemLog log({.directory = directory.path()});
    for (int i = 0; i < 5; ++i) log.add(parse_workload(kLogged));
  }
  EXPECT_EQ(files_in(directory.path()).size(), 3u);
  EXPECT_EQ(logged_calls(directory.path())[kLogged], 15);
}

TEST(ProblemLogTest, ADirectoryThatCannotBeMadeIsOneWarning) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "file", "");
  std::vector<std::string> warnings;
  set_logger_level(LogLevel::warn);
  set_logger_sink([&](LogLevel, std::string_view message) { warnings.emplace_back(message); });
  {
    ProblemLog log({.directory = directory.path() / "file", .interval = 1h});
    log.add(parse_workload(kLogged));
    log.add(parse_workload(kOther));
    log.add(parse_workload(kOther));
  }
  set_logger_sink({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("problems are no longer logged"), std::string::npos) << warnings[0];
}

TEST(ProblemLogTest, BeyondItsLimitItCountsNoNewClass) {
  const TemporaryDirectory directory;
  set_logger_level(LogLevel::error);
  {
    ProblemLog log({.directory = directory.path(), .interval = 1h, .max_classes = 2});
    for (int n = 8; n <= 32; n += 8) log.add(Workload(Problem{.m = 8, .n = n, .k = 8}));
    log.add(Workload(Problem{.m = 8, .n = 8, .k = 8}));
  }
  set_logger_level(LogLevel::warn);
  const auto calls = logged_calls(directory.path());
  EXPECT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls.at("8 8 8 nn f16 align=16"), 2);
}

}  // namespace
}  // namespace hotgemm
