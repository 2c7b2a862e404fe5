#include "worker/child_process.hpp"

#include <hotgemm/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <string>
#include <thread>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Io = ChildProcess::Io;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string read_text(ChildProcess& child, std::size_t count) {
  std::string text(count, '?');
  EXPECT_EQ(child.read_all(std::as_writable_bytes(std::span(text)), Clock::now() + 20s), Io::done);
  return text;
}

ChildProcess::Deadline soon() { return Clock::now() + 20s; }

TEST(ChildProcessTest, AnswersWhatItIsSent) {
  ChildProcess child("/bin/cat", {});
  EXPECT_EQ(child.write_all(bytes_of("words"), soon()), Io::done);
  EXPECT_EQ(read_text(child, 5), "words");
}

TEST(ChildProcessTest, GetsItsArgumentsAsTheyAre) {
  ChildProcess child("/bin/sh", {"-c", "printf '%s|' \"$@\"", "sh", "a b", "", "$c"});
  EXPECT_EQ(read_text(child, 8), "a b||$c|");
}

TEST(ChildProcessTest, SilenceEndsAtTheDeadline) {
  ChildProcess child("/bin/cat", {});
  std::byte answer{};
  const auto start = Clock::now();
  EXPECT_EQ(child.read_all({&answer, 1}, start + 50ms), Io::timed_out);
  EXPECT_GE(Clock::now() - start, 50ms);
}

TEST(ChildProcessTest, WhatHasComeIsReadAfterTheDeadline) {
  ChildProcess child("/bin/cat", {});
  ASSERT_EQ(child.write_all(bytes_of("late"), soon()), Io::done);
  std::string text(4, '?');
  EXPECT_EQ(read_text(child, 4), "late");
  ASSERT_EQ(child.write_all(bytes_of("late"), soon()), Io::done);
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(child.read_all(std::as_writable_bytes(std::span(text)), Clock::now() - 1s), Io::done);
  EXPECT_EQ(text, "late");
}

TEST(ChildProcessTest, AChildThatReadsNothingDoesNotHoldTheWriter) {
  ChildProcess child("/bin/sleep", {"600"});
  const std::string much(std::size_t{8} << 20, 'x');
  EXPECT_EQ(child.write_all(bytes_of(much), Clock::now() + 50ms), Io::timed_out);
}

TEST(ChildProcessTest, ItsEndIsSeenAndIsNoSignal) {
  ChildProcess child("/bin/sh", {"-c", "exit 7"});
  std::byte answer{};
  EXPECT_EQ(child.read_all({&answer, 1}, soon()), Io::closed);
  const std::string much(std::size_t{1} << 20, 'x');
  EXPECT_EQ(child.write_all(bytes_of(much), soon()), Io::closed);  // SIGPIPE would have ended this process
  EXPECT_TRUE(child.kill());
  EXPECT_EQ(child.how_it_ended(), "exit status 7");
}

TEST(ChildProcessTest, SaysWhichSignalEndedIt) {
  ChildProcess child("/bin/sh", {"-c", "kill -SEGV $$"});
  std::byte answer{};
  EXPECT_EQ(child.read_all({&answer, 1}, soon()), Io::closed);
  EXPECT_TRUE(child.kill());
  EXPECT_EQ(child.how_it_ended(), "signal 11 (Segmentation fault)");
}

TEST(ChildProcessTest, AStatusThatTheProgramTookIsUnknown) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  ChildProcess child("/bin/sh", {"-c", "kill -SEGV $$"});
  std::byte answer{};
  EXPECT_EQ(child.read_all({&answer, 1}, soon()), Io::closed);
  EXPECT_TRUE(child.kill());
  EXPECT_THAT(child.how_it_ended(), testing::StartsWith("an unknown status"));
  ::signal(SIGCHLD, before);
}

TEST(ChildProcessTest, IsKilledWithItsObject) {
  int pid = 0;
  {
    const ChildProcess child("/bin/sleep", {"600"});
    pid = child.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(ChildProcessTest, StartsWithNoSignalBlockedOrIgnored) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const auto ignored = ::signal(SIGPIPE, SIG_IGN);
  ChildProcess child("/bin/sh", {"-c", "kill -PIPE $$; exit 0"});
  ::signal(SIGPIPE, ignored);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::byte answer{};
  EXPECT_EQ(child.read_all({&answer, 1}, soon()), Io::closed);
  EXPECT_TRUE(child.kill());
  EXPECT_THAT(child.how_it_ended(), testing::StartsWith("signal 13"));
}

std::string open_files_of_a_child() {
  ChildProcess child("/bin/sh", {"-c", "echo $(ls /proc/self/fd | wc -l)"});
  return read_text(child, 1);
}

TEST(ChildProcessTest, HasNothingOfItsSiblings) {
  const std::string alone = open_files_of_a_child();
  const ChildProcess sibling("/bin/cat", {});
  EXPECT_EQ(open_files_of_a_child(), alone);
}

TEST(ChildProcessTest, AProgramThatIsNotThereIsAnError) {
  try {
    const ChildProcess child("/no/such/program", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io_error);
    EXPECT_THAT(error.what(), testing::HasSubstr("/no/such/program: No such file"));
  }
}

}  // namespace
}  // namespace hotgemm
