#include "records/text_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hotgemm {
namespace {

/// Texts of all short lengths, many of them alike but for one character, some of them twice.
std::vector<std::string> many_texts(int count) {
  std::mt19937 random(3);
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    switch (random() % 4) {
      case 0: texts.push_back(std::string(random() % 40, 'a')); break;
      case 1: texts.push_back(std::to_string(8 * (random() % 4096)) + " 4096 4096 nt f16 align=16"); break;
      case 2: texts.push_back(std::string(random() % 9, static_cast<char>('a' + random() % 3))); break;
      default: texts.push_back("4096 " + std::to_string(random() % 4096)); break;
    }
  }
  return texts;
}

TEST(TextTable, FindsWhatWasAdded) {
  const std::vector<std::string> texts = many_texts(20'000);
  const auto text_of = [&](std::uint32_t index) -> std::string_view { return texts[index]; };
  TextTable table;
  EXPECT_EQ(table.find("", text_of), TextTable::kNone) << "of nothing";
  std::unordered_map<std::string_view, std::uint32_t> expected;
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    const auto [place, is_new] = expected.try_emplace(texts[i], i);
    ASSERT_EQ(table.find(texts[i], text_of), is_new ? TextTable::kNone : place->second) << texts[i];
    ASSERT_EQ(table.find_or_add(texts[i], i, text_of), place->second) << texts[i];
    ASSERT_EQ(table.size(), expected.size());
  }
  for (const auto& [text, index] : expected) ASSERT_EQ(table.find(text, text_of), index) << text;
  EXPECT_EQ(table.find("5120 4096 4096 nt bf16 align=16", text_of), TextTable::kNone);
}

TEST(TextTable, ReservingKeepsWhatWasAdded) {
  const std::vector<std::string> texts{"a", "b", std::string("a\0", 2), ""};
  const auto text_of = [&](std::uint32_t index) -> std::string_view { return texts[index]; };
  TextTable table;
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    table.reserve(i * 1000);
    EXPECT_EQ(table.find_or_add(texts[i], i, text_of), i);
  }
  for (std::uint32_t i = 0; i < texts.size(); ++i) EXPECT_EQ(table.find(texts[i], text_of), i);
}

// A table whose hashes met would ask for the texts of other cells again and again.
TEST(TextTable, ComparesFewTexts) {
  std::vector<std::string> texts;
  for (int m = 1; m <= 100; ++m) {
    for (int n = 1; n <= 1000; ++n) {
      texts.push_back(std::to_string(8 * m) + " " + std::to_string(8 * n) + " 4096 nt f16 align=16");
    }
  }
  int compared = 0;
  const auto text_of = [&](std::uint32_t index) -> std::string_view {
    ++compared;
    return texts[index];
  };
  TextTable table;
  for (std::uint32_t i = 0; i < texts.size(); ++i) table.find_or_add(texts[i], i, text_of);
  EXPECT_EQ(table.size(), texts.size());
  EXPECT_LT(compared, 100) << "hashes of 32 bits meet about once among so many";
  for (std::uint32_t i = 0; i < texts.size(); ++i) ASSERT_EQ(table.find(texts[i], text_of), i);
}

}  // namespace
}  // namespace hotgemm
