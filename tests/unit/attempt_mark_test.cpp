#include "records/attempt_mark.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

namespace fs = std::filesystem;

class AttemptMarkTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hotgemm-attempt-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    options_.user_directory = pattern;
    options_.warn = [](const std::string& text) { ADD_FAILURE() << text; };
  }
  void TearDown() override { fs::remove_all(options_.user_directory); }

  static RejectionRecord attempt(char digit) {
    return {.identity = std::string(64, digit),
            .config = "simt_m32",
            .problem = "8 16 8 nn f16 " + std::string(300, 'x'),
            .stage = "check",
            .reason = "ended its process: 1 ended while it ran this kernel",
            .environment = {.gpu = "NVIDIA H200", .arch = "sm_90a", .sm_count = 132, .driver = "1", .toolchain = "t"}};
  }
  std::vector<RejectionRecord> taken() const {
    std::vector<RejectionRecord> all;
    take_attempts_of_the_dead(options_, [&](std::vector<RejectionRecord> attempts) {
      all.insert(all.end(), attempts.begin(), attempts.end());
    });
    return all;
  }
  /// Leaves the mark of a process that ended while it attempted `attempts`.
  void end_a_process_in(const std::vector<RejectionRecord>& attempts) const {
    const pid_t child = ::fork();
    if (child == 0) {
      AttemptMark mark(options_);
      mark.set(attempts);
      ::_exit(0);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
  std::size_t files() const {
    std::error_code none;
    const fs::path directory = options_.user_directory / "v1" / kAttempts;
    return fs::exists(directory) ? static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {})) : 0;
  }

  LayerOptions options_;
};

TEST_F(AttemptMarkTest, GoesWithAProcessThatSurvives) {
  {
    AttemptMark mark(options_);
    mark.set({});
    EXPECT_EQ(files(), 0u) << "nothing was attempted";
    mark.set(std::vector{attempt('a'), attempt('b')});
    EXPECT_EQ(files(), 1u);
    EXPECT_TRUE(taken().empty()) << "this process lives";
    mark.set({});
    mark.set(std::vector{attempt('c')});
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(AttemptMarkTest, StaysOfAProcessThatDoesNot) {
  const pid_t child = ::fork();
  if (child == 0) {
    AttemptMark mark(options_);
    mark.set(std::vector{attempt('a')});
    mark.set(std::vector{attempt('b')});
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::vector<RejectionRecord> attempts = taken();
  ASSERT_EQ(attempts.size(), 1u) << "only the last ones count";
  EXPECT_EQ(attempts[0].identity, attempt('b').identity);
  EXPECT_EQ(attempts[0].reason, attempt('b').reason);
  EXPECT_TRUE(taken().empty()) << "taken once";
  EXPECT_EQ(files(), 0u);
}

TEST_F(AttemptMarkTest, StaysUntilItsAttemptsAreTaken) {
  end_a_process_in({attempt('a')});
  const auto fail = [](const std::vector<RejectionRecord>&) { throw Error(ErrorCode::io_error, "the disk is full"); };
  EXPECT_THROW(take_attempts_of_the_dead(options_, fail), Error);
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(taken().size(), 1u);
  EXPECT_EQ(files(), 0u);
}

TEST_F(AttemptMarkTest, IsNotKeptByAChild) {
  int begun[2], ended[2];
  ASSERT_EQ(::pipe(begun), 0);
  ASSERT_EQ(::pipe(ended), 0);
  char byte = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    AttemptMark mark(options_);
    mark.set(std::vector{attempt('a')});
    if (::fork() == 0) {
      ::close(ended[1]);
      const bool is_told = ::write(begun[1], &byte, 1) == 1;
      ::_exit(is_told && ::read(ended[0], &byte, 1) == 0 ? 0 : 1);  // after the test closes its end
    }
    ::_exit(::read(begun[0], &byte, 1) == 1 ? 0 : 1);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(taken().size(), 1u);
  for (const int end : {begun[0], begun[1], ended[0], ended[1]}) ::close(end);
}

TEST_F(AttemptMarkTest, WithoutAPlaceIsAnError) {
  options_.writable = false;
  AttemptMark mark(options_);
  EXPECT_THROW(mark.set(std::vector{attempt('a')}), Error);
  EXPECT_TRUE(taken().empty());
}

}  // namespace
}  // namespace hotgemm
