#include "standin/search_fixture.hpp"

#include "base/statistics.hpp"

namespace hotgemm::standin {
namespace {

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

TEST_F(SearchTest, ABaselineThatOneRaceLacksIsPairedWithTheRoundsOfTheOthers) {
  options_.with_baseline = true;
  options_.with_rasters = false;
  problem_.hints.align_a = 8;  // so that no kernel is programmatic
  gpu_.noise = 0.004;          // so that one final race is not enough for a decision
  const std::vector<Candidate> rows = candidates(2);
  gpu_.us = [&](const Trial& t) { return t.config == rows[0].config ? 100.0 : 100.85; };
  int repeated = 0;
  for (int run = 0; run < 9; ++run) {
    gpu_.baseline_races = 0;
    gpu_.lost_baselines = 1;
    const TuneOutcome outcome = search(rows);
    if (gpu_.baseline_races == 1) continue;
    ++repeated;
    EXPECT_NEAR(outcome.ratio, 0.5, 0.005);
  }
  EXPECT_GT(repeated, 2);
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

TEST_F(SearchTest, WhatFailsRunsInNoOtherRace) {
  const std::vector<Candidate> rows = candidates(4);
  gpu_.us = [&](const Trial& t) { return t.config == rows[2].config ? 80.0 : 100.0; };
  int races = 0;
  gpu_.failure = [&](const Trial& t) {
    if (t.config != rows[2].config) return std::string();
    ++races;
    return std::string("hung: no answer within 2.0 s");
  };
  EXPECT_NE(search(rows).record->config, rows[2].config);
  EXPECT_EQ(races, 1) << "though it was the fastest until it failed";
}

TEST_F(SearchTest, KeepsTheBestSoFarWhenTheBudgetEnds) {
  problem_.m = problem_.n = problem_.k = 256;  // too short for the power cap
  const std::vector<Candidate> rows = candidates(20);
  gpu_.us = [&](const Trial& t) { return t.config == rows[12].config ? 80.0 : 100.0; };
  gpu_.time_left = 1;
  const TuneOutcome outcome = search(rows);
  EXPECT_TRUE(outcome.is_partial);
  EXPECT_EQ(name(outcome.candidates.front()), name(rows[12]));
  ASSERT_EQ(engine().database.all().size(), 1u);
  EXPECT_TRUE(engine().database.all()[0].record.is_provisional) << "a tuning run finishes it";
}

TEST_F(SearchTest, ABudgetOfCenturiesHasNoEnd) {
  problem_.m = problem_.n = problem_.k = 256;  // too short for the power cap
  gpu_.us = [](const Trial&) { return 100.0; };
  options_.budget_s = 1e10;
  search(candidates(20));
  EXPECT_EQ(gpu_.entries_raced[1], 10u) << "time is left after the first race";
}

TEST_F(SearchTest, TheRecordNamesTheToolchainOfItsCubin) {
  std::vector<Candidate> rows = candidates(4);
  for (Candidate& row : rows) row.cubin = std::make_shared<const Cubin>(Cubin{.toolchain = "nvrtc-12.9-old"});
  gpu_.us = [&](const Trial& t) { return t.config == rows[2].config ? 80.0 : 100.0; };
  options_.toolchain = "nvrtc-13.0-loaded";
  const TuneOutcome outcome = search(rows);
  EXPECT_EQ(outcome.record->environment.toolchain, "nvrtc-12.9-old");
  rows[2].cubin = std::make_shared<const Cubin>();
  EXPECT_EQ(search(rows).record->environment.toolchain, "nvrtc-13.0-loaded") << "the cubin does not say";
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

TEST_F(SearchTest, WithoutASurvivorItSaysWhy) {
  gpu_.verdict = [](const Trial&, unsigned) { return Verdict{Stage::check, "wrong: all"}; };
  expect_thrown(ErrorCode::wrong_result, {"check: wrong: all"}, [&] { search(candidates(2)); });
  EXPECT_EQ(gpu_.ended, 1);
  EXPECT_THAT(engine().database.all(), testing::IsEmpty());
}

TEST_F(SearchTest, LeavesOutRoundsThatOtherWorkDisturbs) {
  options_.with_blocks = true;  // and the power cap does not bind
  gpu_.other_work = [](std::size_t, int round) { return round == 3; };
  int disturbed = 0, sampled = 0;
  observer_.sampled = [&](const auto& sample) {
    ++sampled;
    if (sample.us > 200) ++disturbed;
  };
  const TuneOutcome outcome = search(candidates(6));
  EXPECT_EQ(disturbed, 0);
  EXPECT_GT(sampled, 0);
  EXPECT_FALSE(outcome.record->is_provisional) << "few rounds were disturbed";
  EXPECT_LT(outcome.record->timing.spread_us, 20);
}

TEST_F(SearchTest, TheContenderThatRanTellsWhichRoundsAreDisturbed) {
  constexpr std::size_t kRace = 1;  // the first of five rounds
  int asked = 0;
  gpu_.failure = [&](const Trial&) {  // neither the first trial nor the last one runs
    const bool fails = gpu_.entries_raced.size() == kRace && ++asked != 2;
    return fails ? std::string(kNoTimeLeft) : std::string();
  };
  gpu_.other_work = [](std::size_t race, int round) { return race == kRace && round == 3; };
  int disturbed = 0;
  observer_.sampled = [&](const Sample& sample) { disturbed += sample.us > 200; };
  search(candidates(6));
  EXPECT_GT(asked, 2);
  EXPECT_EQ(disturbed, 0);
}

TEST_F(SearchTest, APickAmongDisturbedRoundsIsProvisional) {
  options_.with_blocks = true;
  const std::vector<Candidate> rows = candidates(6);
  gpu_.us = [&](const Trial& t) { return t.config == rows[2].config ? 80.0 : 100.0; };
  for (const int period : {2, 4}) {
    gpu_.other_work = [&](std::size_t, int round) { return round % period == 1; };
    forget_engine();
    const TuneOutcome outcome = search(rows);
    EXPECT_EQ(name(outcome.candidates.front()), name(rows[2]));
    EXPECT_NEAR(outcome.record->timing.median_us, 80, 10) << "of the other rounds";
    EXPECT_EQ(outcome.record->is_provisional, period == 2);
    EXPECT_EQ(outcome.record->cause, period == 2 ? ProvisionalCause::disturbed : ProvisionalCause::none);
    EXPECT_FALSE(outcome.is_partial);
  }
}

TEST_F(SearchTest, ARecordSaysWhyItIsProvisional) {
  gpu_.time_left = 1;
  EXPECT_EQ(search(candidates(6)).record->cause, ProvisionalCause::cut_short);
}

}  // namespace
}  // namespace hotgemm::standin
