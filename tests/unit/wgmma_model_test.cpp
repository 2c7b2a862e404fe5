#include "plan/wgmma_model.hpp"

#include "config/kernel_config.hpp"
#include "config/traits.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"
#include "plan/wgmma_menu.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace hotgemm {
namespace {

const DeviceInfo& h200() {
  static const DeviceInfo device = nominal_device("sm_90a");
  return device;
}

Workload sized(std::int64_t m, std::int64_t n, std::int64_t k) {
  return Workload({.m = m, .n = n, .k = k, .op_b = Op::t});
}

/// `problem` with rows of D at multiples of 16 bytes, as in a padded matrix.
Workload stored_by_copies(Workload problem) {
  problem.hints.align_d = 16;
  return problem;
}

double us(const WgmmaConfig& config, const Workload& problem) {
  return wgmma_compute_us(config, problem, h200(), config.blocks_per_sm);
}

const WgmmaConfig kCooperative{.block_m = 128, .block_n = 128, .stages = 6};
const WgmmaConfig kPingPong{.block_m = 128, .block_n = 128, .ping_pong = true, .stages = 6};
const WgmmaConfig kOneTile{.block_m = 128, .block_n = 128, .one_tile = true, .stages = 6};

WgmmaConfig with_cluster(WgmmaConfig config, int cluster_m, int cluster_n) {
  config.cluster_m = cluster_m;
  config.cluster_n = cluster_n;
  return config;
}

TEST(WgmmaModel, PredictsSomethingForEveryConfig) {
  for (const auto& [m, n, k] :
       {std::tuple(1, 1, 1), std::tuple(4096, 4096, 4096), std::tuple(16, 100000, 8), std::tuple(512, 512, 0)}) {
    const Workload problem = sized(m, n, k);
    for (const WgmmaConfig& config : wgmma_menu(traits_of(problem))) {
      const double time = us(config, problem);
      ASSERT_TRUE(std::isfinite(time) && time > 0) << to_string(KernelConfig(config)) << " " << time;
    }
  }
}

// 320×512×21504 tn takes 17.6 µs by blocks alone and 21.3 by clusters of four, since neighbouring blocks have the same
// part of k; 20.5 before (docs/notebook/deepk.md, 11).
TEST(WgmmaModel, BlocksWithoutClustersReadRowsAgainForLess) {
  const WgmmaConfig alone{.block_m = 64, .block_n = 128, .consumers = 1, .stages = 9, .split_k = true};
  const auto lost = [&](const WgmmaConfig& config, const Workload& problem) {
    return wgmma_repeated_us(config, problem, h200());
  };
  const Workload problem = sized(320, 512, 21504), one_tile = sized(64, 128, 1000000);
  EXPECT_LT(lost(alone, problem), 0.8 * lost(with_cluster(alone, 1, 4), problem));
  EXPECT_GT(lost(alone, problem), 1);
  EXPECT_EQ(lost(alone, one_tile), 0) << "nothing is read twice";
}

// 448×416×89664 nn takes 76 µs by tiles of 128×256 in pairs that read B once (docs/notebook/deepk.md, 9).
TEST(WgmmaModel, RequestsThatL2DoesNotMergeTakeTimeInALongK) {
  const WgmmaConfig pair{.block_m = 128, .block_n = 256, .stages = 4, .cluster_n = 2, .split_k = true};
  const auto unmerged = [&](const WgmmaConfig& config, std::int64_t n, std::int64_t k, Op op_b = Op::n) {
    return wgmma_unmerged_us(config, Workload({.m = 448, .n = n, .k = k, .op_b = op_b}), h200());
  };
  EXPECT_EQ(unmerged(pair, 416, 8192), 0) << "L2 holds the operands";
  EXPECT_GT(unmerged(pair, 416, 89664), unmerged(with_cluster(pair, 2, 1), 416, 89664));
  EXPECT_EQ(unmerged(with_cluster(pair, 1, 1), 416, 89664), 0) << "neighbours read the same rows at once";
  EXPECT_GT(unmerged(pair, 416, 89664), 2 * unmerged(pair, 448, 89664)) << "every second row crosses into a line";
  EXPECT_LT(unmerged(pair, 416, 89600, Op::t), unmerged(pair, 448, 89600, Op::n)) << "rows along k are whole lines";
}

// Rows of a copy begin at lines. 722×559×629 tt takes 6.5 µs on an H200, and was expected to take 8.7.
TEST(WgmmaModel, RowsOfCopiesBeginAtLines) {
  const KernelConfig config = *parse_config("wgmma_m64_n64_k64_c1_sn0_pp0_o1_s13_cm1_cn1_b1");
  Workload aligned({.m = 722, .n = 559, .k = 640, .op_a = Op::t, .op_b = Op::t});
  Workload odd({.m = 722, .n = 559, .k = 629, .op_a = Op::t, .op_b = Op::t});
  for (Workload* problem : {&aligned, &odd}) problem->hints.align_a = problem->hints.align_b = 2;
  const double us = predict_us(config, odd, nominal_device("sm_90a"));
  EXPECT_NEAR(us, predict_us(config, aligned, nominal_device("sm_90a")), 0.1);
  EXPECT_NEAR(us, 6.5, 0.7);
}

// 2048×2048×128 nt, a batch of 32: 108 µs by tiles of 176 columns, and 97 by tiles of 256 (docs/notebook/batches.md,
// 6).
TEST(WgmmaModel, PiecesOfDThatCrossIntoAnotherLineTakeLonger) {
  const Workload problem = parse_workload("2048 2048 128 nt bf16 batch=32");
  const auto us = [&](const char* config) { return predict_us(*parse_config(config), problem, h200()); };
  const double crossing = us("wgmma_m128_n176_k64_c2_sn0_pp1_o0_s5_cm2_cn1_b1");
  EXPECT_NEAR(crossing, 108, 8);
  EXPECT_GT(crossing, 1.05 * us("wgmma_m128_n256_k64_c2_sn1_pp0_o0_s4_cm1_cn1_b1"));
  EXPECT_GT(crossing, 1.05 * us("wgmma_m128_n192_k64_c2_sn0_pp1_o0_s5_cm1_cn1_b1"));
}

// 1023×1023×64 nt, a batch of 32 whose operands are aligned: 30.9 µs by strips of four pieces, 37.7 by strips of two,
// and 36.4 of three in other tiles (docs/notebook/ragged.md, 7).
TEST(WgmmaModel, RowsOfDInShortStripsTakeLonger) {
  const auto us = [](const char* config, const char* problem) {
    return predict_us(*parse_config(config), parse_workload(problem), h200());
  };
  const char* const four = "wgmma_m128_n256_k64_c2_sn0_pp0_o0_s3_cm1_cn1_b1";
  const char* const two = "wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1";
  const char* const ragged = "1023 1023 64 nt f16 batch=32 align=16,16,2";
  EXPECT_NEAR(us(four, ragged), 30.9, 3);
  EXPECT_NEAR(us(two, ragged), 37.7, 4);
  EXPECT_NEAR(us("wgmma_m192_n192_k64_c3_sn0_pp0_o0_s3_cm1_cn1_b1", ragged), 36.4, 4);
  EXPECT_GT(us("mma_m96_n128_k32_wm2_wn2_s3_x1_f1_e1_b1", ragged), us(four, ragged));
  const char* const aligned = "1024 1024 64 nt f16 batch=32";
  EXPECT_NEAR(us(four, aligned), us(two, aligned), 0.5)
      << "the copy engine stores whole pieces, and more of them later";
}

// 11×3328×3712 tt, with a copy of A as it is stored: 16.1 and 13.6 µs by tiles of 32 and 64 columns, 19.7 by blocks of
// 128 rows that divide k (docs/notebook/search.md, 22). The copy was to take 1.8 µs of these.
TEST(WgmmaModel, RowsOfANarrowOperandTakeLongerTheMoreBlocksReadThem) {
  const auto us = [](const char* config, std::int64_t m, Op op_a) {
    Workload problem({.m = m, .n = 3328, .k = 3712, .op_a = op_a, .op_b = Op::t});
    problem.hints = {.align_a = 16, .align_b = 16, .align_d = 16};
    return predict_us(*parse_config(config), problem, h200());
  };
  constexpr const char *kOf32 = "wgmma_m64_n32_k128_c1_sn0_pp0_o0_s9_cm1_cn1_b1",
                       *kOf64 = "wgmma_m64_n64_k128_c1_sn0_pp0_o0_s6_cm1_cn1_b1",
                       *kSplit = "wgmma_m128_n64_k64_c2_sn0_pp0_o0_s8_cm1_cn1_b1_sk1";
  EXPECT_NEAR(us(kOf32, 11, Op::t), 16.1 - 1.8, 0.5);
  EXPECT_NEAR(us(kOf64, 11, Op::t), 13.6 - 1.8, 2.6);
  EXPECT_NEAR(us(kSplit, 11, Op::t), 19.7 - 1.8, 0.7);
  EXPECT_LT(us(kOf32, 11, Op::n), us(kOf64, 11, Op::n)) << "rows along k";
  EXPECT_LT(us(kOf32, 64, Op::t), us(kOf64, 64, Op::t)) << "rows of whole lines";
}

// B of 4096×8×4096 tn has rows of 16 bytes: 21.0 µs by tiles of 64 columns, 12.2 if four blocks share them. A of
// 16×8192×2048 tn has rows of 32: 11.8 µs by tiles of 16 rows, 13.7 by tiles of 64 (docs/notebook/search.md, 31).
TEST(WgmmaModel, BoxesOfShortRowsCostByTheirWidthAndNextToNothingSharedByFour) {
  const auto us = [](const char* problem, const char* config) {
    return predict_us(*parse_config(config), parse_workload(problem), h200());
  };
  const char *const few_columns = "4096 8 4096 tn bf16", *const few_rows = "16 8192 2048 tn bf16";
  EXPECT_NEAR(us(few_columns, "wgmma_m64_n64_k64_c1_sn0_pp0_o0_s13_cm1_cn1_b1"), 21.0, 1);
  EXPECT_NEAR(us(few_columns, "wgmma_m64_n64_k128_c1_sn0_pp0_o0_s6_cm4_cn1_b1"), 12.2, 0.5);
  EXPECT_NEAR(us(few_rows, "wgmma_m16_n64_k128_c1_sn0_pp0_o0_s11_cm1_cn1_b1_t1"), 11.8, 0.5);
  EXPECT_NEAR(us(few_rows, "wgmma_m64_n64_k64_c1_sn0_pp0_o0_s13_cm1_cn1_b1"), 13.7, 0.5);
}

// 8192³ of e4m3 with scales of blocks takes 802, 818 and 773 µs on an H200 at a high clock (docs/notebook/epilogues.md,
// 20). The model is of a lower clock, at which the first took 857.
TEST(WgmmaModel, ScalesOfBlocksCostMoreWhereATileTouchesTwoOfThem) {
  const auto us = [](const char* config) {
    Workload problem({.m = 8192, .n = 8192, .k = 8192, .op_b = Op::t});
    problem.types = kE4m3;
    problem.epilogue =
        parse_workload("8192 8192 8192 nt e4m3 epilogue=scale_a:block_1x128+scale_b:block_128x128").epilogue;
    problem.hints = {.align_a = 16, .align_b = 16, .align_d = 16};
    return predict_us(*parse_config(config), problem, nominal_device("sm_90a"));
  };
  const double whole = us("wgmma_m256_n128_k128_c2_sn0_pp0_o0_s3_cm1_cn1_b1_pr1");
  EXPECT_NEAR(whole, 857, 20);
  EXPECT_GT(us("wgmma_m128_n192_k128_c2_sn0_pp0_o0_s5_cm1_cn1_b1_pr1"), whole);
  EXPECT_LT(us("wgmma_m192_n128_k128_c3_sn0_pp0_o0_s4_cm1_cn1_b1_pr1"), whole);
}

// 960×288×100672 nn takes 158 µs by tiles of 192 columns and 103 by tiles of 96 (docs/notebook/deepk.md, 8). Here m is
// 1024, so that only B has an edge.
TEST(WgmmaModel, BoxesBeyondAnEdgeTakeTimeInALongK) {
  const WgmmaConfig wide{.block_m = 128, .block_n = 192, .stages = 5, .cluster_m = 2, .split_k = true};
  const auto lost = [&](std::int64_t n, Op op_b) {
    const Workload problem({.m = 1024, .n = n, .k = 100672, .op_b = op_b});
    return wgmma_beyond_us(wide, problem, h200());
  };
  EXPECT_GT(lost(288, Op::n), 5);
  EXPECT_EQ(lost(288, Op::t), 0) << "B lies along k";
  EXPECT_EQ(lost(384, Op::n), 0) << "no box is beyond the edge";
}

TEST(WgmmaModel, MoreWorkIsNotPredictedFaster) {
  const std::vector<WgmmaConfig> menu = wgmma_menu(GemmTraits{.op_b = Op::t});
  for (std::size_t i = 0; i < menu.size(); i += 7) {
    double last_m = 0, last_n = 0, last_k = 0;
    for (std::int64_t size = 1; size <= 20000; size = size * 5 / 4 + 1) {
      const double by_m = us(menu[i], sized(size, 1024, 512));
      const double by_n = us(menu[i], stored_by_copies(sized(1024, size, 512)));
      const double by_k = us(menu[i], sized(1024, 1024, (size + 63) / 64 * 64));  // rows of whole cache lines
      ASSERT_GE(by_m, last_m * 0.9999) << to_string(KernelConfig(menu[i])) << " m " << size;
      ASSERT_GE(by_n, last_n * 0.9999) << to_string(KernelConfig(menu[i])) << " n " << size;
      ASSERT_GE(by_k, last_k * 0.9999) << to_string(KernelConfig(menu[i])) << " k " << size;
      last_m = by_m, last_n = by_n, last_k = by_k;
    }
  }
}

TEST(WgmmaModel, ATileBeyondAWaveCostsAsMuchAsAWave) {
  const std::int64_t sms = h200().sm_count;
  for (const WgmmaConfig& config : {kCooperative, kPingPong, kOneTile}) {
    const double one = us(config, sized(sms * 128, 128, 8192));
    EXPECT_NEAR(us(config, sized((sms - 20) * 128, 128, 8192)), one, one * 0.15);
    const double two = us(config, sized(2 * sms * 128, 128, 8192));
    EXPECT_NEAR(us(config, sized((sms + 1) * 128, 128, 8192)), two, two * 0.15);
    EXPECT_GT(two, one * 1.7);
  }
  // A cluster takes two tiles at a time, even if one of them lies beyond D.
  const WgmmaConfig cluster = with_cluster(kCooperative, 2, 1);
  EXPECT_DOUBLE_EQ(us(cluster, sized(128, 1024, 4096)), us(cluster, sized(256, 1024, 4096)));
}

TEST(WgmmaModel, RowsThatBeginWithinALineAreSlowerToCopy) {
  const WgmmaConfig small{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 12};
  const auto by_row = [&](std::int64_t k) { return us(small, sized(512, 512, k)); };
  EXPECT_GT(by_row(8192 - 32), by_row(8192)) << "whole sectors";
  EXPECT_GT(by_row(8192 - 8), 1.25 * by_row(8192 - 32)) << "the loss is more than the extra cache lines";
}

TEST(WgmmaModel, RowsBeyondTheMatrixAreNotCopied) {
  const WgmmaConfig narrow{.block_m = 64, .block_n = 32, .consumers = 1, .stages = 16};
  EXPECT_LT(us(narrow, sized(1, 4096, 4096)), 0.95 * us(narrow, sized(64, 4096, 4096)));
}

TEST(WgmmaModel, AClusterSavesWhereCopiesBind) {
  const Workload large = sized(8192, 8192, 8192);
  const WgmmaConfig small{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 12};
  EXPECT_LT(us(with_cluster(small, 2, 1), large), us(small, large));
  const WgmmaConfig wide{.block_m = 256, .block_n = 192, .stages = 3};
  EXPECT_GE(us(with_cluster(wide, 2, 1), large), us(wide, large)) << "a large tile needs little traffic";
  // A cluster should share the wider side.
  const WgmmaConfig tall{.block_m = 256, .block_n = 64, .stages = 5};
  EXPECT_LT(us(with_cluster(tall, 1, 2), large), us(with_cluster(tall, 2, 1), large));
}

TEST(WgmmaModel, AClusterOfSmallTilesPaysWhereRowsBeginInsideSectors) {
  const WgmmaConfig small{.block_m = 64, .block_n = 96, .consumers = 1, .stages = 10};
  const auto gain = [&](std::int64_t k) {
    return us(small, sized(1024, 768, k)) / us(with_cluster(small, 2, 1), sized(1024, 768, k));
  };
  EXPECT_GT(gain(2048 + 8), 1.08) << "1.09 to 1.22 are measured";
  EXPECT_LT(gain(2048), 1.03) << "0.93 to 1.0 were measured, with fences that clusters have lost since";
}

TEST(WgmmaModel, AClusterOfFourPaysWhereRowsBeginInsideSectorsAlone) {
  const WgmmaConfig small{.block_m = 128, .block_n = 112, .stages = 6, .cluster_m = 1, .cluster_n = 2};
  const WgmmaConfig four = with_cluster(small, 1, 4);
  EXPECT_LT(us(four, sized(800, 1680, 1688)), 0.95 * us(small, sized(800, 1680, 1688))) << "0.86 is measured";
  EXPECT_GT(us(four, sized(800, 1680, 1664)), us(small, sized(800, 1680, 1664)));
}

TEST(WgmmaModel, AOneTileBlockPaysForTheCopiesBeyondItsStages) {
  const WgmmaConfig alone{.block_m = 64, .block_n = 32, .consumers = 1, .one_tile = true, .stages = 13};
  WgmmaConfig fed = alone;
  fed.one_tile = false;
  const auto loss = [&](std::int64_t k) { return us(alone, sized(64, 4096, k)) / us(fed, sized(64, 4096, k)); };
  EXPECT_LT(loss(13 * 64), 1.0) << "all copies are under way at the start";
  EXPECT_GT(loss(64 * 64), 1.15) << "1.2 to 1.3 are measured";
}

TEST(WgmmaModel, RowsOfDThatThreadsStoreAreSlower) {
  const WgmmaConfig config{.block_m = 128, .block_n = 128, .consumers = 2, .stages = 6};
  EXPECT_GT(us(config, parse_workload("4096 865 128 nt f16 align=16,16,2")), 1.05 * us(config, sized(4096, 872, 128)));
}

TEST(WgmmaModel, PingPongHidesTheEpilogueWhereKIsShort) {
  const double short_gain = us(kCooperative, sized(8192, 8192, 256)) / us(kPingPong, sized(8192, 8192, 256));
  const double long_gain = us(kCooperative, sized(8192, 8192, 16384)) / us(kPingPong, sized(8192, 8192, 16384));
  EXPECT_GT(short_gain, 1.05);
  EXPECT_LT(long_gain, 1.03);
  EXPECT_GT(long_gain, 0.97);
}

TEST(WgmmaModel, APersistentBlockPaysFromTheSecondTileOn) {
  const std::int64_t sms = h200().sm_count;
  const double alone = us(kCooperative, sized(sms * 128, 128, 1024));
  EXPECT_NEAR(us(kOneTile, sized(sms * 128, 128, 1024)), alone, 0.03 * alone);
  EXPECT_GT(us(kOneTile, sized(4 * sms * 128, 128, 1024)), us(kCooperative, sized(4 * sms * 128, 128, 1024)));
}

TEST(WgmmaModel, AProducerPaysWhereManyKTilesAreSmall) {
  const WgmmaConfig alone{.block_m = 64, .block_n = 16, .consumers = 1, .one_tile = true, .stages = 16};
  WgmmaConfig fed = alone;
  fed.one_tile = false;
  EXPECT_LT(us(fed, sized(64, 1280, 8192)), us(alone, sized(64, 1280, 8192)));
  // The warps of a block without a producer start sooner.
  EXPECT_GT(us(fed, sized(64, 1280, 256)), us(alone, sized(64, 1280, 256)));
  EXPECT_NEAR(us(fed, sized(64, 1280, 256)), us(alone, sized(64, 1280, 256)), 0.15);
}

TEST(WgmmaModel, NarrowInstructionsAreSlow) {
  const auto rate = [&](int n) {
    return n / us({.block_m = 64, .block_n = n, .consumers = 1, .stages = 8}, sized(64, n, 1 << 20));
  };
  EXPECT_LT(rate(64), rate(128));
  EXPECT_LT(rate(32), 0.80 * rate(128));
  EXPECT_LT(rate(16), 0.55 * rate(128));
  EXPECT_LT(rate(8), 0.30 * rate(128));
  // A tile, and its two halves, each of which reads all of A from shared memory.
  const WgmmaConfig whole{.block_m = 192, .block_n = 64, .consumers = 3, .stages = 6};
  WgmmaConfig halves = whole;
  halves.consumers = 2;
  halves.split_n = true;
  EXPECT_GT(us(halves, sized(8192, 8192, 8192)), us(whole, sized(8192, 8192, 8192)));
}

TEST(WgmmaModel, FewStagesWaitForCopies) {
  WgmmaConfig shallow{.block_m = 64, .block_n = 32, .consumers = 1, .stages = 3}, deep = shallow;
  deep.stages = 12;
  EXPECT_GT(us(shallow, sized(64, 1024, 8192)), 1.3 * us(deep, sized(64, 1024, 8192)));
  EXPECT_DOUBLE_EQ(us(shallow, sized(64, 1024, 192)), us(deep, sized(64, 1024, 192))) << "three k-tiles fill no more";
}

// ---- a divided k ----

const WgmmaConfig kSplit{
    .block_m = 64, .block_n = 64, .block_k = 128, .consumers = 1, .one_tile = true, .stages = 6, .split_k = true};

/// The time with `epilogue` relative to that without one, minus 1.
double added(const WgmmaConfig& config, const Workload& problem, const Epilogue& epilogue) {
  return wgmma_compute_us(config, problem, h200(), config.blocks_per_sm, 1, {}, epilogue) / us(config, problem) - 1;
}

TEST(WgmmaModel, PingPongHidesWhatAnEpilogueAdds) {
  const Workload problem = sized(8192, 14336, 4096);
  for (const Activation derivative : {Activation::dgelu, Activation::drelu}) {
    EXPECT_GT(added(kCooperative, problem, {.activation = derivative}), 0.03);
    EXPECT_LT(added(kPingPong, problem, {.activation = derivative}), 0.01);
  }
}

TEST(WgmmaModel, EachPartOfAnEpilogueTakesTime) {
  const Workload problem = sized(4096, 4096, 4096);
  const Epilogue relu{.activation = Activation::relu};
  const double least = added(kCooperative, problem, relu);
  EXPECT_GT(least, 0);
  std::vector<Epilogue> longer(6, relu);
  longer[0].bias = Bias::per_column;
  longer[1].scale_b = Scaling::vector;
  longer[2].aux = true;
  longer[3].residual = true;
  longer[4].amax = true;
  longer[5].activation = Activation::gelu_erf;
  for (const Epilogue& epilogue : longer) EXPECT_GT(added(kCooperative, problem, epilogue), least);
}

TEST(WgmmaModel, AMatrixWaitsWithoutASecondBuffer) {
  WgmmaConfig one{.block_m = 192, .block_n = 128, .consumers = 2, .ping_pong = true, .stages = 5}, two = one;
  two.stages = 4;
  const Workload problem = parse_workload("65536 1024 1024 nt bf16");
  const Epilogue epilogue{.bias = Bias::per_column, .residual = true};
  EXPECT_GT(added(one, problem, epilogue), added(two, problem, epilogue) + 0.1);
}

TEST(WgmmaModel, HalvesOfAGateAreBoxesOfTheirOwn) {
  const WgmmaConfig config{.block_m = 128, .block_n = 192, .consumers = 2, .ping_pong = true, .stages = 5};
  const Epilogue gate{.activation = Activation::silu, .gate = Gate::halves};
  const double of_rows = added(config, parse_workload("4096 28672 4096 nt bf16"), gate);
  EXPECT_GT(added(config, parse_workload("4096 28672 4096 nn bf16"), gate), of_rows) << "boxes of 96 columns are two";
}

TEST(WgmmaModel, EachTileOfADividedKHasASumAndAnEpilogue) {
  const auto reduce_us = [](const Workload& problem, const Epilogue& epilogue) {
    return wgmma_reduce_us(kSplit, problem, h200(), 1, 1, {}, epilogue);
  };
  EXPECT_GT(reduce_us(sized(4096, 4096, 64), {}), 10 * reduce_us(sized(64, 64, 64), {}));
  EXPECT_GT(reduce_us(sized(64, 64, 64), {.activation = Activation::gelu}), reduce_us(sized(64, 64, 64), {}));
}

TEST(WgmmaModel, SplitsFillAWaveAndLeaveNoPartEmpty) {
  for (const auto& [m, n, k] : {std::tuple(64, 64, 131072), std::tuple(64, 1280, 8192), std::tuple(256, 256, 700),
                                std::tuple(4096, 4096, 64), std::tuple(1, 1, 1)}) {
    const std::vector<int> splits = wgmma_splits(kSplit, sized(m, n, k), h200());
    ASSERT_FALSE(splits.empty());
    const int tiles = ((m + 63) / 64) * ((n + 63) / 64), k_tiles = (k + 127) / 128;
    EXPECT_LE(splits.front() * tiles, std::max(h200().sm_count, tiles));
    EXPECT_LE(splits.front(), k_tiles);
    for (std::size_t i = 1; i < splits.size(); ++i) EXPECT_LT(splits[i], splits[i - 1]);
    EXPECT_GE(splits.back(), 1);
  }
  EXPECT_EQ(wgmma_splits(kSplit, sized(64, 64, 131072), h200()).front(), h200().sm_count);
  EXPECT_EQ(wgmma_splits(kOneTile, sized(64, 64, 131072), h200()), std::vector{1});
}

TEST(WgmmaModel, SplitsCountTheTilesOfWholeClusters) {
  WgmmaConfig pair = kSplit;
  pair.cluster_m = 2;
  EXPECT_EQ(wgmma_splits(pair, sized(128, 64, 131072), h200()).front(), 66);
  EXPECT_EQ(wgmma_splits(pair, sized(64, 64, 131072), h200()).front(), 66) << "half of each cluster lies outside D";
}

TEST(WgmmaModel, DividesLongSumsOfFewTilesOnly) {
  EXPECT_GT(wgmma_best_splits(kSplit, sized(64, 64, 131072), h200(), 1), 60);
  EXPECT_GT(wgmma_best_splits(kSplit, sized(64, 1280, 8192), h200(), 1), 3);
  EXPECT_EQ(wgmma_best_splits(kSplit, sized(4096, 4096, 4096), h200(), 1), 1);
}

TEST(WgmmaModel, RanksDividingFirstWhereTilesAreFew) {
  const auto divides = [](const Workload& problem) {
    const std::vector<KernelConfig> ranked = rank(anchors(traits_of(problem), arch_limits("sm_90a")), problem, h200());
    const auto* best = std::get_if<WgmmaConfig>(&ranked.front());
    return best != nullptr && best->split_k;
  };
  for (const Workload& deep : {sized(64, 64, 131072), sized(128, 128, 65536), sized(256, 64, 16384),
                               sized(512, 512, 32768), sized(64, 1280, 8192)}) {
    EXPECT_TRUE(divides(deep)) << to_string(deep);
  }
  for (const Workload& flat : {sized(4096, 4096, 4096), sized(64, 8192, 512), sized(1024, 1024, 1024)}) {
    EXPECT_FALSE(divides(flat)) << to_string(flat);
  }
}

}  // namespace
}  // namespace hotgemm
