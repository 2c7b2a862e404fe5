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
    EXPECT_TRUE(take_attempts_of_the_dead(options_).empty()) << "this process lives";
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
  const std::vector<RejectionRecord> attempts = take_attempts_of_the_dead(options_);
  ASSERT_EQ(attempts.size(), 1u) << "only the last ones count";
  EXPECT_EQ(attempts[0].identity, attempt('b').identity);
  EXPECT_EQ(attempts[0].reason, attempt('b').reason);
  EXPECT_TRUE(take_attempts_of_the_dead(options_).empty()) << "taken once";
  EXPECT_EQ(files(), 0u);
}

TEST_F(AttemptMarkTest, WithoutAPlaceIsAnError) {
  options_.writable = false;
  AttemptMark mark(options_);
  EXPECT_THROW(mark.set(std::vector{attempt('a')}), Error);
  EXPECT_TRUE(take_attempts_of_the_dead(options_).empty());
}

}  // namespace
}  // namespace hotgemm
