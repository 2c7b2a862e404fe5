#include "standin/search_fixture.hpp"

#include "plan/power_model.hpp"
#include "tune/row_launch.hpp"

#include <functional>

namespace hotgemm::standin {
namespace {

/// Tests of a problem that keeps the tensor cores busy.
class PowerSearchTest : public SearchTest {
 protected:
  PowerSearchTest() {
    gpu_.facts().info = nominal_device("sm_90a");
    options_.with_blocks = true;
    gpu_.us = [](const Trial&) { return 220.0; };
    gpu_.noise = 0.0005;
  }
  /// Rounds prefer `fast`, blocks prefer `frugal`.
  void disagree(const KernelConfig& fast, const KernelConfig& frugal) {
    gpu_.us = [=](const Trial& t) { return t.config == fast ? 200.0 : 220.0; };
    gpu_.alone_us = [=](const Trial& t) { return t.config == frugal ? 210.0 : 230.0; };
  }
};

TEST_F(PowerSearchTest, BlocksDecideWhereThePowerCapBinds) {
  const std::vector<Candidate> rows = candidates(20);
  const auto joules = [&](const Candidate& c) { return picojoules_per_flop(c.config, problem_); };
  const Candidate& frugal = *std::ranges::min_element(rows, {}, joules);
  const Candidate& greedy = *std::ranges::max_element(rows, {}, joules);
  disagree(greedy.config, frugal.config);
  gpu_.power_binds = true;
  const TuneOutcome outcome = search(rows);
  EXPECT_EQ(name(outcome.candidates.front()), name(frugal));
  EXPECT_EQ(outcome.record->measure, Measure::sustained);
  EXPECT_FALSE(outcome.record->is_provisional);
  EXPECT_EQ(outcome.record->power_limit_w, 700);
  EXPECT_NEAR(outcome.record->timing.median_us, 210, 1);
  EXPECT_THAT(gpu_.block_counts, testing::ElementsAre(1u, 12u, 4u))
      << "the verdict, all, two leaders in two rasters each";
  EXPECT_EQ(*outcome.record, rounded(*outcome.record));
  EXPECT_EQ(engine().database.all().front().record, *outcome.record);
}

TEST_F(PowerSearchTest, TheModelNamesHalfOfAShortFinalToo) {
  const std::vector<Candidate> rows = candidates(40);
  double least = 2;
  for (const Candidate& c : rows) least = std::min(least, picojoules_per_flop(c.config, problem_));
  const auto is_frugal = [&](const KernelConfig& c) { return picojoules_per_flop(c, problem_) <= 1.05 * least; };
  gpu_.us = [&](const Trial& t) { return is_frugal(t.config) ? 225.0 : 220.0; };
  gpu_.alone_us = [&](const Trial& t) { return is_frugal(t.config) ? 210.0 : 230.0; };
  gpu_.power_binds = true;
  options_.budget_s = 9.2;
  EXPECT_TRUE(is_frugal(search(rows).record->config));
  EXPECT_THAT(gpu_.block_counts, testing::ElementsAre(1u, 6u, 2u));
}

TEST_F(PowerSearchTest, ARasterWinsOnlyIfItBeatsTheDefaultAlone) {
  const std::vector<Candidate> rows = candidates(20);
  gpu_.power_binds = true;
  const LaunchConfig by_luck{2, false}, good{4, true};
  disagree(rows[3].config, rows[3].config);
  ASSERT_NE(rows[3].launch, by_luck);
  ASSERT_NE(rows[3].launch, good);
  gpu_.us = [&](const Trial& t) {
    return (t.config == rows[3].config ? 200.0 : 220.0) - (t.launch == by_luck ? 9 : 0);
  };
  gpu_.alone_us = [&](const Trial& t) {
    return (t.config == rows[3].config ? 210.0 : 230.0) + (t.launch == rows[3].launch ? 0 : 40);
  };
  for (const int rounds : {1, 1000}) {  // of races in rounds; blocks are one round
    gpu_.most_rounds = rounds;
    const TuneOutcome outcome = search(rows);
    EXPECT_EQ(gpu_.block_counts.back(), rounds == 1 ? 2u : 4u) << "one round names no other raster";
    EXPECT_EQ(outcome.record->config, rows[3].config);
    EXPECT_EQ(outcome.record->launch, rows[3].launch) << "another raster is faster in rounds, and slower alone";
    EXPECT_EQ(outcome.record->measure, Measure::sustained);
  }
  gpu_.us = [&](const Trial& t) { return (t.config == rows[3].config ? 200.0 : 220.0) - (t.launch == good ? 2 : 0); };
  gpu_.alone_us = [&](const Trial& t) {
    return (t.config == rows[3].config ? 210.0 : 230.0) - (t.launch == good ? 4 : 0);
  };
  EXPECT_EQ(search(rows).record->launch, good);
}

TEST_F(PowerSearchTest, WithinATieOfBlocksTheEarlierNameWinsWhateverTheNoise) {
  options_.with_rasters = false;
  gpu_.power_binds = true;
  const std::vector<Candidate> rows = candidates(4);
  const std::string earliest = std::min({name(rows[0]), name(rows[1]), name(rows[2]), name(rows[3])});
  for (int run = 0; run < 20; ++run) {
    const TuneOutcome outcome = search(rows);
    EXPECT_EQ(to_string(outcome.record->config), earliest);
    EXPECT_EQ(outcome.record->measure, Measure::sustained);
  }
}

TEST_F(PowerSearchTest, RoundsDecideWhereItDoesNot) {
  const std::vector<Candidate> rows = candidates(20);
  disagree(rows[7].config, rows[2].config);
  for (const bool has_nvml : {true, false}) {
    gpu_.has_nvml = has_nvml;
    gpu_.power_binds = !has_nvml;
    gpu_.block_counts.clear();
    const TuneOutcome outcome = search(rows);
    EXPECT_EQ(name(outcome.candidates.front()), name(rows[7]));
    EXPECT_EQ(outcome.record->measure, Measure::rounds);
    EXPECT_FALSE(outcome.record->is_provisional);
    EXPECT_THAT(gpu_.block_counts, testing::ElementsAre(1u));
  }
}

/// Tests of a search without blocks, among a kernel that moves many bytes and one that moves few.
class ModelledSearchTest : public PowerSearchTest {
 protected:
  ModelledSearchTest() {
    options_.with_blocks = false;
    gpu_.power_binds = true;
    rows_ =
        candidates(400);  // so many that there is a small tile, which moves more than twice the bytes of the largest
    const auto joules = [&](const Candidate& c) { return picojoules_per_flop(c.config, problem_); };
    std::ranges::stable_sort(rows_, std::greater(), joules);
  }
  const Candidate& greedy() const { return rows_.front(); }
  const Candidate& frugal() const { return rows_.back(); }
  double capped(const Candidate& c, double clocks) const {
    return capped_time(clocks, picojoules_per_flop(c.config, problem_));
  }
  /// Times in rounds.
  void take(double greedy_us, double frugal_us, double other_us) {
    gpu_.us = [=, this](const Trial& t) {
      return t.config == greedy().config ? greedy_us : t.config == frugal().config ? frugal_us : other_us;
    };
  }

  std::vector<Candidate> rows_;
};

TEST_F(ModelledSearchTest, TheModelWeighsRounds) {
  ASSERT_LT(capped(frugal(), 1.04), capped(greedy(), 1));
  take(200, 208, 229);
  for (const bool with_blocks : {false, true}) {
    options_.with_blocks = with_blocks;
    options_.budget_s = 2;  // too short for blocks
    const TuneOutcome outcome = search(rows_);
    EXPECT_EQ(name(outcome.candidates.front()), name(frugal())) << "the greedy kernel is the fastest in rounds";
    EXPECT_TRUE(outcome.record->is_provisional);
    EXPECT_EQ(outcome.record->cause, ProvisionalCause::no_blocks);
    EXPECT_EQ(outcome.record->measure, Measure::modelled);
    EXPECT_NEAR(outcome.record->timing.median_us, 208, 15) << "as measured, not as weighed";
    EXPECT_THAT(gpu_.block_counts, testing::IsEmpty());
    const TuningRecord kept = engine().database.find(problem_, {.environment = outcome.record->environment})->record;
    EXPECT_EQ(kept.config, outcome.record->config);
    EXPECT_LE(kept.timing.median_us, outcome.record->timing.median_us) << "of two provisional ones the faster";
  }
}

TEST_F(ModelledSearchTest, AKernelThatNeedsTooManyClocksIsNotPicked) {
  constexpr double kClocks = kMostClocks + 0.02;
  ASSERT_LT(capped(frugal(), kClocks), capped(greedy(), 1)) << "the model alone would pick it";
  take(200, 200 * kClocks, 400);
  const TuneOutcome outcome = search(rows_);
  EXPECT_EQ(name(outcome.candidates.front()), name(greedy()));
  EXPECT_EQ(outcome.record->measure, Measure::modelled);
}

TEST_F(ModelledSearchTest, RoundsDecideWhereThereIsNoModel) {
  problem_.types = kF32;
  rows_ = candidates(20);
  gpu_.us = [this](const Trial& t) { return t.config == rows_[5].config ? 4000.0 : 4100.0; };
  ASSERT_TRUE(may_reach_power_cap(problem_, 4000, gpu_.gpu().info));
  const TuneOutcome outcome = search(rows_);
  EXPECT_EQ(name(outcome.candidates.front()), name(rows_[5]));
  EXPECT_EQ(outcome.record->measure, Measure::rounds);
  EXPECT_EQ(outcome.record->cause, ProvisionalCause::no_blocks);
}

TEST_F(ModelledSearchTest, RoundsDecideWhereKernelsWaitForMemory) {
  problem_.m = 128;
  problem_.n = 14336;
  problem_.k = 8192;
  rows_ = candidates(400);
  std::ranges::stable_sort(rows_, std::greater(),
                           [&](const Candidate& c) { return picojoules_per_flop(c.config, problem_); });
  ASSERT_LT(capped(frugal(), 1.04), capped(greedy(), 1)) << "the model would pick the frugal kernel";
  take(67, 67 * 1.04, 77);
  const TuneOutcome outcome = search(rows_);
  EXPECT_EQ(name(outcome.candidates.front()), name(greedy()));
  EXPECT_NE(outcome.record->measure, Measure::modelled);
  EXPECT_EQ(outcome.record->cause, ProvisionalCause::no_blocks);
}

TEST_F(ModelledSearchTest, NoRasterIsChosenByRounds) {
  take(200, 208, 229);
  const LaunchConfig fast{4, true};
  ASSERT_NE(frugal().launch, fast);
  gpu_.us = [us = gpu_.us, fast](const Trial& t) { return us(t) - (t.launch == fast ? 4 : 0); };
  const TuneOutcome outcome = search(rows_);
  EXPECT_EQ(name(outcome.candidates.front()), name(frugal()));
  EXPECT_EQ(outcome.record->launch, frugal().launch) << "rounds do not tell what a raster costs alone";
}

TEST_F(ModelledSearchTest, TheEstimatesKernelStaysInTheRace) {
  std::vector<double> us(rows_.size(), 205);
  us[0] = 200;  // the greedy one comes first
  const std::vector<RowLaunch> all = [&] {
    std::vector<RowLaunch> entries;
    for (std::size_t i = 0; i < rows_.size(); ++i) entries.push_back({i, rows_[i].launch});
    return entries;
  }();
  const auto chosen = entries_for_model(rows_, all, us, problem_, 3);
  ASSERT_EQ(chosen.size(), 4u);
  EXPECT_EQ(chosen.back().candidate, 0u);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_LE(picojoules_per_flop(rows_[chosen[i - 1].candidate].config, problem_),
              picojoules_per_flop(rows_[chosen[i].candidate].config, problem_));
  }
  us[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(entries_for_model(rows_, all, us, problem_, 3).size(), 3u) << "it has no time";
}

TEST_F(ModelledSearchTest, TheFastestSetsTheLimitOfClocks) {
  std::vector<RowLaunch> all;
  for (std::size_t i = 0; i < rows_.size(); ++i) all.push_back({i, rows_[i].launch});
  std::vector<double> us(rows_.size(), 1.2 * 200);  // frugal ones beyond the limit
  const std::size_t greedy = 0, estimate = rows_.size() - 1;
  us[greedy] = 200;
  std::rotate(all.begin(), all.begin() + 1, all.end());
  const auto chosen = entries_for_model(rows_, all, us, problem_, 3);
  ASSERT_EQ(chosen.size(), 1u) << "all others need more than kMostClocks";
  EXPECT_EQ(chosen[0].candidate, greedy);
  us[estimate] = 210;
  EXPECT_EQ(entries_for_model(rows_, all, us, problem_, 3).size(), 2u);
}

TEST_F(PowerSearchTest, AProblemThatLeavesTheTensorCoresIdleIsNotAsked) {
  const std::vector<Candidate> rows = candidates(5);
  gpu_.us = [](const Trial&) { return 2000.0; };
  gpu_.power_binds = true;
  EXPECT_FALSE(search(rows).record->is_provisional);
  EXPECT_THAT(gpu_.block_counts, testing::IsEmpty());
}

TEST_F(PowerSearchTest, WhatFailsInABlockIsNotPicked) {
  const std::vector<Candidate> rows = candidates(5);
  disagree(rows[1].config, rows[2].config);
  gpu_.power_binds = true;
  gpu_.failure = [&](const Trial& t) {
    const bool is_late = gpu_.block_counts.size() >= 2 && t.config == rows[2].config;
    return is_late ? std::string("hung: no answer within 2.0 s") : std::string();
  };
  const TuneOutcome outcome = search(rows);
  EXPECT_NE(outcome.record->config, rows[2].config);
  EXPECT_EQ(outcome.record->measure, Measure::sustained);
}

/// Tests of the two objectives: a kernel that is the fastest alone, and a slower one that draws less power.
class EnergySearchTest : public PowerSearchTest {
 protected:
  EnergySearchTest() {
    rows_ = candidates(20);
    gpu_.us = [this](const Trial& t) { return t.config == fast() ? 200.0 : t.config == frugal() ? 210.0 : 240.0; };
    gpu_.watts = [this](const Trial& t) { return t.config == frugal() ? 500.0 : 600.0; };
  }
  const KernelConfig& fast() const { return rows_[7].config; }
  const KernelConfig& frugal() const { return rows_[2].config; }
  TuneOutcome search_for(Objective objective) {
    options_.objective = objective;
    return search(rows_);
  }

  std::vector<Candidate> rows_;
};

TEST_F(EnergySearchTest, ASlowerKernelWithFewerJoulesWinsForEnergyAndLosesForSpeed) {
  for (const bool binds : {true, false}) {
    SCOPED_TRACE(binds ? "the power cap binds" : "it does not");
    gpu_.power_binds = binds;
    const TuningRecord quick = *search_for(Objective::speed).record;
    EXPECT_EQ(quick.config, fast());
    EXPECT_EQ(quick.objective, Objective::speed);
    EXPECT_EQ(quick.measure, binds ? Measure::sustained : Measure::rounds);
    const TuneOutcome outcome = search_for(Objective::energy);
    EXPECT_EQ(outcome.record->config, frugal());
    EXPECT_EQ(outcome.record->objective, Objective::energy);
    EXPECT_EQ(outcome.record->measure, Measure::sustained);
    EXPECT_FALSE(outcome.record->is_provisional);
    EXPECT_NEAR(outcome.record->joules, 500 * 210e-6, 0.001);
    EXPECT_NEAR(outcome.record->timing.median_us, 210, 1);
    EXPECT_NEAR(outcome.of_fastest, 200.0 / 210, 0.005);
    EXPECT_EQ(outcome.candidates.front().config, frugal()) << "the pick comes first, though it is slower";
  }
}

TEST_F(EnergySearchTest, TheRecordOfEachObjectiveStays) {
  search_for(Objective::speed);
  search_for(Objective::energy);
  GpuQuery query = engine().query(gpu_.gpu().environment);
  EXPECT_EQ(engine().database.find(problem_, query)->record.config, fast());
  query.objective = Objective::energy;
  EXPECT_EQ(engine().database.find(problem_, query)->record.config, frugal());
}

TEST_F(EnergySearchTest, ShortProblemsHaveBlocksToo) {
  problem_.m = problem_.n = problem_.k = 256;
  rows_ = candidates(8);
  EXPECT_EQ(search_for(Objective::energy).record->config, frugal());
  EXPECT_THAT(gpu_.block_counts, testing::ElementsAre(1u, 8u, testing::Ge(2u)));
}

TEST_F(EnergySearchTest, NoRasterThatGainsInAChainIsPicked) {
  problem_.m = problem_.n = problem_.k = 256;
  rows_ = candidates(8);
  gpu_.us = [](const Trial& t) { return t.launch.programmatic ? 90.0 : 100.0; };
  EXPECT_FALSE(search_for(Objective::energy).record->launch.programmatic);
}

TEST_F(EnergySearchTest, WithoutThePowerItRefuses) {
  for (const bool has_nvml : {true, false}) {
    gpu_.has_nvml = has_nvml;
    gpu_.watts = nullptr;
    expect_thrown(ErrorCode::not_supported, {"for energy", "NVML does not tell the power"},
                  [&] { search_for(Objective::energy); });
  }
  EXPECT_THAT(engine().database.all(), testing::IsEmpty());
}

TEST_F(EnergySearchTest, ACancelledSearchRecordsNoGuess) {
  observer_.is_cancelled = [&] { return !gpu_.entries_raced.empty(); };
  expect_thrown(ErrorCode::interrupted, {}, [&] { search_for(Objective::energy); });
  EXPECT_THAT(engine().database.all(), testing::IsEmpty());
}

TEST_F(EnergySearchTest, ThePickIsComparedWithCublasAsItWasPicked) {
  search_for(Objective::speed);
  EXPECT_THAT(gpu_.questions, testing::IsEmpty()) << "only on request";
  options_.cublas = CublasScope::all;
  for (const Objective objective : {Objective::speed, Objective::energy}) {
    const TuningRecord record = *search_for(objective).record;
    EXPECT_EQ(record.cublas, (CublasComparison{"13.1.0", std::string(128, 'a'), 0.97, 0.9}));
    EXPECT_EQ(gpu_.compared, to_string(record.config));
    EXPECT_EQ(gpu_.questions.back().measure, record.measure);
    EXPECT_EQ(gpu_.questions.back().objective, objective);
  }
  gpu_.cublas_failure = "no such library";
  const TuneOutcome outcome = search_for(Objective::speed);
  EXPECT_EQ(outcome.cublas_failure, "no such library");
  EXPECT_EQ(outcome.record->cublas, CublasComparison{}) << "the pick is recorded all the same";
}

}  // namespace
}  // namespace hotgemm::standin
