#include "records/class_text.hpp"

#include "config/max_size.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hotgemm {
namespace {

TEST(ClassText, BeginsWithThreeSizes) {
  const std::string largest = std::to_string(kMaxSize);
  const std::string text = "0 4096 " + largest + " nt f16 align=16";
  const auto parts = split_class(text);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->sizes.m, 0);
  EXPECT_EQ(parts->sizes.n, 4096);
  EXPECT_EQ(parts->sizes.k, kMaxSize);
  EXPECT_EQ(parts->rest, " nt f16 align=16");
}

TEST(ClassText, OtherTextsHaveNoSizes) {
  const std::string too_large = std::to_string(kMaxSize + 1), overflowing(40, '9');
  for (const std::string& text : {std::string(), std::string("1"), std::string("1 2"), std::string("1 2 "),
                                  std::string("-1 2 3 nt"), std::string("1 +2 3 nt"), std::string("1  2 3 nt"),
                                  std::string(" 1 2 3 nt"), "1 2 " + too_large + " nt", overflowing + " 2 3 nt"}) {
    EXPECT_FALSE(split_class(text)) << text;
  }
}

TEST(ArchFinder, FindsTheFieldWhereverItIs) {
  ArchFinder arch_of;
  for (const char* arch : {"sm_90a", "sm_90a", "sm_80", ""}) {
    const std::string line =
        R"({"class":"1 2 3","gpu":"a \",\"arch\":\"b","arch":")" + std::string(arch) + R"(","crc":"0"})";
    EXPECT_EQ(arch_of(line), arch);
  }
  EXPECT_EQ(arch_of(R"({"class":"1 2 3"})"), "");
}

}  // namespace
}  // namespace hotgemm
