#include "base/log.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace hotgemm {
namespace {

/// Sends what is written to stderr nowhere, as long as it lives.
class NoStderr {
 public:
  NoStderr() : before_(::dup(STDERR_FILENO)) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDERR_FILENO);
    ::close(nowhere);
  }
  ~NoStderr() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  NoStderr(const NoStderr&) = delete;
  NoStderr& operator=(const NoStderr&) = delete;

 private:
  int before_;
};

/// Forks children that log while other threads of this process do, and returns how many of them ended.
int children_that_log(int count) {
  std::atomic<bool> is_over{false};
  const auto work = [&] {
    while (!is_over) log(LogLevel::error, "of the parent");
  };
  std::thread one(work), other(work);
  int ended = 0;
  for (bool goes_on = true; goes_on && ended < count; ended += goes_on ? 1 : 0) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      log(LogLevel::error, "of the child");
      set_logger_sink({});
      ::_exit(0);
    }
    int status = 0;
    goes_on = ::waitpid(child, &status, 0) == child && status == 0;
  }
  is_over = true;
  one.join();
  other.join();
  return ended;
}

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizers of GCC do not survive fork(): a child waits for locks of their allocators";
#endif
  }
  void TearDown() override { set_logger_sink({}); }
};

TEST_F(LogTest, AChildLogsAlthoughThreadsOfItsParentDid) {
  const NoStderr none;
  EXPECT_EQ(children_that_log(300), 300);
}

TEST_F(LogTest, AChildLogsToTheSinkOfItsParent) {
  set_logger_sink([](LogLevel, std::string_view) { std::this_thread::yield(); });
  EXPECT_EQ(children_that_log(300), 300);
}

}  // namespace
}  // namespace hotgemm
