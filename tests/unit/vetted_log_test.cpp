#include "records/vetted_log.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

class VettedLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotgemm-vetted-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    options_.user_directory = pattern;
    options_.warn = [this](const std::string& text) { warnings_.push_back(text); };
  }
  void TearDown() override { std::filesystem::remove_all(options_.user_directory); }

  static VettedKernel kernel(char digit, const std::string& driver = "13.0 580.65") {
    return {std::string(64, digit), "NVIDIA H200", driver};
  }

  LayerOptions options_;
  std::vector<std::string> warnings_;
};

TEST_F(VettedLogTest, ALineIsCompactAndReadsBack) {
  const std::string line = to_line(kernel('a'), 1'800'000'000);
  EXPECT_EQ(parse_vetted(line), kernel('a'));
  EXPECT_LT(line.size(), 256u);
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::string damaged = line;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(parse_vetted(damaged), std::nullopt) << damaged;
    EXPECT_EQ(parse_vetted(line.substr(0, i)), std::nullopt);
  }
}

TEST_F(VettedLogTest, AnotherProcessKnows) {
  VettedLog first(options_);
  first.add(kernel('a'));
  first.add(kernel('a'));
  first.add(kernel('b'));
  EXPECT_TRUE(first.knows(kernel('a')));
  const VettedLog second(options_);
  EXPECT_TRUE(second.knows(kernel('a')));
  EXPECT_TRUE(second.knows(kernel('b')));
  EXPECT_FALSE(second.knows(kernel('c')));
  EXPECT_FALSE(second.knows(kernel('a', "13.1 590.1"))) << "another driver";
  std::size_t lines = 0;
  for (const auto& file : std::filesystem::directory_iterator(options_.user_directory / "v1" / kVettedKernels)) {
    std::ifstream text(file.path());
    for (std::string line; std::getline(text, line);) ++lines;
  }
  EXPECT_EQ(lines, 2u) << "a kernel is written once";
}

TEST_F(VettedLogTest, KernelsAreCountedForAGpuAndADriver) {
  VettedLog log(options_);
  EXPECT_EQ(log.count(kernel('a').gpu, kernel('a').driver), 0u);
  for (const char digit : {'a', 'b', 'a'}) log.add(kernel(digit));
  EXPECT_EQ(log.count(kernel('a').gpu, kernel('a').driver), 2u);
  EXPECT_EQ(log.count("another GPU", kernel('a').driver), 0u);
  EXPECT_EQ(log.count(kernel('a').gpu, "0.0"), 0u);
}

TEST_F(VettedLogTest, WithoutAPlaceTheyStayInMemory) {
  options_.writable = false;
  VettedLog log(options_);
  log.add(kernel('a'));
  EXPECT_TRUE(log.knows(kernel('a')));
  EXPECT_FALSE(VettedLog(options_).knows(kernel('a')));
  EXPECT_TRUE(warnings_.empty());
  options_.writable = true;
  std::ofstream(options_.user_directory / "v1") << "in the way";
  VettedLog blocked(options_);
  blocked.add(kernel('a'));
  blocked.add(kernel('b'));
  EXPECT_TRUE(blocked.knows(kernel('b')));
  EXPECT_FALSE(warnings_.empty());
}

TEST_F(VettedLogTest, AnUnknownGpuOrDriverVetsNothing) {
  VettedLog log(options_);
  log.add(kernel('a', ""));
  EXPECT_FALSE(log.knows(kernel('a', "")));
}

}  // namespace
}  // namespace hotgemm
