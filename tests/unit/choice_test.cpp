#include "plan/choice.hpp"

#include "config/class_key.hpp"
#include "config/repack.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"
#include "sweep_sample.hpp"
#include "unit/database_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kArch = "sm_90a";

GpuQuery query_for(const std::string& arch) {
  GpuQuery query;
  query.environment.arch = arch;
  return query;
}

/// A record of `problem` with a config that the model would not pick, so that only the record can bring it up.
TuningRecord unlikely_record(const char* problem) {
  TuningRecord record = sample_record(problem);
  record.config = *parse_config("mma_m96_n64_k32_wm2_wn2_s5_x1_f1_e1_b1");
  record.launch = {3, true};
  return record;
}

std::vector<Choice> choose_on(const char* arch, const Workload& problem, const Database& database) {
  return choose(problem, arch, database, query_for(arch));
}

TEST(Choice, WithoutRecordsItIsTheAnchorsAndVariantsOfTheBestByTheModel) {
  const Database database{DatabaseOptions{}};
  for (const std::string& arch : known_archs()) {
    const Workload problem = parse_workload("4096 4096 512 nt f16");
    const DeviceInfo device = nominal_device(arch);
    const auto choices = choose(problem, arch, database, query_for(arch));
    for (std::size_t i = 0; i < choices.size(); ++i) {
      EXPECT_EQ(choices[i].origin, Origin::estimated);
      EXPECT_EQ(choices[i].launch, default_launch(choices[i].config, problem, device));
      if (i == 0) continue;
      EXPECT_GE(predict_us(choices[i].config, problem, device), predict_us(choices[i - 1].config, problem, device));
    }
    const std::vector<KernelConfig> ranked = rank(anchors(traits_of(problem), arch_limits(arch)), problem, device);
    std::vector<KernelConfig> chosen_anchors;
    for (const Choice& c : choices) {
      if (std::ranges::count(ranked, c.config) > 0) chosen_anchors.push_back(c.config);
    }
    EXPECT_EQ(chosen_anchors, ranked);
    EXPECT_EQ(choices.size() > ranked.size(), arch == "sm_90a") << arch;
    const std::vector<KernelConfig> all = candidates(problem, arch_limits(arch));
    for (const Choice& c : choices) EXPECT_EQ(std::ranges::count(all, c.config), 1) << to_string(c.config);
  }
}

TEST(Choice, NoConfigIsChosenTwice) {
  const Database database{DatabaseOptions{}};
  for (const char* text : {"512 512 512 nt f16", "333 777 555 nn bf16 align=2", "512 777 512 tn f16 align=16,2,2",
                           "512 512 512 tt e4m3", "77 4096 4096 nn s8", "512 512 512 nn f16 epilogue=bias batch=3"}) {
    std::set<std::string> configs;
    for (const Choice& c : choose_on(kArch, parse_workload(text), database)) {
      EXPECT_TRUE(configs.insert(to_string(c.config)).second) << text << ": " << to_string(c.config);
    }
  }
}

TEST(Choice, AVariantOfAnAnchorMayBeTheBest) {
  const Database database{DatabaseOptions{}};
  const Workload problem = parse_workload("320 1848 2176 nt f16");
  const DeviceInfo device = nominal_device(kArch);
  const KernelConfig anchor = rank(anchors(problem, arch_limits(kArch)), problem, device).front();
  const KernelConfig pick = choose_on(kArch, problem, database).front().config;
  EXPECT_LT(predict_us(pick, problem, device), predict_us(anchor, problem, device));
  const std::vector<KernelConfig> all = candidates(problem, arch_limits(kArch));
  EXPECT_EQ(std::ranges::count(all, pick), 1) << to_string(pick);
}

TEST(Choice, FourBlocksShareAnOperandOfShortRows) {  // tiles of 16 columns, the best anchor, are too small for that
  const Database none{DatabaseOptions{}};
  const auto choices = choose_on(kArch, parse_workload("4096 8 4096 tn bf16"), none);
  EXPECT_EQ(std::get<WgmmaConfig>(choices.front().config).cluster(), 4);
}

TEST(Choice, BesideARecordAndUnderAnSmLimitThereAreOnlyAnchors) {
  const TemporaryDirectory directory;
  write_file(directory.segments() / "x.jsonl", to_line({unlikely_record("512 512 512 nt f16"), 1}) + "\n");
  const Database database{user_layer(directory)};
  for (const char* text : {"512 512 512 nt f16", "4096 4096 512 nt f16 sms=64"}) {
    const Workload problem = parse_workload(text);
    const std::vector<KernelConfig> known = anchors(problem, arch_limits(kArch));
    const std::vector<Choice> choices = choose_on(kArch, problem, database);
    for (const Choice& c : choices) {
      if (c.origin == Origin::tuned) continue;
      EXPECT_EQ(std::ranges::count(known, c.config), 1) << to_string(c.config);
    }
  }
}

TEST(Choice, RowsThatBeginInsideSectorsCountWhereAIsStoredTransposed) {
  const Database database{DatabaseOptions{}};
  const DeviceInfo device = nominal_device(kArch);
  const auto pick = [&](const Workload& problem) { return choose_on(kArch, problem, database).front().config; };
  const Workload aligned = parse_workload("4096 2024 1072 tn bf16"), inside = parse_workload("4008 2024 1072 tn bf16");
  ASSERT_EQ(class_key(aligned), class_key(inside));
  const KernelConfig one = pick(aligned);
  EXPECT_EQ(one, pick(inside)) << "a class has one pick";
  for (const Workload& problem : {aligned, inside}) {
    const double least_us = predict(anchors(problem, arch_limits(kArch)), problem, device).front().us;
    EXPECT_LT(predict_us(one, problem, device), 1.05 * least_us) << to_string(one);
  }
}

TEST(Choice, ParsesNoRecordThatIsTooFarAway) {
  const TemporaryDirectory directory;
  std::string text;
  for (const char* problem : {"512 512 4096 nt f16", "4096 512 512 nt f16", "512 512 512 nn f16"}) {
    text += to_line({unlikely_record(problem), 1}) + "\n";
  }
  write_file(directory.segments() / "x.jsonl", text);
  const Database database{user_layer(directory)};
  const Workload problem = parse_workload("512 512 512 nt f16");
  EXPECT_EQ(choose_on(kArch, problem, database).front().origin, Origin::estimated);
  EXPECT_EQ(database.work().lines_parsed, 0u);
}

TEST(Choice, CoversEverySizeUpToTheLargest) {
  const Database database{DatabaseOptions{}};
  for (const char* text : {"8 8 2147482623 nt f16", "8 2147482623 8 nt f16", "1879048193 8 8 nn f16",
                           "2000000000 8 8 nn f16", "2147482623 8 8 nn f32"}) {
    EXPECT_NO_THROW(EXPECT_FALSE(choose_on(kArch, parse_workload(text), database).empty())) << text;
  }
  EXPECT_EQ(choose_on(kArch, parse_workload("1879048193 8 8 nn f16"), database),
            choose_on(kArch, parse_workload("2147482623 8 8 nn f16"), database));
}

TEST(Choice, IsNothingForMoreTilesThanAGridHasBlocks) {
  const Database database{DatabaseOptions{}};
  const Workload huge = parse_workload("1073741824 1073741824 8 nt f16");
  try {
    choose_on(kArch, huge, database);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr(to_string(huge)), testing::HasSubstr("tiles")));
  }
}

TEST(Choice, AnExactRecordWins) {
  Database database{DatabaseOptions{}};
  const TuningRecord record = unlikely_record("4096 4096 512 nt f16");
  database.add(record);
  database.add(sample_record("4096 4096 1024 nt f16"));
  const auto choices = choose_on(kArch, record.problem, database);
  EXPECT_EQ(choices.front(), (Choice{record.config, record.launch, Origin::tuned, 0}));
  ASSERT_GE(choices.size(), 2U) << "there are other choices, in case the first cannot be used";
  EXPECT_TRUE(std::ranges::all_of(choices.begin() + 1, choices.end(),
                                  [](const Choice& c) { return c.origin == Origin::estimated; }));
}

TEST(Choice, ARecordForEnergySaysNothingOfTheTimeOfCublas) {
  for (const Objective objective : {Objective::speed, Objective::energy}) {
    Database database{DatabaseOptions{}};
    TuningRecord record = unlikely_record("4096 4096 512 nt f16");
    record.objective = objective;
    record.measure = Measure::sustained;
    record.joules = objective == Objective::energy ? 0.1 : 0;
    record.cublas = {.version = "13.1.0", .ratio = 1.1, .default_ratio = 1.25};
    database.add(record);
    GpuQuery query = query_for(kArch);
    query.objective = objective;
    const Choice choice = choose(record.problem, kArch, database, query).front();
    ASSERT_EQ(choice.origin, Origin::tuned);
    EXPECT_EQ(choice.cublas_ratio, objective == Objective::speed ? 1.25 : 0) << "the ratio of joules is another";
  }
}

/// f16 and bf16 run at the same speed in the same kernels: what was measured for one is the answer for the other.
TEST(Choice, ARecordInTheOther16BitTypeIsAnAnswer) {
  Database database{DatabaseOptions{}};
  const TuningRecord record = unlikely_record("4096 4096 512 nt bf16");
  database.add(record);
  const Workload same_sizes = parse_workload("4096 4096 512 nt f16");
  EXPECT_EQ(choose_on(kArch, same_sizes, database).front(), (Choice{record.config, record.launch, Origin::tuned, 0}));
  const Choice near = choose_on(kArch, parse_workload("4096 3584 512 nt f16"), database).front();
  EXPECT_EQ(near.config, record.config);
  EXPECT_EQ(near.origin, Origin::nearest);
  for (const char* other : {"4096 4096 512 nt f32", "4096 4096 512 nt f16 acc=f16", "4096 4096 512 nn f16"}) {
    EXPECT_EQ(choose_on(kArch, parse_workload(other), database).front().origin, Origin::estimated) << other;
  }
  TuningRecord own = sample_record("4096 4096 512 nt f16");
  database.add(own);
  EXPECT_EQ(choose_on(kArch, same_sizes, database).front().config, own.config) << "of its own type, if there is one";
}

TEST(Choice, ANearRecordComesBeforeTheModel) {
  Database database{DatabaseOptions{}};
  const TuningRecord record = unlikely_record("4096 4096 512 nt f16");
  database.add(record);
  const Workload less = parse_workload("4096 3584 512 nt f16");
  const auto choices = choose_on(kArch, less, database);
  EXPECT_EQ(choices.front().config, record.config);
  EXPECT_EQ(choices.front().launch, record.launch);
  EXPECT_EQ(choices.front().origin, Origin::nearest);
  EXPECT_NEAR(choices.front().distance, std::log2(8.0 / 7), 1e-9);
  EXPECT_EQ(choices[1].origin, Origin::estimated);
}

/// There are many records of single products, and few of groups.
TEST(Choice, GroupsTakeTheConfigOfOneProductIfItSuitsTheirSize) {
  const KernelConfig large = *parse_config("wgmma_m256_n128_k64_c2_sn0_pp0_o0_s4_cm2_cn1_b1");
  const auto choose_beside = [](const char* recorded, const KernelConfig& config, const char* groups) {
    Database database{DatabaseOptions{}};
    TuningRecord record = sample_record(recorded);
    record.config = config;
    record.launch = {};
    database.add(record);
    return choose_on(kArch, parse_workload(groups), database).front();
  };
  for (const auto& [recorded, groups] : {std::pair("32768 4096 14336 nt bf16", "32768 4096 14336 nt bf16 groups=8"),
                                         {"32768 4096 14336 nt bf16", "4096 4096 14336 nt bf16 groups=8,masked"},
                                         {"4096 14336 32768 tn bf16", "4096 14336 32768 tn bf16 groups=8,k"}}) {
    const Choice choice = choose_beside(recorded, large, groups);
    EXPECT_EQ(choice.config, large) << groups;
    EXPECT_EQ(choice.origin, Origin::nearest) << groups;
  }
  EXPECT_NE(choose_beside("256 14336 4096 nt bf16", large, "256 14336 4096 nt bf16 groups=8").config, large)
      << "groups of 32 rows fill an eighth of its tiles";
  const KernelConfig split = *parse_config("wgmma_m128_n128_k64_c2_sn0_pp0_o1_s4_cm1_cn1_b1_sk1");
  EXPECT_EQ(choose_beside("256 1024 14336 nt bf16", split, "256 1024 14336 nt bf16 groups=2").origin, Origin::estimated)
      << "no kernel for groups divides k";
}

TEST(Choice, NearRecordsAreOrderedByTheModel) {
  Database database{DatabaseOptions{}};
  TuningRecord slow = unlikely_record("4096 4096 512 nt f16"), fast = slow;
  slow.config = *parse_config("mma_m16_n32_k32_wm1_wn1_s2_x1_f1_e1_b1");
  fast.problem = parse_workload("4096 4096 600 nt f16");  // further away, but faster
  fast.config = *parse_config("mma_m128_n128_k32_wm2_wn4_s4_x1_f2_e1_b1");
  database.add(slow);
  database.add(fast);
  const auto choices = choose_on(kArch, parse_workload("4096 4096 500 nt f16 align=16"), database);
  EXPECT_EQ(choices[0].config, fast.config);
  EXPECT_EQ(choices[1].config, slow.config);
  EXPECT_EQ(choices[0].origin, Origin::nearest);
  EXPECT_EQ(choices[1].origin, Origin::nearest);
}

TEST(Choice, ANearRecordDoesNotCountWhereItsTilesLeaveAWaveHalfEmpty) {
  // On an H200 the pick of 4096³ takes 99 µs for 1157×4096×4096, and the model's 65: 160 tiles are two waves of 132.
  // Here 128 tiles are one wave, and 144 are two.
  Database database{DatabaseOptions{}};
  TuningRecord record = sample_record("1024 4096 4096 nn f16");
  record.config = *parse_config("wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1");
  database.add(record);
  EXPECT_EQ(choose_on(kArch, parse_workload("1024 4096 3584 nn f16"), database).front().origin, Origin::nearest);
  const auto choices = choose_on(kArch, parse_workload("1024 4608 4096 nn f16"), database);
  EXPECT_EQ(choices.front().origin, Origin::estimated);
  EXPECT_NE(choices.front().config, record.config);
}

TEST(Choice, ANearRecordDoesNotCountWhereItsConfigCannotReadTheCopy) {
  // Rows of 56 elements are copied as their transpose, and rows of 64 as they are. Forty of the latter are no whole
  // slabs.
  Database database{DatabaseOptions{}};
  TuningRecord record = sample_record("4096 56 4096 nn f16 align=16,2,16");
  record.config = *parse_config("wgmma_m256_n40_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1");
  record.launch = with_repacks({}, record.config, record.problem);
  database.add(record);
  EXPECT_EQ(choose_on(kArch, record.problem, database).front().config, record.config);
  const Workload wider = parse_workload("4096 64 4096 nn f16 align=16,2,16");
  for (const Choice& choice : choose_on(kArch, wider, database))
    EXPECT_TRUE(is_legal(choice.config, traits_of(wider, choice.launch), arch_limits(kArch))) << to_string(choice);
}

TEST(Choice, AFarRecordDoesNotCount) {
  Database database{DatabaseOptions{}};
  database.add(unlikely_record("4096 4096 512 nt f16"));
  for (const char* text : {"4096 2048 512 nt f16",  // a factor of two
                           "4096 4096 512 nn f16",  // another layout
                           "4096 4096 512 nt f32",  // another type
                           "4096 4096 512 nt f16 align=8,16,16", "4096 4096 512 nt f16 align=16 beta=1"}) {
    EXPECT_EQ(choose_on(kArch, parse_workload(text), database).front().origin, Origin::estimated) << text;
  }
  EXPECT_EQ(choose_on("sm_80", parse_workload("4096 4096 512 nt f16"), database).front().origin, Origin::estimated);
}

TEST(Choice, APackedProblemHasTheAnswerOfItsClass) {
  const Database database{DatabaseOptions{}};
  for (const auto& [aligned, packed] :
       {std::pair("1000 1001 4001 nn f16 align=16,16,2", "1000 1001 4001 nn f16 prepacked=ab"),
        {"500 333 20001 nt f16 align=16,16,2", "500 333 20001 nt f16 prepacked=ab"}}) {
    const Choice first = choose_on(kArch, parse_workload(packed), database).front();
    EXPECT_EQ(first, choose_on(kArch, parse_workload(aligned), database).front()) << packed;
  }
}

TEST(Choice, FartherRecordsCountWhereTheModelIsNotFitted) {
  const auto origin = [](const char* arch, const char* recorded, const char* text, const char* config) {
    Database database{DatabaseOptions{}};
    TuningRecord record = unlikely_record(recorded);
    record.config = *parse_config(config);
    record.environment.arch = arch;
    database.add(record);
    return choose_on(arch, parse_workload(text), database).front().origin;
  };
  const char* eight_bits = "wgmma_m128_n256_k128_c2_sn0_pp0_o0_s4_cm1_cn1_b1";
  EXPECT_EQ(origin(kArch, "4096 4096 4096 nt s8", "4096 4096 2048 nt s8", eight_bits), Origin::nearest);
  EXPECT_EQ(origin(kArch, "4096 4096 4096 nt s8", "4096 4096 1280 nt s8", eight_bits), Origin::estimated);
  const char* mma = "mma_m128_n128_k32_wm2_wn4_s4_x1_f2_e1_b1";
  EXPECT_EQ(origin("sm_80", "4096 4096 512 nt f16", "4096 2048 512 nt f16", mma), Origin::nearest);
}

TEST(Choice, NoConfigComesTwice) {
  Database database{DatabaseOptions{}};
  TuningRecord record = unlikely_record("4096 4096 512 nt f16");
  record.config = anchors(GemmTraits{.op_b = Op::t}, arch_limits(kArch)).front();
  database.add(record);
  for (const char* text : {"4096 4096 512 nt f16", "4096 2048 512 nt f16"}) {
    const auto choices = choose_on(kArch, parse_workload(text), database);
    for (const Choice& choice : choices) {
      EXPECT_EQ(std::ranges::count(choices, choice.config, &Choice::config), 1) << to_string(choice);
    }
  }
}

GpuQuery query_for(const Environment& environment) {
  GpuQuery query;
  query.environment = environment;
  return query;
}

TEST(Choice, ARecordOfAnotherGpuIsTheNearest) {
  Database database{DatabaseOptions{}};
  const TuningRecord record = unlikely_record("4096 4096 512 nt f16");
  database.add(record);
  Environment other = record.environment;
  EXPECT_EQ(choose(record.problem, kArch, database, query_for(other)).front().origin, Origin::tuned);
  other.sm_count -= 1;
  for (const char* gpu : {"Fictional FX-1000", "Fictional FX-2"}) {
    other.gpu = gpu;
    const Choice choice = choose(record.problem, kArch, database, query_for(other)).front();
    EXPECT_EQ(choice.config, record.config);
    EXPECT_EQ(choice.origin, Origin::nearest);
    EXPECT_EQ(choice.distance, 0);
    EXPECT_FALSE(find_record(record.problem, kArch, database, query_for(other)));
  }
}

/// Records of the same classes by two GPUs under two drivers and three toolchains, with different picks.
void add_mixed_records(Database& database) {
  const std::vector<KernelConfig> configs = some_legal_configs(parse_workload("4096 4096 512 nt f16"));
  std::size_t next = 0;
  for (const char* problem : {"4096 4096 512 nt f16", "4096 2048 512 nt f16"}) {
    for (const char* gpu : {"Fictional FX-1000", "Fictional FX-2"}) {
      for (const auto& [driver, toolchain] :
           {std::pair("580.1", "a"), {"580.1", "b"}, {"590.1", "b"}, {"590.1", "c"}}) {
        TuningRecord record = sample_record(problem);
        record.config = configs[next];
        record.environment = {gpu, kArch, 99, driver, toolchain};
        record.timing.median_us = 100 + static_cast<double>(next * 7 % 13);
        ++next;
        database.add(record);
      }
    }
  }
}

TEST(Choice, EveryGpuGetsTheAnswerOfAKnownEnvironment) {
  Database database{DatabaseOptions{}};
  add_mixed_records(database);
  const std::vector<Environment> known = known_environments(kArch, database);
  for (const char* text : {"4096 4096 512 nt f16", "4096 2048 1024 nt f16", "64 64 64 nn bf16"}) {
    const Workload problem = parse_workload(text);
    std::vector<Choice> without_gpu;
    for (const Environment& environment : known) {
      without_gpu.push_back(choose(problem, kArch, database, query_for(environment)).front());
    }
    std::size_t index = 0;
    for (const char* gpu : {"Fictional FX-1000", "Fictional FX-2", "Fictional FX-3"}) {
      for (const int sm_count : {1, 99, 132}) {
        for (const char* driver : {"580.1", "590.1", "999.1"}) {
          for (const char* toolchain : {"", "a", "b", "c", "d"}) {
            if (!is_drawn(index++, 5)) continue;
            const Environment here{gpu, kArch, sm_count, driver, toolchain};
            const Choice choice = choose(problem, kArch, database, query_for(here)).front();
            EXPECT_THAT(without_gpu, testing::Contains(choice))
                << text << " on " << gpu << " " << sm_count << " " << driver << " " << toolchain;
          }
        }
      }
    }
  }
}

TEST(Choice, IsOneForAClassOfM) {
  Database database{DatabaseOptions{}};
  database.add(unlikely_record("4096 4096 512 nt f16"));
  for (const char* shape : {"x4096x512 nt f16", "x1000x512 nn bf16"}) {
    for (const std::int64_t m : {5, 100, 3600, 4000}) {
      const std::int64_t last = class_m(m);
      const Workload small = parse_workload(std::to_string(m) + shape),
                     large = parse_workload(std::to_string(last) + shape);
      ASSERT_LT(m, last);
      EXPECT_EQ(choose_on(kArch, small, database), choose_on(kArch, large, database)) << m << shape;
    }
  }
}

TEST(Choice, WhatNothingComputesIsNotSupported) {
  const Database database{DatabaseOptions{}};
  const Workload problem = parse_workload("128 128 128 nn f16 acc=f16");
  try {
    choose_on("sm_75", problem, database);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    EXPECT_NE(std::string(error.what()).find("sm_75"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("acc=f16"), std::string::npos) << error.what();
  }
  EXPECT_EQ(family_of(choose_on("sm_75", parse_workload("128 128 128 nn f16"), database).front().config).name, "simt");
  EXPECT_EQ(family_of(choose_on("sm_80", problem, database).front().config).name, "mma");
}

TEST(Choice, SaysWhereItCameFrom) {
  Choice choice{MmaConfig{}, {8, false}, Origin::tuned, 0};
  EXPECT_EQ(to_string(choice), "mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1 r8m, tuned");
  choice.origin = Origin::nearest;
  choice.distance = 0.415;
  EXPECT_TRUE(to_string(choice).ends_with("nearest (0.41)") || to_string(choice).ends_with("nearest (0.42)"));
  choice.origin = Origin::estimated;
  EXPECT_TRUE(to_string(choice).ends_with("estimated"));
}

}  // namespace
}  // namespace hotgemm
