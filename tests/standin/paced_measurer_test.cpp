#include "standin/fake_trials.hpp"
#include "standin/search_fixture.hpp"

#include "base/statistics.hpp"
#include "tune/paced_measurer.hpp"

#include <hotgemm/error.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace hotgemm::standin {
namespace {

using testing::Each;
using testing::ElementsAre;

/// The time of a test, and what the measurer under the pace did in it.
struct PacedWorld {
  double now_s = 0;
  std::vector<double> slices_s;  ///< of each call of the measurer
  double slept_s = 0;
  std::vector<std::vector<std::string>> groups;  ///< configs of each race
  std::vector<RaceOptions> options;
  MeasureOptions begun;

  PaceClock clock() {
    return {.now_s = [this] { return now_s; },
            .sleep_s =
                [this](double seconds) {
                  now_s += seconds;
                  slept_s += seconds;
                }};
  }
  void work(double seconds) {
    now_s += seconds;
    slices_s.push_back(seconds);
  }
  double worked_s() const {
    double sum = 0;
    for (const double slice : slices_s) sum += slice;
    return sum;
  }
};

/// A measurer whose calls take time in a PacedWorld.
class TimedMeasurer final : public Measurer {
 public:
  explicit TimedMeasurer(PacedWorld& world) : world_(world) {}

  const GpuFacts& gpu() const override { return facts_; }
  void begin(const Workload&, const MeasureOptions& options) override {
    world_.begun = options;
    world_.work(begin_s);
  }
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned) override {
    world_.work(0.001 * static_cast<double>(trials.size()));
    return std::vector<Verdict>(trials.size());
  }
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool) override {
    world_.groups.emplace_back();
    world_.options.push_back(options);
    const double factor = drift ? drift(world_.groups.size() - 1) : 1;
    RaceResult result{.rounds_done = 1};
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const std::string config = to_string(trials[i].config);
      world_.groups.back().push_back(config);
      const bool fails = failures.contains(config);
      result.failures.push_back(fails ? failures.at(config) : "");
      result.us.push_back(fails ? std::vector<double>{} : std::vector<double>{us.at(config) * factor});
      if (i > 0 && spoil && spoil(world_.groups.size() - 1)) result.us.back() = {1};
    }
    world_.work(trial_s * static_cast<double>(trials.size()));
    return result;
  }
  CublasComparison compare_with_cublas(const Trial&, const CublasQuestion&) override { return {}; }
  void end() override {}
  std::string baseline() const override { return "cublas"; }

  std::map<std::string, double> us;             ///< by config
  std::map<std::string, std::string> failures;  ///< by config
  std::function<double(std::size_t)> drift;     ///< factor on all times of a race
  std::function<bool(std::size_t)> spoil;       ///< true if the times beside the incumbent are nonsense
  double trial_s = 0.0005;
  double begin_s = 0.002;

 private:
  PacedWorld& world_;
  GpuFacts facts_;
};

class PacedMeasurerTest : public testing::Test {
 protected:
  PacedMeasurerTest() {
    auto timed = std::make_unique<TimedMeasurer>(world_);
    timed_ = timed.get();
    for (std::size_t i = 0; i < trials_.size(); ++i) timed->us[name(i)] = 100 + 10 * static_cast<double>(i);
    pace_.is_cancelled = [this] { return world_.groups.size() >= most_groups_; };
    paced_ = std::make_unique<PacedMeasurer>(std::move(timed), pace_, world_.clock());
  }

  std::string name(std::size_t trial) const { return to_string(trials_.at(trial).config); }
  RaceResult race(int rounds, double abandon_ratio = 0) {
    return paced_->race(trials_, {.rounds = rounds, .warm_up_us = 1e5, .abandon_ratio = abandon_ratio}, true);
  }
  void expect_times(const RaceResult& result, std::size_t trial, double us) const {
    EXPECT_EQ(result.failures.at(trial), "");
    EXPECT_NEAR(median(result.us.at(trial)), us, 1e-9 * us) << trial;
  }

  std::vector<Trial> trials_ = fake_trials(Workload{Problem{.m = 8, .n = 16, .k = 8}}, 9);
  PacedWorld world_;
  Pace pace_{.share = 0.1, .slice_s = 0.002};
  std::size_t most_groups_ = 1000;
  TimedMeasurer* timed_ = nullptr;
  std::unique_ptr<PacedMeasurer> paced_;
};

TEST_F(PacedMeasurerTest, KeepsItsShareAndItsSlices) {
  paced_->begin({}, {.with_baseline = true});
  paced_->check(trials_, 1);
  const RaceResult result = race(3);
  EXPECT_EQ(result.rounds_done, 3);
  EXPECT_NEAR(world_.worked_s(), 0.1 * world_.now_s, 1e-6);
  EXPECT_LE(*std::ranges::max_element(world_.slices_s), 0.002 + 1e-9);
  EXPECT_FALSE(world_.begun.with_baseline);
  EXPECT_EQ(paced_->baseline(), "");
}

TEST_F(PacedMeasurerTest, AWaitBeforeTheStartIsNotPaidBack) {
  timed_->begin_s = 20;
  paced_->begin({}, {});
  EXPECT_NEAR(world_.slept_s, 10 * 0.002 * 9, 1e-9) << "the pause of ten slices";
}

TEST_F(PacedMeasurerTest, EachGroupHasTheIncumbentAndEachRoundHasEveryTrial) {
  race(2);
  std::map<std::string, int> count;
  for (const auto& group : world_.groups) {
    EXPECT_EQ(group.front(), name(0));
    for (const std::string& config : group) ++count[config];
  }
  for (std::size_t i = 1; i < trials_.size(); ++i) EXPECT_EQ(count[name(i)], 2) << i;
  // The first group finds out how long a trial takes; then a slice holds the incumbent and three more.
  EXPECT_EQ(world_.groups.at(0).size(), 2u);
  EXPECT_EQ(world_.groups.at(1).size(), 4u);
  for (const RaceOptions& options : world_.options) {
    EXPECT_EQ(options.rounds, 1);
    EXPECT_EQ(options.warm_up_us, 0);
    EXPECT_LE(options.round_us, 250);
  }
}

TEST_F(PacedMeasurerTest, ADriftOfTheClockCancelsOut) {
  timed_->drift = [](std::size_t race) { return 1 + 0.02 * static_cast<double>(race % 5); };
  const RaceResult result = race(3);
  const double incumbent_us = median(result.us[0]);
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    for (const double us : result.us[i]) EXPECT_NEAR(us / incumbent_us, 1 + 0.1 * static_cast<double>(i), 1e-9) << i;
  }
}

TEST_F(PacedMeasurerTest, AGroupThatOtherWorkDisturbsIsRunAgain) {
  timed_->drift = [](std::size_t race) { return race == 2 || race == 3 ? 3.0 : 1.0; };
  timed_->spoil = [](std::size_t race) { return race == 2 || race == 3; };
  const RaceResult result = race(2);
  for (std::size_t i = 0; i < trials_.size(); ++i) expect_times(result, i, 100 + 10 * static_cast<double>(i));
  EXPECT_EQ(world_.groups.at(2), world_.groups.at(3));
  EXPECT_EQ(world_.groups.at(2), world_.groups.at(4));
  EXPECT_EQ(result.rounds_disturbed, 0) << "what was repeated is sound";
}

TEST_F(PacedMeasurerTest, WhatIsAlwaysDisturbedIsNotTimedAndNotSlow) {
  timed_->trial_s = 0.002;  // so that each group has one trial beside the incumbent
  timed_->drift = [](std::size_t race) { return race >= 7 ? 3.0 : 1.0; };
  const RaceResult result = race(1);
  EXPECT_EQ(result.failures.front(), "");
  EXPECT_EQ(result.failures.back(), kNoTimeLeft);
  EXPECT_TRUE(std::isnan(median(result.us.back())));
  EXPECT_EQ(result.rounds_disturbed, 1);
}

TEST_F(PacedMeasurerTest, TellsRoundsThatStayDisturbed) {
  timed_->drift = [](std::size_t race) { return race >= 6 && race < 10 ? 3.0 : 1.0; };  // one group, all repeats of it
  const RaceResult result = race(4);
  EXPECT_EQ(result.rounds_done, 4);
  EXPECT_EQ(result.rounds_disturbed, 1);
}

TEST_F(PacedMeasurerTest, TellsThatTheIncumbentIsUnsteady) {
  timed_->drift = [](std::size_t race) { return race % 2 == 0 ? 0.85 : 1.15; };  // no group takes 1.25 times the median
  const RaceResult result = race(4);
  EXPECT_EQ(result.rounds_disturbed, result.rounds_done);
}

TEST_F(PacedMeasurerTest, TheSlowRunOnceAndASlowIncumbentStays) {
  timed_->us[name(0)] = 5000;
  timed_->us[name(4)] = 300;
  const RaceResult result = race(4, 2);
  expect_times(result, 0, 5000);
  expect_times(result, 4, 300);
  EXPECT_EQ(std::ranges::count_if(result.us[4], [](double us) { return std::isnan(us); }), 3);
  EXPECT_EQ(std::ranges::count_if(result.us[1], [](double us) { return std::isnan(us); }), 0);
}

TEST_F(PacedMeasurerTest, WithoutItsIncumbentARaceStartsAgainWithTheNext) {
  timed_->failures[name(0)] = "failed: launch";
  timed_->failures[name(3)] = "failed: launch";
  const RaceResult result = race(2);
  EXPECT_THAT(result.failures, ElementsAre("failed: launch", "", "", "failed: launch", "", "", "", "", ""));
  for (const std::size_t i : {1u, 2u, 4u, 8u}) expect_times(result, i, 100 + 10 * static_cast<double>(i));
  EXPECT_EQ(world_.groups.back().front(), name(1));
}

TEST_F(PacedMeasurerTest, WhereAllFailThereIsNoTime) {
  for (std::size_t i = 0; i < trials_.size(); ++i) timed_->failures[name(i)] = "failed: launch";
  const RaceResult result = race(2);
  EXPECT_THAT(result.failures, Each("failed: launch"));
  EXPECT_EQ(result.us.size(), trials_.size());
}

TEST_F(PacedMeasurerTest, CancellingEndsTheRaceAndThePause) {
  most_groups_ = 3;
  const RaceResult result = race(5);
  EXPECT_EQ(world_.groups.size(), 3u);
  EXPECT_EQ(result.rounds_done, 1);
  EXPECT_EQ(result.failures.back(), kNoTimeLeft);
  EXPECT_LT(world_.slept_s, 0.1 * 3);
}

TEST_F(PacedMeasurerTest, RefusesWhatTakesTheWholeGpu) {
  const auto code_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code_of([&] { paced_->race(trials_, {.blocks = BlockLengths{}}, false); }), ErrorCode::not_supported);
  EXPECT_EQ(code_of([&] { paced_->compare_with_cublas(trials_[0], {}); }), ErrorCode::not_supported);
  for (const Pace& pace : {Pace{.share = 0}, Pace{.share = 1.5}, Pace{.share = NAN}, Pace{.slice_s = 0}}) {
    EXPECT_EQ(code_of([&] { PacedMeasurer(nullptr, pace); }), ErrorCode::invalid_argument);
  }
}

/// A search through a pace.
class PacedSearchTest : public SearchTest {};

TEST_F(PacedSearchTest, FindsTheFastestConfig) {
  std::vector<Candidate> rows = candidates(16);
  const std::string fastest = name(rows.at(11));
  auto gpu = std::make_unique<SimulatedGpu>();
  gpu->us = [&](const Trial& t) { return to_string(t.config) == fastest ? 80.0 : 100.0; };
  PacedWorld world;
  PacedMeasurer paced(std::move(gpu), {.share = 0.5}, world.clock());
  const TuneOutcome outcome = hotgemm::search(engine(), paced, problem_, std::move(rows), options_, observer_);
  EXPECT_EQ(name(outcome.candidates.front()), fastest);
  EXPECT_TRUE(outcome.record->is_provisional) << "blocks might have picked another";
}

}  // namespace
}  // namespace hotgemm::standin
