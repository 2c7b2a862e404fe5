#include "config/shapes_csv.hpp"

#include "config/spelling.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotgemm {
namespace {

std::vector<std::string> problems(const std::vector<std::string>& lines) {
  ShapesCsv csv;
  std::vector<std::string> all;
  for (const std::string& line : lines) {
    const std::string problem = csv.problem(line);
    if (!problem.empty()) all.push_back(problem);
  }
  return all;
}

using Lines = std::vector<std::string>;

TEST(ShapesCsv, BeginsWithACommaBehindAWord) {
  EXPECT_TRUE(ShapesCsv::begins("64,64,64,nt,f16"));
  EXPECT_TRUE(ShapesCsv::begins(" 64 , 64"));
  EXPECT_TRUE(ShapesCsv::begins("m,n,k,layout,type"));
  EXPECT_TRUE(ShapesCsv::begins("\"64 64 64 nt f16 align=8,4,4\",1.5"));
  EXPECT_FALSE(ShapesCsv::begins("64 64 64 nt f16 align=8,4,4"));
  EXPECT_FALSE(ShapesCsv::begins("64 64 64 nt f16"));
}

TEST(ShapesCsv, ColumnsHaveTheOrderOfTheGrammarOrNames) {
  EXPECT_EQ(problems({"64,65,66,nt,f16,beta=1", "1x2x3,nn,f32\r"}), (Lines{"64 65 66 nt f16 beta=1", "1x2x3 nn f32"}));
  EXPECT_EQ(problems({"type,beta,K,n,m,layout", "f16,,66,65,64,nt", "f16,1,66,65,64,nt"}),
            (Lines{"64 65 66 nt f16", "64 65 66 nt f16 beta=1"}));
  EXPECT_EQ(problems({"us,problem", "1.5,64 65 66 nt f16"}), (Lines{"64 65 66 nt f16"}));
}

TEST(ShapesCsv, QuotesHoldCommas) {
  EXPECT_EQ(problems({"64,65,66,nt,f16,\"align=8,4,4\""}), (Lines{"64 65 66 nt f16 align=8,4,4"}));
  EXPECT_EQ(problems({"name,problem", "\"a \"\"b\"\", c\",\"64 65 66 nt f16 align=8,4,4\""}),
            (Lines{"64 65 66 nt f16 align=8,4,4"}));
  EXPECT_THROW(problems({"64,65,66,nt,\"f16"}), Error);
}

TEST(ShapesCsv, WhatIsMissingIsNamed) {
  EXPECT_THROW(problems({"m,n,k,layout", "64,65,66,nt"}), Error);
  EXPECT_THROW(problems({"m,n,k,layout,type", "64,65,66,nt"}), Error);
}

TEST(Spelling, TypesHaveTheNamesOfOthers) {
  for (const char* word : {"f16", "F16", "fp16", "half", "Float16"}) EXPECT_EQ(type_word(word), "f16");
  EXPECT_EQ(type_word("BFloat16"), "bf16");
  EXPECT_EQ(type_word("float8_e4m3fn"), "e4m3");
  EXPECT_EQ(type_word("F19"), "f19");
}

}  // namespace
}  // namespace hotgemm
