// soak_program on the stand-in, for a moment, and that it fails where it must.

#include "standin/runtime_fixture.hpp"

#include <sys/wait.h>

#include <cstdio>

namespace hotgemm::standin {
namespace {

class SoakTest : public RuntimeTest {
 protected:
  struct Ended {
    int status = -1;
    std::string output;
  };

  /// Runs the program with few small shapes.
  Ended soak(const std::string& options) const {
    ::setenv("HOTGEMM_CACHE_DIR", cache_.path().c_str(), 1);
    const std::string command =
        std::string(HOTGEMM_TEST_BIN_DIR) + "/soak_program --threads 3 --shapes 3 --max-size 24 " + options + " 2>&1";
    Ended ended;
    std::FILE* output = ::popen(command.c_str(), "r");
    if (output == nullptr) return ended;
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) ended.output += static_cast<char>(c);
    const int status = ::pclose(output);
    if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
    return ended;
  }
  void TearDown() override {
    ::unsetenv("HOTGEMM_CACHE_DIR");
    ::unsetenv("HOTGEMM_STANDIN_DEVICES");
    ::unsetenv("HOTGEMM_STANDIN_SCRIPT");
    RuntimeTest::TearDown();
  }
};

TEST_F(SoakTest, EndsWellWithGraphsOnAllGpus) {
  ::setenv("HOTGEMM_STANDIN_DEVICES", "2", 1);
  const Ended ended = soak("--calls 4000 --gpus all --max-wait-ms 20000 --max-growth-mib 1000");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, testing::HasSubstr("wrong, failed    0, 0"));
  EXPECT_THAT(ended.output, testing::Not(testing::HasSubstr(" 0 graphs")));
  EXPECT_THAT(ended.output, testing::HasSubstr("on 2 GPUs"));
}

TEST_F(SoakTest, FailsIfAResultIsWrong) {
  ::setenv("HOTGEMM_STANDIN_SCRIPT", "hotgemm_=wrong", 1);
  const Ended ended = soak("--calls 100 --max-wait-ms 20000 --max-growth-mib 1000");
  EXPECT_EQ(ended.status, 1) << ended.output;
  EXPECT_THAT(ended.output, testing::HasSubstr("there are wrong results"));
}

TEST_F(SoakTest, FailsIfACallTakesTooLongOrMemoryGrows) {
  const Ended ended = soak("--calls 100 --max-wait-ms 0 --max-growth-mib -1000000");
  EXPECT_EQ(ended.status, 1) << ended.output;
  EXPECT_THAT(ended.output, testing::HasSubstr("a call took longer than"));
  EXPECT_THAT(ended.output, testing::HasSubstr("memory grew"));
}

}  // namespace
}  // namespace hotgemm::standin
