// Choices for products with an epilogue. Records are of bare products, or of products with scales of blocks.

#include "plan/choice.hpp"
#include "unit/database_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace hotgemm {
namespace {

Choice first_choice(const std::string& problem, const Database& database) {
  constexpr const char* kArch = "sm_90a";
  GpuQuery query;
  query.environment.arch = kArch;
  return choose(parse_workload(problem), kArch, database, query).front();
}

/// The first choice for the product with an epilogue if `config` was recorded for the bare one: a cooperative tile.
Choice fused_choice(const std::string& bare, const std::string& epilogue,
                    const std::string& config = "wgmma_m256_n208_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1") {
  TuningRecord record = sample_record(bare);
  record.config = *parse_config(config);
  record.launch = {8, false};
  Database database({});
  database.add(record);
  return first_choice(bare + epilogue, database);
}

TEST(FusedChoice, PingPongHidesALongEpilogue) {
  const std::string bare = "8192 14336 4096 nt bf16";
  EXPECT_EQ(fused_choice(bare, "").origin, Origin::tuned);
  for (const char* epilogue : {" epilogue=dgelu", " epilogue=drelu", " epilogue=bias+gelu_erf"}) {
    const KernelConfig pick = fused_choice(bare, epilogue).config;
    EXPECT_TRUE(std::get<WgmmaConfig>(pick).ping_pong) << epilogue << ": " << to_string(pick);
  }
}

TEST(FusedChoice, ARecordedPickStaysForAShortEpilogue) {
  EXPECT_EQ(fused_choice("8192 14336 14336 nt bf16", " epilogue=relu").origin, Origin::tuned);
}

TEST(FusedChoice, AMatrixThatAnEpilogueReadsHasASecondBuffer) {
  const std::string bare = "65536 1024 1024 nt bf16", config = "wgmma_m192_n128_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1";
  EXPECT_EQ(fused_choice(bare, " epilogue=bias", config).origin, Origin::tuned);
  const Choice pick = fused_choice(bare, " epilogue=bias+residual", config);
  EXPECT_EQ(to_string(pick.config), "wgmma_m192_n128_k64_c2_sn0_pp1_o0_s4_cm1_cn1_b1");
  EXPECT_EQ(pick.launch, (LaunchConfig{8, false}));
  EXPECT_EQ(pick.origin, Origin::nearest);
}

TEST(FusedChoice, WithoutARecordAShortEpilogueTakesTheBarePick) {
  const Database database{DatabaseOptions{}};
  const std::string bare = "8192 14336 4096 nt bf16";
  EXPECT_EQ(first_choice(bare + " epilogue=bias", database).config, first_choice(bare, database).config);
}

class ScaledChoice : public testing::Test {
 protected:
  static constexpr const char* kBare = "4096 2112 7168 nt e4m3";
  static constexpr const char* kScales = " epilogue=scale_a:block_1x128+scale_b:block_128x128";
  static constexpr const char* kBarePick = "wgmma_m192_n176_k128_c2_sn1_pp0_o0_s4_cm1_cn1_b1_pr1";
  static constexpr const char* kScaledPick = "wgmma_m192_n128_k128_c3_sn0_pp0_o0_s4_cm1_cn1_b1_pr1";

  void record(const std::string& problem, const std::string& config) {
    TuningRecord record = sample_record(problem);
    record.config = *parse_config(config);
    record.launch = {8, false};
    database_.add(record);
  }
  void expect(const std::string& problem, const std::string& config, Origin origin) {
    const Choice choice = first_choice(problem, database_);
    EXPECT_EQ(to_string(choice.config), config) << problem;
    EXPECT_EQ(choice.origin, origin) << problem;
  }

  const std::string scaled_ = std::string(kBare) + kScales;
  Database database_{DatabaseOptions{}};
};

TEST_F(ScaledChoice, ScalesOfBlocksHaveRecordsOfTheirOwn) {
  record(kBare, kBarePick);
  record(scaled_, kScaledPick);
  expect(kBare, kBarePick, Origin::tuned);
  expect(scaled_, kScaledPick, Origin::tuned);
  expect(scaled_ + "+bias", kScaledPick, Origin::tuned);
}

TEST_F(ScaledChoice, ARecordOfTheBareProductIsTheNearest) {
  record("64 24576 1536 nt e4m3", "wgmma_m64_n224_k128_c2_sn1_pp0_o0_s5_cm1_cn1_b1_pr1");
  expect("64 24576 1536 nt e4m3", "wgmma_m64_n224_k128_c2_sn1_pp0_o0_s5_cm1_cn1_b1_pr1", Origin::tuned);
  expect(std::string("64 24576 1536 nt e4m3") + kScales, "wgmma_m64_n224_k128_c2_sn1_pp0_o0_s5_cm1_cn1_b1_pr1",
         Origin::nearest);
}

TEST_F(ScaledChoice, ARecordLeavesRoomForScales) {
  const std::string bare = "64 24576 1536 nt e4m3", pick = "wgmma_m64_n32_k256_c1_sn0_pp0_o0_s9_cm1_cn1_b1_pr1";
  const std::string lean = "wgmma_m64_n32_k256_c1_sn0_pp0_o0_s8_cm1_cn1_b1_pr1";
  record(bare, pick);
  expect(bare, pick, Origin::tuned);
  expect(bare + kScales, lean, Origin::nearest);
  expect(std::string("64 24576 1792 nt e4m3") + kScales, lean, Origin::nearest);
}

TEST_F(ScaledChoice, TheRecordOfBareGroupsComesBeforeThatOfOneLargeProduct) {
  const std::string pick = "wgmma_m256_n128_k128_c2_sn0_pp0_o0_s4_cm1_cn1_b1_pr1";
  record("32768 4096 7168 nt e4m3 groups=4", pick);
  record(std::string("32768 4096 7168 nt e4m3") + kScales, kScaledPick);
  expect(std::string("32768 4096 7168 nt e4m3 groups=4") + kScales, pick, Origin::nearest);
}

TEST_F(ScaledChoice, ARatioToCublasIsOfTheSameProduct) {
  TuningRecord bare = sample_record("64 24576 1536 nt e4m3");
  bare.config = *parse_config("wgmma_m64_n224_k128_c2_sn1_pp0_o0_s5_cm1_cn1_b1_pr1");
  bare.launch = {8, false};
  bare.cublas = {.version = "13.1.0", .default_ratio = 1.25};
  database_.add(bare);
  EXPECT_EQ(first_choice("64 24576 1536 nt e4m3", database_).cublas_ratio, 1.25);
  EXPECT_EQ(first_choice(std::string("64 24576 1536 nt e4m3") + kScales, database_).cublas_ratio, 0);
}

TEST_F(ScaledChoice, ARecordWithScalesSaysNothingOfTheBareProduct) {
  record(scaled_, kScaledPick);
  EXPECT_EQ(first_choice(kBare, database_).origin, Origin::estimated);
}

TEST_F(ScaledChoice, ANearRecordWithScalesComesBeforeTheBareProductsOwn) {
  record("4096 2112 7168 nt e4m3", kBarePick);
  record(std::string("3584 2112 7168 nt e4m3") + kScales, kScaledPick);
  expect(scaled_, kScaledPick, Origin::nearest);
}

TEST(FusedChoice, NoEpilogueMakesALargeProductDivideK) {
  const Database database{DatabaseOptions{}};
  for (const char* epilogue : {"bias+gelu+residual", "dgelu", "gelu_erf"}) {
    const KernelConfig pick = first_choice(std::string("3072 3072 3072 nt bf16 epilogue=") + epilogue, database).config;
    EXPECT_FALSE(std::get<WgmmaConfig>(pick).split_k) << epilogue << ": " << to_string(pick);
  }
}

}  // namespace
}  // namespace hotgemm
