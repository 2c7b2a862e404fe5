#include "config/permitted.hpp"

#include "config/launch_shape.hpp"
#include "config/repack.hpp"
#include "config/sm_limit.hpp"
#include "plan/candidates.hpp"
#include "plan/choice.hpp"
#include "plan/model.hpp"
#include "tune/candidate.hpp"
#include "unit/database_fixture.hpp"
#include "unit/plan_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kArch = "sm_90a";

GpuQuery on_gpu(int sm_count) {
  GpuQuery query;
  query.environment.arch = kArch;
  query.environment.sm_count = sm_count;
  return query;
}
std::vector<Choice> choose_for(const Workload& problem, int sm_count) {
  const Database database{DatabaseOptions{}};
  return choose(problem, kArch, database, on_gpu(sm_count));
}
Workload limited(const char* text, int sm_limit) {
  Workload problem = parse_workload(text);
  problem.sm_limit = sm_limit;
  return problem;
}
std::int64_t blocks_of(const KernelConfig& config, const LaunchConfig& launch, const Workload& p, int sm_count) {
  return launch_shape(config, traits_of(p, launch)).blocks(p.m, p.n, sm_count, launch.splits, p.sm_limit);
}

TEST(SmLimit, LeavesPersistentBlocksAnSmEach) {
  const auto blocks = [](const WgmmaConfig& config, int sm_limit) {
    return launch_shape(config, GemmTraits{}).blocks(65536, 8192, 132, 1, sm_limit);
  };
  const WgmmaConfig two_an_sm{.block_m = 64, .block_n = 64, .consumers = 1, .blocks_per_sm = 2};
  const WgmmaConfig pair{.cluster_m = 2};
  EXPECT_EQ(blocks({}, 100), 100);
  EXPECT_EQ(blocks({}, 132), 132);
  EXPECT_EQ(blocks({}, 500), 132);
  EXPECT_EQ(blocks(two_an_sm, 0), 264);
  EXPECT_EQ(blocks(two_an_sm, 100), 100) << "200 blocks would spread over all SMs";
  EXPECT_EQ(blocks(two_an_sm, 132), 264) << "the limit leaves out no SM";
  EXPECT_EQ(blocks(pair, 101), 100) << "whole clusters";
  EXPECT_EQ(blocks(pair, 1), 2) << "no grid is smaller than a cluster";
  EXPECT_EQ(launch_shape(WgmmaConfig{}, GemmTraits{}).blocks(128, 512, 132, 1, 100), 2);
}

TEST(SmLimit, IsHeldByFewBlocksAndNoProgrammaticLaunch) {
  const Workload problem = limited("1024 1024 1024 nt f16", 64);
  const WgmmaConfig alone{.block_m = 128, .block_n = 128, .one_tile = true};
  EXPECT_TRUE(keeps_sm_limit(WgmmaConfig{}, {}, problem, 132));
  EXPECT_FALSE(keeps_sm_limit(WgmmaConfig{}, {.programmatic = true}, problem, 132));
  EXPECT_TRUE(keeps_sm_limit(WgmmaConfig{}, {.programmatic = true}, problem, 64));
  EXPECT_TRUE(keeps_sm_limit(alone, {}, problem, 132)) << "64 tiles";
  EXPECT_FALSE(keeps_sm_limit(alone, {}, limited("1025 1024 1024 nt f16", 64), 132));
  EXPECT_FALSE(keeps_sm_limit(alone, {}, limited("1000 1032 1024 nt f16", 64), 132));
  EXPECT_FALSE(keeps_sm_limit(alone, {}, limited("897 1024 1024 nt f16", 63), 132)) << "m = 1024 is of the same class";
  EXPECT_FALSE(keeps_sm_limit(WgmmaConfig{.cluster_m = 2}, {}, limited("1024 1024 64 nt f16", 1), 132));
  const WgmmaConfig split{.block_m = 128, .block_n = 128, .one_tile = true, .split_k = true};
  EXPECT_TRUE(keeps_sm_limit(split, {.splits = 16}, limited("256 256 8192 nt f16", 64), 132));
  EXPECT_FALSE(keeps_sm_limit(split, {.splits = 17}, limited("256 256 8192 nt f16", 64), 132));
}

TEST(SmLimit, IsHeldByEveryChoiceAndEveryCandidate) {
  for (const char* text :
       {"4096 4096 4096 nt f16", "4099 4099 4099 nn bf16", "17 4096 14336 nt f16", "1 4096 4096 tn bf16 workspace=none",
        "100 777 1000 tt f16 acc=f16 align=2 beta=1", "64 64 131072 nt f16", "0 8 8 nn f16", "32 32 64 nn f32"}) {
    for (const int sm_limit : {1, 2, 66, 131}) {
      const Workload problem = limited(text, sm_limit);
      for (const Choice& c : choose_for(problem, 132)) {
        if (problem.m > 0) {
          EXPECT_LE(blocks_of(c.config, c.launch, problem, 132), sm_limit) << to_string(c) << " " << text;
        }
        EXPECT_FALSE(c.launch.programmatic) << to_string(c) << " " << text;
      }
      if (problem.m == 0) continue;
      for (const Candidate& c : pick_candidates(problem, nominal_device(kArch), 24)) {
        EXPECT_LE(blocks_of(c.config, c.launch, problem, 132), sm_limit) << to_string(c.config) << " " << text;
        for (const LaunchConfig& launch : rasters(c.config, problem, 132, c.predicted_us)) {
          EXPECT_TRUE(keeps_sm_limit(c.config, launch, problem, 132)) << to_string(c.config) << to_string(launch);
        }
      }
    }
  }
}

/// Every problem for which there are persistent kernels has one that stays within any limit, without workspace too.
TEST(SmLimit, CanBeHeldWhereThereArePersistentKernels) {
  for (const TypePair& types : kTensorTypes) {
    for (const Layout& layout : kLayouts) {
      for (const int vec : {8, 4, 2, 1}) {
        Workload problem = workload_of(make_traits(types, layout, vec == 2, vec), 3000, 3000, 1000);
        problem.sm_limit = 1;
        problem.hints.workspace = WorkspaceClass::none;
        EXPECT_NO_THROW(choose_for(problem, 132)) << to_string(problem);
      }
    }
  }
}

TEST(SmLimit, ThatLeavesOutNoSmChangesNothing) {
  for (const char* text : {"4096 4096 4096 nt f16", "17 4096 14336 nt f16", "4096 4096 4096 nn f32"}) {
    EXPECT_EQ(choose_for(limited(text, 132), 132), choose_for(parse_workload(text), 132)) << text;
    EXPECT_EQ(choose_for(limited(text, 120), 114), choose_for(parse_workload(text), 114)) << text;
  }
  EXPECT_NE(choose_for(limited("17 4096 14336 nt f16", 120), 132),
            choose_for(parse_workload("17 4096 14336 nt f16"), 132));
}

TEST(SmLimit, ThatNoKernelHoldsIsRefusedWithTheReason) {
  try {
    choose_for(limited("4096 4096 4096 nn f32", 66), 132);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("4096 4096 4096 nn f32 sms=66"),
                               testing::HasSubstr("the limit of 66 SMs"), testing::HasSubstr("at least 512 blocks")));
  }
  EXPECT_THROW(pick_candidates(limited("4096 4096 4096 nn f32", 66), nominal_device(kArch), 24), Error);
}

TEST(SmLimit, FindsTheRecordsOfTheSameLimitOrOfNone) {
  Database database{DatabaseOptions{}};
  TuningRecord record = sample_record("4096 4096 512 nt f16");
  record.config = WgmmaConfig{};
  record.launch = {3, true};
  database.add(record);
  const auto found = [&](int sm_limit, int sm_count) {
    return choose(limited("4096 4096 512 nt f16", sm_limit), kArch, database, on_gpu(sm_count)).front().origin;
  };
  EXPECT_EQ(found(0, 132), Origin::tuned);
  EXPECT_EQ(found(132, 132), Origin::tuned);
  EXPECT_EQ(found(66, 132), Origin::estimated);
  record.problem.sm_limit = 66;
  database.add(record);
  EXPECT_EQ(found(66, 132), Origin::tuned);
}

TEST(Permitted, RecordsObeyTheRulesOfTheirProblem) {
  Database database{DatabaseOptions{}};
  TuningRecord record = sample_record("4096 4096 512 nt f16 order=batch_invariant");
  EXPECT_THROW(database.add(record), Error) << "family mma, where wgmma is invariant";
  record.config = WgmmaConfig{};
  EXPECT_NO_THROW(database.add(record));
  record.problem = parse_workload("4096 4096 512 nt f16 sms=66");
  EXPECT_NO_THROW(database.add(record));
  record.launch.programmatic = true;
  EXPECT_THROW(database.add(record), Error);
  record.launch.programmatic = false;
  record.config = MmaConfig{};
  EXPECT_THROW(database.add(record), Error);
}

TEST(Permitted, ARecordOfAnotherOrderDoesNotStandBeforeANearOneOfTheSame) {
  Database database{DatabaseOptions{}};
  database.add(sample_record("4096 4096 512 nt f16"));  // family mma, where wgmma is invariant
  TuningRecord near = sample_record("4096 4096 576 nt f16 order=batch_invariant");
  near.config = WgmmaConfig{};
  near.launch = {3, true};
  database.add(near);
  const Workload problem = parse_workload("4096 4096 512 nt f16 order=batch_invariant");
  EXPECT_EQ(choose(problem, kArch, database, on_gpu(132)).front().origin, Origin::nearest);
}

TEST(SmLimit, CountsTheBlocksOfTheLargestBatchOfTheClass) {
  const auto blocks = [](const char* batch) {
    return blocks_under_limit(SimtConfig{}, {}, parse_workload("64 64 64 nn f32 sms=66 batch=" + std::string(batch)));
  };
  EXPECT_EQ(blocks("3"), blocks("4"));
  EXPECT_LT(blocks("2"), blocks("3"));
}

TEST(SmLimit, TheModelSeesFewerSms) {
  const Workload problem = parse_workload("8192 8192 8192 nt f16");
  Workload half = problem;
  half.sm_limit = 66;
  const DeviceInfo device = nominal_device(kArch);
  EXPECT_GT(predict_us(WgmmaConfig{}, half, device), 1.8 * predict_us(WgmmaConfig{}, problem, device));
  half.sm_limit = device.sm_count;
  EXPECT_EQ(predict_us(WgmmaConfig{}, half, device), predict_us(WgmmaConfig{}, problem, device));
}

TEST(SmLimit, IsPlannedForGpusOnBothSidesOfIt) {
  const std::vector<Environment> known{{.gpu = "G", .arch = kArch, .sm_count = 132}};
  EXPECT_EQ(environments_for(parse_problem("8 8 8 nt f16"), known), known);
  std::vector<int> counts;
  for (const Environment& e : environments_for(parse_problem("8 8 8 nt f16 sms=66"), known))
    counts.push_back(e.sm_count);
  EXPECT_THAT(counts, testing::ElementsAre(132, 66, 67));
}

}  // namespace
}  // namespace hotgemm
