#include "config/tunableop.hpp"

#include "config/shapes.hpp"

#include "base/log.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotgemm {
namespace {

// As PyTorch writes it; the numbers are invented.
constexpr const char* kResults =
    "Validator,PT_VERSION,2.6.0\n"
    "Validator,ROCM_VERSION,6.2.0.0-66-e3d5f1d\n"
    "GemmTunableOp_BFloat16_TN,tn_4096_1024_512_ld_512_520_4096,Gemm_Hipblaslt_220,0.0125\n"
    "GemmTunableOp_Half_NT,nt_25088_64_96_ld_25088_64_25088,Default,0.5\r\n"
    "GemmAndBiasTunableOp_float_TN,tn_30_20_10_ld_10_10_30,Default\n"
    "GemmTunableOp_float_NT,nt_25088_4096_64,1219,1.262\n";

std::vector<std::string> texts_of(const std::vector<Shape>& shapes) {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes) texts.push_back(to_string(shape.workload));
  return texts;
}

TEST(TunableOpTest, ColumnMajorProductsAreReadAsRowMajorOnes) {
  ASSERT_TRUE(is_tunableop(kResults));
  const std::vector<Shape> shapes = parse_tunableop(kResults, "t.csv");
  EXPECT_EQ(texts_of(shapes), (std::vector<std::string>{"1024 4096 512 nt bf16 align=16", "64 25088 96 tn f16 align=16",
                                                        "20 30 10 nt f32 align=8", "4096 25088 64 tn f32 align=16"}));
  EXPECT_EQ(shapes[0].us, 12.5);
  EXPECT_EQ(shapes[1].us, 500);
  EXPECT_EQ(shapes[2].us, 0);  // the time is optional
  EXPECT_EQ(texts_of(parse_shapes(kResults, "t.csv")), texts_of(shapes));
}

TEST(TunableOpTest, LeadingDimensionsGiveTheAlignment) {
  // B of BLAS is our A: its rows are 515 elements apart.
  const std::vector<Shape> shapes =
      parse_tunableop("GemmTunableOp_Half_TN,tn_4096_1024_512_ld_512_515_4100,Default,1\n", "t.csv");
  EXPECT_EQ(texts_of(shapes), (std::vector<std::string>{"1024 4096 512 nt f16 align=2,16,8"}));
  // A matrix of one row may have any leading dimension.
  EXPECT_EQ(parse_tunableop("GemmTunableOp_Half_TN,tn_64_1_32_ld_32_1_64,Default,1\n", "t.csv").size(), 1u);
}

TEST(TunableOpTest, BatchesAreRead) {
  const std::vector<Shape> shapes =
      parse_tunableop("GemmStridedBatchedTunableOp_Half_TN,tn_64_32_128_B_16_ld_128_128_64,Default,0.25\n", "t.csv");
  EXPECT_EQ(texts_of(shapes), (std::vector<std::string>{"32 64 128 nt f16 batch=16 align=16"}));
  EXPECT_EQ(shapes[0].us, 250);
}

TEST(TunableOpTest, ProblemsThatWereNotTunedAreRead) {
  const char* const untuned = "GemmTunableOp_float_NT,nt_768_1024_512_ld_768_1024_768\n";
  ASSERT_TRUE(is_tunableop(untuned));
  const std::vector<Shape> shapes = parse_tunableop(untuned, "t.csv");
  EXPECT_EQ(texts_of(shapes), (std::vector<std::string>{"1024 768 512 tn f32 align=16"}));
  EXPECT_EQ(shapes[0].us, 0);
}

TEST(TunableOpTest, WhatNoKernelComputesIsLeftOutWithAWarning) {
  std::vector<std::string> warnings;
  set_logger_level(LogLevel::warn);
  set_logger_sink([&](LogLevel, std::string_view message) { warnings.emplace_back(message); });
  const std::vector<Shape> shapes = parse_tunableop(
      "GemmTunableOp_double_NN,nn_8_8_8_ld_8_8_8,Default,1\n"
      "GemmTunableOp_c10::complex<float>_NN,nn_8_8_8_ld_8_8_8,Default,1\n"
      "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,tn_8_8_8_ld_8_8_8_rw_1_bias_None,Default,1\n"
      "GemmTunableOp_Half_NN,nn_8_8_8_ld_8_8_8,Default,1\n",
      "t.csv");
  set_logger_sink({});
  EXPECT_EQ(texts_of(shapes), (std::vector<std::string>{"8 8 8 nn f16 align=16"}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("t.csv: 3 lines are left out"), std::string::npos) << warnings[0];
}

TEST(TunableOpTest, AnotherFormIsAnErrorThatNamesTheLine) {
  for (const char* line :
       {"GemmTunableOp_Half_NN", "GemmTunableOp_Half_NN,nn_8_8", "GemmTunableOp_Half_NN,nn_8_8,Default,1",
        "GemmTunableOp_Half_NN,qn_8_8_8,Default,1", "GemmTunableOp_Half_NN,nn_8_8_8,Default,soon",
        "GemmTunableOp_Half_NN,nn_8_x_8,Default,1", "something,else,here"}) {
    try {
      parse_tunableop("Validator,PT_VERSION,2.6.0\n" + std::string(line) + "\n", "dir/t.csv");
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("dir/t.csv:2: ", 0), 0u) << error.what();
    }
  }
  EXPECT_FALSE(is_tunableop("8 8 8 nn f16\n"));
  EXPECT_FALSE(is_tunableop("# of GemmTunableOp_Half_NN, by hand\n8 8 8 nn f16\n"));
}

}  // namespace
}  // namespace hotgemm
