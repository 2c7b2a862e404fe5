// Ranges of a profiler, in programs of their own: a process loads its profiler once.

#include "standin/runtime_fixture.hpp"

#include <sys/wait.h>

#include <fstream>
#include <sstream>
#include <vector>

namespace hotgemm::standin {
namespace {

class ProfilerTest : public RuntimeTest {
 protected:
  /// The lines that the profiler `library` heard from guest_program, which must end well.
  std::vector<std::string> heard(const std::string& library) {
    const std::filesystem::path log = cache_.path() / "ranges";
    const pid_t guest = ::fork();
    if (guest == 0) {
      ::setenv("NVTX_INJECTION64_PATH", library.c_str(), 1);
      ::setenv("HOTGEMM_FAKE_PROFILER_LOG", log.c_str(), 1);
      ::setenv("HOTGEMM_STANDIN_SCRIPT", "hotgemm_=speed:1000", 1);
      const std::string program = std::string(HOTGEMM_TEST_BIN_DIR) + "/guest_program";
      const std::string problem = to_string(small_case().described());
      ::execl(program.c_str(), program.c_str(), cache_.path().c_str(), problem.c_str(), "2", "1048576", nullptr);
      ::_exit(127);
    }
    int status = -1;
    ::waitpid(guest, &status, 0);
    EXPECT_EQ(status, 0);
    std::ifstream file(log);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(ProfilerTest, SeesPlanningCompilingAndTuning) {
  ::setenv("HOTGEMM_CACHE_PATH", "", 1);  // so that kernels are compiled
  const std::vector<std::string> lines = heard(HOTGEMM_FAKE_PROFILER);
  std::map<std::string, std::vector<std::string>> open;  // by thread
  std::map<std::string, std::string> parents;            // of ranges, by their first word
  for (const std::string& line : lines) {
    const std::string thread = line.substr(0, line.find(' ')), text = line.substr(line.find(' ') + 1);
    std::vector<std::string>& stack = open[thread];
    if (text == "end") {
      ASSERT_FALSE(stack.empty());
      stack.pop_back();
      continue;
    }
    const std::string name = text.substr(0, text.find(' ', std::string("hotgemm: ").size()));
    parents[name] = stack.empty() ? "" : stack.back();
    stack.push_back(text);
  }
  const std::string problem = to_string(small_case().described());
  EXPECT_EQ(parents.at("hotgemm: plan"), "");
  EXPECT_EQ(parents.at("hotgemm: tune"), "hotgemm: plan " + problem);
  EXPECT_EQ(parents.at("hotgemm: measure"), "hotgemm: tune " + problem);
  EXPECT_TRUE(parents.contains("hotgemm: compile"));
  for (const auto& [thread, stack] : open) EXPECT_THAT(stack, testing::IsEmpty()) << "ranges that did not end";
}

TEST_F(ProfilerTest, OneThatCannotBeLoadedIsNone) {
  EXPECT_THAT(heard("/no/such/profiler.so"), testing::IsEmpty());
  EXPECT_THAT(heard(HOTGEMM_FAKE_CUBLAS), testing::IsEmpty()) << "it has no entry for NVTX";
}

}  // namespace
}  // namespace hotgemm::standin
