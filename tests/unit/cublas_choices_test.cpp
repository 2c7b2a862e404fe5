#include "records/cublas_choices.hpp"

#include "unit/database_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hotgemm {
namespace {

class CublasChoicesTest : public testing::Test {
 protected:
  CublasChoices open(bool writable = true) {
    return CublasChoices(LayerOptions{.user_directory = directory_.path(),
                                      .writable = writable,
                                      .warn = [this](const std::string& text) { warnings_.push_back(text); }});
  }
  std::filesystem::path file() const {
    const auto files = files_in(directory_.path() / "v1" / "cublas");
    EXPECT_EQ(files.size(), 1u);
    return files.at(0);
  }

  TemporaryDirectory directory_;
  std::vector<std::string> warnings_;
  CublasChoiceKey key_{"13.1.0", "NVIDIA H200", "sustained eager", parse_workload("4096 4096 512 nt f16")};
  CublasChoice choice_{std::string(128, 'a'), "cublasLt[7] algo 66", true, true, 1767225600};
};

TEST_F(CublasChoicesTest, TheNextProcessFindsTheLastChoiceForItsKey) {
  {
    CublasChoices choices = open();
    EXPECT_FALSE(choices.find(key_));
    choices.keep(key_, {.time = 5});
    choices.keep(key_, choice_);
    EXPECT_EQ(choices.find(key_), choice_);
  }
  const CublasChoices choices = open();
  EXPECT_EQ(choices.find(key_), choice_);
  std::vector<CublasChoiceKey> others(4, key_);
  others[0].version = "13.2.0";
  others[1].gpu = "NVIDIA H100";
  others[2].measure = "rounds eager";
  others[3].problem.m = 4095;
  for (const CublasChoiceKey& other : others) EXPECT_FALSE(choices.find(other));
  EXPECT_THAT(warnings_, testing::IsEmpty());
  EXPECT_EQ(std::filesystem::status(file()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(CublasChoicesTest, WhatIsDamagedOrForeignCountsAsMissing) {
  open().keep(key_, choice_);
  const std::string line = read_file(file()), sealed = line.substr(0, line.size() - 1);
  std::string damaged = line;
  damaged.replace(damaged.find("aaaa"), 4, "aaab");
  const std::string of_another_key = edited(sealed, "H200", "H100") + "\n",
                    without_faster_side = edited(sealed, choice_.algorithm, "") + "\n";
  for (const std::string& text : {std::string(), std::string("garbage\n"), line.substr(0, line.size() / 2),
                                  of_another_key, without_faster_side, damaged, "\n" + line, std::string(5000, 'x')}) {
    write_file(file(), text);
    EXPECT_FALSE(open().find(key_)) << text;
  }
  CublasChoices choices = open();
  choices.keep(key_, choice_);
  EXPECT_EQ(read_file(file()), line) << "the choice that is made again replaces it";
}

TEST_F(CublasChoicesTest, WithoutADiskChoicesStayInMemory) {
  CublasChoices nowhere(LayerOptions{});
  nowhere.keep(key_, choice_);
  EXPECT_EQ(nowhere.find(key_), choice_);
  CublasChoices read_only = open(false);
  read_only.keep(key_, choice_);
  EXPECT_EQ(read_only.find(key_), choice_);
  EXPECT_THAT(files_in(directory_.path()), testing::IsEmpty());
  write_file(directory_.path() / "v1", "a file in place of a directory");
  CublasChoices blocked = open();
  blocked.keep(key_, choice_);
  EXPECT_EQ(blocked.find(key_), choice_);
  EXPECT_THAT(warnings_, testing::ElementsAre(testing::HasSubstr("kept in memory only")));
}

}  // namespace
}  // namespace hotgemm
