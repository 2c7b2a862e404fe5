#include "standin/runtime_fixture.hpp"

#include "plan/candidates.hpp"
#include "plan/power_model.hpp"
#include "tune/search.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

namespace hotgemm::standin {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A GPU whose kernels take the times that the test sets, plus some noise.
class FakeMeasurer final : public Measurer {
 public:
  FakeMeasurer() {
    gpu_.info = nominal_device("sm_90a");
    gpu_.environment = {.gpu = "fake", .arch = "sm_90a", .sm_count = 132, .driver = "1", .toolchain = "t"};
  }

  const GpuFacts& gpu() const override { return gpu_; }
  void begin(const Workload&, const MeasureOptions& options) override { baseline_us_ = options.with_baseline ? 50 : 0; }
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) override {
    std::vector<Verdict> verdicts;
    for (const Trial& t : trials) {
      checked.push_back(to_string(t.config));
      verdicts.push_back(verdict ? verdict(t, seed) : Verdict{});
    }
    return verdicts;
  }
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override {
    RaceResult result;
    if (options.blocks) block_counts.push_back(trials.size());
    const bool has_baseline = with_baseline && baseline_us_ > 0;
    result.us.resize(trials.size() + (has_baseline ? 1 : 0));
    result.failures.resize(result.us.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (failure) result.failures[i] = failure(trials[i]);
      if (time_left <= 0) result.failures[i] = kNoTimeLeft;
    }
    std::normal_distribution<double> own(1, noise), drift(1, 0.05);
    for (int round = 0; round < std::min(options.rounds, most_rounds) && time_left > 0; ++round) {
      const double clock = drift(random_);
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const auto& speed = options.blocks ? alone_us : is_timed_behind(trials) ? behind_us : us;
        const double own_us = (speed ? speed : us)(trials[i]) * (options.blocks ? 1 : clock);  // alone: its own clock
        result.us[i].push_back(result.failures[i].empty() ? own_us * own(random_) : kNan);
      }
      if (has_baseline) result.us.back().push_back(baseline_us_ * clock * own(random_));
      ++result.rounds_done;
    }
    if (options.blocks) {
      BlockReport report;
      report.clock.samples = has_nvml ? 100 : 0;
      report.clock.power_cap_share = power_binds ? 0.9 : 0.1;
      result.blocks.assign(result.us.size(), report);
      result.power_limit_w = 700;
    }
    entries_raced.push_back(trials.size());
    warm_ups_us.push_back(options.warm_up_us);
    --time_left;
    return result;
  }
  void end() override { ++ended; }
  std::string baseline() const override { return baseline_us_ > 0 ? "cublas" : ""; }

  std::function<double(const Trial&)> us = [](const Trial&) { return 100.0; };
  std::function<Verdict(const Trial&, unsigned)> verdict;
  std::function<std::string(const Trial&)> failure;
  std::function<double(const Trial&)> alone_us;   ///< in blocks; empty: as in rounds
  std::function<double(const Trial&)> behind_us;  ///< behind a foreign kernel; empty: as in chains
  bool has_nvml = true;
  bool power_binds = false;
  std::vector<std::size_t> block_counts;  ///< trials of each race over blocks
  double noise = 0.001;
  int time_left = 1000;    // number of races until the deadline
  int most_rounds = 1000;  // of a race, as if launches were long and the deadline near
  std::vector<std::string> checked;
  std::vector<std::size_t> entries_raced;
  std::vector<double> warm_ups_us;
  int ended = 0;

 private:
  GpuFacts gpu_;
  double baseline_us_ = 0;
  std::mt19937_64 random_{3};
};

class SearchTest : public testing::Test {
 protected:
  SearchTest() { set_test_environment(); }

  Engine& engine() {
    if (!engine_) engine_.emplace(options_in(cache_.path(), Policy::tune));
    return *engine_;
  }
  void forget_engine() { engine_.reset(); }
  std::vector<Candidate> candidates(std::size_t count) {
    std::vector<Candidate> rows = all_candidates(problem_, nominal_device("sm_90a"));
    rows.resize(count);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].identity = std::string(62, '0') + static_cast<char>('a' + i / 6) + static_cast<char>('a' + i % 6);
      rows[i].cubin = std::make_shared<const Cubin>();
    }
    return rows;
  }
  TuneOutcome search(std::vector<Candidate> rows) {
    return hotgemm::search(engine(), gpu_, problem_, std::move(rows), options_, observer_);
  }
  static std::string name(const Candidate& c) { return to_string(c.config); }

  ScratchDirectory cache_;
  std::optional<Engine> engine_;
  Workload problem_{Problem{.m = 4096, .n = 4096, .k = 4096}};
  FakeMeasurer gpu_;
  SearchOptions options_{.budget_s = 100};
  SearchObserver observer_;
};

TEST_F(SearchTest, FindsTheFastestConfigAndRaster) {
  const std::vector<Candidate> rows = candidates(20);
  for (const std::size_t best : {std::size_t{0}, std::size_t{7}, std::size_t{19}}) {
    gpu_.us = [&](const Trial& t) {
      return (t.config == rows[best].config ? 100.0 : 104.0) - (t.launch == LaunchConfig{4, true} ? 2 : 0);
    };
    const TuneOutcome outcome = search(rows);
    EXPECT_EQ(outcome.record->config, rows[best].config);
    EXPECT_EQ(outcome.record->launch, (LaunchConfig{4, true}));
    EXPECT_EQ(name(outcome.candidates.front()), name(rows[best]));
    EXPECT_EQ(outcome.candidates.size(), 20u);
    EXPECT_EQ(outcome.measured, 20);
    EXPECT_FALSE(outcome.is_partial);
    EXPECT_NEAR(outcome.record->timing.median_us, 98, 10);
    EXPECT_GE(outcome.record->timing.samples, options_.rounds);
  }
  EXPECT_EQ(gpu_.ended, 3);
}

TEST_F(SearchTest, ProgrammaticLaunchesAreDecidedBehindAForeignKernel) {
  problem_.m = problem_.n = problem_.k = 256;
  gpu_.us = [&](const Trial& t) { return t.launch.programmatic ? 90.0 : 100.0; };
  for (const bool gains : {false, true}) {
    gpu_.behind_us = [&](const Trial& t) { return t.launch.programmatic ? (gains ? 97.0 : 103.0) : 100.0; };
    const TuningRecord record = *search(candidates(6)).record;
    EXPECT_EQ(record.launch.programmatic, gains);
    EXPECT_EQ(record.measure, gains ? Measure::behind : Measure::rounds) << "a final of ordinary launches";
  }
}

TEST_F(SearchTest, HalvesTheField) {
  search(candidates(20));
  ASSERT_GE(gpu_.entries_raced.size(), 4u);
  EXPECT_EQ(std::vector(gpu_.entries_raced.begin(), gpu_.entries_raced.begin() + 3),
            (std::vector<std::size_t>{20, 10, 5}));
  EXPECT_EQ(gpu_.entries_raced.back(), 3u);
}

TEST_F(SearchTest, TheFirstRaceOfLongKernelsWarmsUp) {
  search(candidates(20));
  ASSERT_GE(gpu_.warm_ups_us.size(), 2u);
  EXPECT_EQ(gpu_.warm_ups_us.front(), kWarmUpUs);
  EXPECT_THAT(std::span(gpu_.warm_ups_us).subspan(1), testing::Each(0));
  gpu_.warm_ups_us.clear();
  problem_.m = problem_.n = problem_.k = 256;
  search(candidates(20));
  EXPECT_THAT(gpu_.warm_ups_us, testing::Each(0));
}

TEST_F(SearchTest, WithinATieTheEarlierNameWinsWhateverTheNoise) {
  problem_.hints.align_a = 8;  // so that no kernel is programmatic
  const std::vector<Candidate> rows = candidates(3);
  std::string earliest = std::min({name(rows[0]), name(rows[1]), name(rows[2])});
  problem_.m = 1;  // with one row of tiles, all rasters are equal
  for (int run = 0; run < 20; ++run) {
    gpu_.noise = 0.0005;
    EXPECT_EQ(name(search(rows).candidates.front()), earliest);
  }
}

TEST_F(SearchTest, ReportsTheRatioToCublasOfTheSameRounds) {
  options_.with_baseline = true;
  double told = 0;
  observer_.led = [&](const RaceLeader& leader) { told = leader.ratio; };
  const TuneOutcome outcome = search(candidates(4));
  EXPECT_EQ(outcome.baseline, "cublas");
  EXPECT_NEAR(outcome.ratio, 0.5, 0.005);
  EXPECT_NEAR(told, 0.5, 0.005);
}

TEST_F(SearchTest, WhatIsDangerousIsRememberedAndNotTriedAgain) {
  std::vector<Candidate> rows = candidates(6);
  const std::map<std::string, std::string> planted = {{name(rows[0]), "wrong: 1 of 9 elements"},
                                                      {name(rows[1]), "hung: no answer within 2.0 s"},
                                                      {name(rows[2]), "failed: too many resources"}};
  gpu_.verdict = [&](const Trial& t, unsigned) {
    const auto found = planted.find(to_string(t.config));
    return found == planted.end() ? Verdict{} : Verdict{Stage::check, found->second};
  };
  gpu_.failure = [&](const Trial& t) {
    return t.config == rows[3].config ? std::string("faulted: illegal address") : std::string();
  };
  std::vector<std::string> told;
  observer_.rejected = [&](const Candidate& c) { told.push_back(name(c)); };
  const TuneOutcome outcome = search(rows);
  EXPECT_THAT(told, testing::UnorderedElementsAre(name(rows[0]), name(rows[1]), name(rows[2]), name(rows[3])));
  EXPECT_THAT((std::vector{name(rows[4]), name(rows[5])}), testing::Contains(name(outcome.candidates.front())));

  forget_engine();  // simulates another process
  rows = candidates(6);
  std::vector<std::string> remembered;
  for (const RejectionRecord& r : engine().rejections.all()) remembered.push_back(r.config);
  EXPECT_THAT(remembered, testing::UnorderedElementsAre(name(rows[0]), name(rows[1]), name(rows[3])))
      << "a failure that is not dangerous may be temporary";
  const auto known = engine().rejections.find(rows[1].identity, gpu_.gpu().environment);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->reason, "hung: no answer within 2.0 s");
}

TEST_F(SearchTest, AWinnerThatIsWrongAfterAllIsReplaced) {
  const std::vector<Candidate> rows = candidates(4);
  gpu_.us = [&](const Trial& t) { return t.config == rows[2].config ? 80.0 : t.config == rows[1].config ? 90 : 100; };
  int checks = 0;
  gpu_.verdict = [&](const Trial& t, unsigned) {
    const bool is_late = t.config == rows[2].config && ++checks > 1;
    return is_late ? Verdict{Stage::check, "wrong: 2 of 9 elements"} : Verdict{};
  };
  const TuneOutcome outcome = search(rows);
  EXPECT_EQ(name(outcome.candidates.front()), name(rows[1]));
  EXPECT_EQ(outcome.candidates.back().reason, "wrong: 2 of 9 elements");
}

TEST_F(SearchTest, WhatEndsInTheFinalIsNotPickedByItsEarlierSamples) {
  const std::vector<Candidate> rows = candidates(4);
  gpu_.us = [&](const Trial& t) { return t.config == rows[2].config ? 80.0 : t.config == rows[1].config ? 90 : 100; };
  gpu_.noise = 0.05;  // so that one final race is not enough for a decision
  // The fastest candidate hangs late: not in the races with many entries, but in those with few.
  gpu_.failure = [&](const Trial& t) {
    const bool is_late = gpu_.entries_raced.size() >= 6 && t.config == rows[2].config;
    return is_late ? std::string("hung: no answer within 2.0 s") : std::string();
  };
  const TuneOutcome outcome = search(rows);
  EXPECT_NE(name(outcome.candidates.front()), name(rows[2]));
  EXPECT_NE(outcome.record->config, rows[2].config);
  EXPECT_EQ(outcome.candidates.back().reason, "hung: no answer within 2.0 s");
}

TEST_F(SearchTest, KeepsTheBestSoFarWhenTheBudgetEnds) {
  const std::vector<Candidate> rows = candidates(20);
  gpu_.us = [&](const Trial& t) { return t.config == rows[12].config ? 80.0 : 100.0; };
  gpu_.time_left = 1;
  const TuneOutcome outcome = search(rows);
  EXPECT_TRUE(outcome.is_partial);
  EXPECT_EQ(name(outcome.candidates.front()), name(rows[12]));
  EXPECT_EQ(engine().database.all().size(), 1u);
}

TEST_F(SearchTest, KeepsTheBestSoFarWhenCancelled) {
  const std::vector<Candidate> rows = candidates(20);
  gpu_.us = [&](const Trial& t) { return t.config == rows[12].config ? 80.0 : 100.0; };
  observer_.is_cancelled = [&] { return !gpu_.entries_raced.empty(); };
  const TuneOutcome outcome = search(rows);
  EXPECT_TRUE(outcome.is_partial);
  EXPECT_EQ(name(outcome.candidates.front()), name(rows[12]));
  EXPECT_EQ(gpu_.entries_raced.size(), 1u);
  observer_.is_cancelled = [] { return true; };
  expect_thrown(ErrorCode::interrupted, {}, [&] { search(rows); });
}

TEST_F(SearchTest, WhatIsAbandonedAtFirstSightIsSlow) {
  const std::vector<Candidate> rows = candidates(4);
  gpu_.us = [&](const Trial& t) { return t.config == rows[1].config ? kNan : 100.0; };
  const TuneOutcome outcome = search(rows);
  EXPECT_EQ(name(outcome.candidates.back()), name(rows[1]));
  EXPECT_EQ(kind_of(outcome.candidates.back().reason), "slow");
  EXPECT_THAT(engine().rejections.all(), testing::IsEmpty()) << "it is slow on this problem";
}

TEST_F(SearchTest, ARasterThatWasNotTimedDoesNotEndItsConfig) {
  const std::vector<Candidate> rows = candidates(3);
  gpu_.failure = [&](const Trial& t) {
    const bool is_default = std::ranges::find(rows, t.config, &Candidate::config)->launch == t.launch;
    return is_default ? std::string() : std::string(kNoTimeLeft);
  };
  const TuneOutcome outcome = search(rows);
  for (const Candidate& c : outcome.candidates) EXPECT_EQ(c.reason, "");
}

TEST_F(SearchTest, FewSamplesChangeNoRaster) {
  const std::vector<Candidate> rows = candidates(1);
  gpu_.us = [&](const Trial& t) { return t.launch == LaunchConfig{2, false} ? 95.0 : 100.0; };
  ASSERT_NE(rows[0].launch, (LaunchConfig{2, false}));
  for (const int rounds : {1, 2, 4}) {
    gpu_.most_rounds = rounds;
    EXPECT_EQ(search(rows).record->launch, rows[0].launch) << rounds;
  }
  gpu_.most_rounds = 5;
  EXPECT_EQ(search(rows).record->launch, (LaunchConfig{2, false}));
}

TEST_F(SearchTest, TellsEverySample) {
  std::vector<Sample> samples;
  observer_.sampled = [&](const Sample& s) { samples.push_back(s); };
  search(candidates(5));
  std::size_t expected = 0;
  for (const Sample& s : samples) {
    EXPECT_GT(s.us, 0);
    expected += s.race == 0;
  }
  EXPECT_EQ(expected, 5u * 2u) << "the first race has two rounds of all candidates";
  EXPECT_EQ(static_cast<std::size_t>(samples.back().race) + 1, gpu_.entries_raced.size());
}

/// Tests of a problem that keeps the tensor cores busy.
class PowerSearchTest : public SearchTest {
 protected:
  PowerSearchTest() {
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
  const auto bytes = [&](const Candidate& c) { return moved_bytes_per_flop(c.config, problem_); };
  const Candidate& frugal = *std::ranges::min_element(rows, {}, bytes);
  const Candidate& greedy = *std::ranges::max_element(rows, {}, bytes);
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
  EXPECT_EQ(engine().database.all().front().record, *outcome.record);
}

TEST_F(PowerSearchTest, TheModelNamesHalfOfAShortFinalToo) {
  const std::vector<Candidate> rows = candidates(20);
  double least = 1;
  for (const Candidate& c : rows) least = std::min(least, moved_bytes_per_flop(c.config, problem_));
  const auto is_frugal = [&](const KernelConfig& c) { return moved_bytes_per_flop(c, problem_) <= 1.001 * least; };
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

TEST_F(PowerSearchTest, WithoutBlocksThePickIsProvisional) {
  const std::vector<Candidate> rows = candidates(20);
  disagree(rows[7].config, rows[2].config);
  gpu_.power_binds = true;
  options_.with_blocks = false;
  TuneOutcome outcome = search(rows);
  EXPECT_EQ(name(outcome.candidates.front()), name(rows[7]));
  EXPECT_TRUE(outcome.record->is_provisional);
  EXPECT_THAT(gpu_.block_counts, testing::IsEmpty());
  options_.with_blocks = true;
  options_.budget_s = 2;  // too short for blocks
  outcome = search(rows);
  EXPECT_TRUE(outcome.record->is_provisional);
  EXPECT_THAT(gpu_.block_counts, testing::IsEmpty());
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

TEST_F(SearchTest, WithoutASurvivorItSaysWhy) {
  gpu_.verdict = [](const Trial&, unsigned) { return Verdict{Stage::check, "wrong: all"}; };
  expect_thrown(ErrorCode::wrong_result, {"check: wrong: all"}, [&] { search(candidates(2)); });
  EXPECT_EQ(gpu_.ended, 1);
  EXPECT_THAT(engine().database.all(), testing::IsEmpty());
}

}  // namespace
}  // namespace hotgemm::standin
