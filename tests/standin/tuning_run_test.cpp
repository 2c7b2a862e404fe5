#include "standin/fake_measurer.hpp"
#include "standin/runtime_fixture.hpp"

#include "tune/tuning_run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <set>
#include <thread>

namespace hotgemm::standin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Lets a thread wait for other threads, with a time limit.
class Latch {
 public:
  void count() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool wait_for(int count, std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

/// Tuning runs over fake GPUs. After the first time, all kernels come from the shelf.
class TuningRunTest : public testing::Test {
 protected:
  static constexpr int kCandidates = 4;

  void SetUp() override {
    set_test_environment();
    engine_.emplace(options_in(cache_.path(), Policy::tune));
  }
  void TearDown() override {
    engine_.reset();
    KernelShelf::add(cache_.path());
  }

  /// The first `count` of a series of problems. The problems are of different classes but share their kernels. No two
  /// of these kernels have the same machine code.
  static std::vector<Workload> problems(int count) {
    std::vector<Workload> all;
    for (int i = 0; i < count; ++i) all.push_back(Workload({.m = 64, .n = 64 + 64 * i, .k = 64, .types = kF32}));
    return all;
  }
  static TuningRunOptions options(int gpus = 1) {
    TuningRunOptions result{.tuning = quick_tuning(kCandidates)};
    result.tuning.jobs = 1;
    result.gpus.clear();
    for (int gpu = 0; gpu < gpus; ++gpu) result.gpus.push_back(gpu);
    return result;
  }
  MeasurerFactory factory() {
    return [this](int gpu) -> std::unique_ptr<Measurer> {
      ++made_;
      return std::make_unique<FakeMeasurer>(gpus_, gpu);
    };
  }
  TuningReport run(std::span<const Workload> list, const TuningRunOptions& how) {
    TuningObserver observer = observer_;
    observer.lost = [this](int gpu, const std::string& message) { lost_.emplace_back(gpu, message); };
    return TuningRun(*engine_, factory(), how, observer).run(list);
  }
  TuningReport run(std::span<const Workload> list) { return run(list, options()); }

  /// The number of candidates that are timed per problem: those with distinct machine code.
  int distinct() {
    TuningRunOptions how = options();
    how.retune = true;
    const int measured = TuningRun(*engine_, factory(), how).run(problems(1)).results.at(0).measured;
    EXPECT_GE(measured, 2);
    engine_.emplace(options_in(cache_.path() / "afresh", Policy::tune));
    return measured;
  }

  static std::vector<TuneStatus> statuses(const TuningReport& report) {
    std::vector<TuneStatus> all;
    for (const ProblemResult& r : report.results) all.push_back(r.status);
    return all;
  }
  std::vector<Workload> begun() const {
    std::vector<Workload> all;
    for (const auto& [gpu, problem] : gpus_.begun()) all.push_back(problem);
    return all;
  }

  ScratchDirectory cache_;
  Warnings warnings_;
  FakeGpus gpus_;
  std::optional<Engine> engine_;
  TuningObserver observer_;
  std::atomic<int> made_{0};
  std::vector<std::pair<int, std::string>> lost_;
};

TEST_F(TuningRunTest, EachProblemIsMeasuredAndRecorded) {
  const int each = distinct();
  gpus_.has_baseline = true;
  std::vector<std::string> told;
  observer_.finished = [&](const ProblemResult& r) {
    EXPECT_TRUE(engine_->database.find(r.problem, {})) << "what is told is recorded";
    told.push_back(to_string(r.problem));
  };
  TuningRunOptions how = options();
  how.with_baseline = true;
  const auto list = problems(3);
  const std::size_t before = begun().size();
  const TuningReport report = run(list, how);
  EXPECT_THAT(statuses(report), testing::Each(TuneStatus::tuned));
  EXPECT_EQ(begun().size(), before + 3);
  EXPECT_EQ(begun().back(), list.back());
  EXPECT_EQ(report.end, RunEnd::complete);
  EXPECT_EQ(report.left, 0);
  EXPECT_EQ(report.trials, 3 * each);
  ASSERT_EQ(report.results.size(), 3u);
  EXPECT_EQ(told.size(), 3u);
  EXPECT_DOUBLE_EQ(report.results[0].ratio, 10);
  EXPECT_EQ(report.results[0].baseline, "cublas");
  EXPECT_EQ(report.results[0].gpu, 0);
  EXPECT_EQ(report.results[0].measured, each);
  EXPECT_GT(report.results[0].compile_s, 0);
  EXPECT_EQ(engine_->database.all().size(), 3u);
}

TEST_F(TuningRunTest, AClassIsMeasuredOnce) {
  const std::vector<Workload> list = {Workload({.m = 100, .n = 64, .k = 64}), Workload({.m = 101, .n = 64, .k = 64})};
  const TuningReport report = run(list);
  EXPECT_THAT(statuses(report), ElementsAre(TuneStatus::tuned, TuneStatus::recorded));
  EXPECT_EQ(report.results[1].problem, list[1]);
  EXPECT_EQ(report.results[1].record->config, report.results[0].record->config);
  EXPECT_EQ(begun().size(), 1u);
  EXPECT_EQ(report.left, 0);
}

/// The record is for all of its class, so the pick must suit its largest problem too.
TEST_F(TuningRunTest, TheLargestProblemOfAClassIsMeasured) {
  const TuningReport report = run(std::vector{Workload({.m = 100, .n = 64, .k = 64})});
  EXPECT_EQ(begun().back(), Workload({.m = 128, .n = 64, .k = 64}));
  EXPECT_EQ(report.results.at(0).problem.m, 100);
  EXPECT_EQ(report.results[0].record->problem.m, 128);
}

TEST_F(TuningRunTest, ARecordAnswersUnlessRetuned) {
  const auto list = problems(1);
  EXPECT_THAT(statuses(run(list)), ElementsAre(TuneStatus::tuned));
  EXPECT_THAT(statuses(run(list)), ElementsAre(TuneStatus::recorded));
  EXPECT_EQ(begun().size(), 1u);
  TuningRunOptions how = options();
  how.retune = true;
  EXPECT_THAT(statuses(run(list, how)), ElementsAre(TuneStatus::tuned));
}

TEST_F(TuningRunTest, APickByBlocksIsMeasuredAgainUnderAnotherPowerLimit) {
  const auto list = problems(1);
  TuningRecord by_blocks = *run(list).results.at(0).record;
  by_blocks.measure = Measure::sustained;
  by_blocks.power_limit_w = 700;
  const auto status_at = [&](double watts) {
    engine_.emplace(options_in(cache_.path() / std::to_string(watts), Policy::tune));
    engine_->database.add(by_blocks);
    gpus_.power_limit_w = watts;
    return run(list).results.at(0).status;
  };
  EXPECT_EQ(status_at(700), TuneStatus::recorded);
  EXPECT_EQ(status_at(600), TuneStatus::tuned);
  EXPECT_EQ(status_at(0), TuneStatus::recorded) << "the limit cannot be read";
}

TEST_F(TuningRunTest, AnInterruptedRunGoesOn) {
  const auto list = problems(4);
  run(std::span(list).first(2));
  observer_.earlier = [&](const Workload& problem) {
    return problem == list[0]   ? EarlierRun::done
           : problem == list[1] ? EarlierRun::partial
           : problem == list[2] ? EarlierRun::done  // although it is not recorded
                                : EarlierRun::nothing;
  };
  TuningRunOptions how = options();
  how.retune = true;
  std::map<std::string, ProblemResult> results;
  for (const ProblemResult& r : run(list, how).results) results[to_string(r.problem)] = r;
  EXPECT_EQ(results[to_string(list[0])].status, TuneStatus::recorded);
  EXPECT_EQ(results[to_string(list[1])].status, TuneStatus::tuned);
  EXPECT_EQ(results[to_string(list[2])].status, TuneStatus::tuned);
  EXPECT_EQ(results[to_string(list[3])].status, TuneStatus::tuned);
}

TEST_F(TuningRunTest, APartialRecordIsNoAnswerWhereARunGoesOn) {
  const auto list = problems(1);
  run(list);
  observer_.earlier = [](const Workload&) { return EarlierRun::partial; };
  EXPECT_THAT(statuses(run(list)), ElementsAre(TuneStatus::tuned));
}

TEST_F(TuningRunTest, OneProblemIsPreparedWhileAnotherIsMeasured) {
  Latch asked;
  std::atomic<int> asked_while_first{0};
  observer_.earlier = [&](const Workload&) {
    ++asked_while_first;
    asked.count();
    return EarlierRun::nothing;
  };
  const auto list = problems(4);
  int ahead = 0;
  gpus_.on_begin = [&](int, const Workload& problem) {
    if (problem != list[0]) return;
    EXPECT_TRUE(asked.wait_for(2)) << "nothing is prepared while the first problem is measured";
    EXPECT_FALSE(asked.wait_for(3, std::chrono::milliseconds(300))) << "more is prepared than may be needed";
    ahead = asked_while_first - 1;
  };
  EXPECT_EQ(run(list).end, RunEnd::complete);
  EXPECT_EQ(ahead, 1);
}

TEST_F(TuningRunTest, TwoGpusMeasureAtOnce) {
  Latch begun_here;
  gpus_.on_begin = [&](int, const Workload&) {
    begun_here.count();
    EXPECT_TRUE(begun_here.wait_for(2));
  };
  const TuningReport report = run(problems(5), options(2));
  EXPECT_EQ(report.end, RunEnd::complete);
  EXPECT_THAT(statuses(report), testing::Each(TuneStatus::tuned));
  std::set<int> used;
  std::map<int, std::vector<std::int64_t>> order;
  for (const auto& [gpu, problem] : gpus_.begun()) {
    used.insert(gpu);
    order[gpu].push_back(problem.n);
  }
  EXPECT_EQ(used, (std::set{0, 1}));
  for (const auto& [gpu, sizes] : order) EXPECT_TRUE(std::ranges::is_sorted(sizes));
}

TEST_F(TuningRunTest, GpusOfDifferentModelsAreRefused) {
  gpus_.names[1] = "another GPU";
  expect_thrown(ErrorCode::invalid_argument, {"GPU 1 is another GPU", "GPU 0 is"},
                [&] { run(problems(2), options(2)); });
  EXPECT_THAT(begun(), IsEmpty());
}

TEST_F(TuningRunTest, FailuresAreResults) {
  auto list = problems(3);
  list[0].m = -1;
  list.push_back(Workload({.m = 8, .n = 8, .k = 0}));
  gpus_.on_begin = [&](int, const Workload& problem) {
    if (problem == list[1]) throw Error(ErrorCode::out_of_memory, "the operands do not fit");
  };
  const TuningReport report = run(list);
  std::map<std::string, ProblemResult> results;
  for (const ProblemResult& r : report.results) results[to_string(r.problem)] = r;
  EXPECT_THAT(results[to_string(list[0])].failure, HasSubstr("m is negative"));
  EXPECT_THAT(results[to_string(list[1])].failure, HasSubstr("do not fit"));
  EXPECT_EQ(results[to_string(list[1])].failure_code, ErrorCode::out_of_memory);
  EXPECT_EQ(results[to_string(list[2])].status, TuneStatus::tuned);
  EXPECT_THAT(results[to_string(list[3])].failure, HasSubstr("nothing to tune"));
  EXPECT_EQ(made_, 1);
}

TEST_F(TuningRunTest, RejectionsAreToldOnce) {
  const int each = distinct();
  std::vector<std::string> told;
  observer_.rejected = [&](int, const Workload&, const Candidate& c) { told.push_back(to_string(c.config)); };
  std::string bad;
  gpus_.verdict = [&](const Trial& trial) {
    if (bad.empty()) bad = to_string(trial.config);
    return to_string(trial.config) == bad ? "wrong: it was planted" : "";
  };
  const TuningReport report = run(problems(1));
  EXPECT_THAT(told, ElementsAre(bad));
  ASSERT_EQ(report.results[0].rejections.size(), 1u);
  EXPECT_EQ(report.results[0].rejections[0].config, bad);
  EXPECT_EQ(report.results[0].rejections[0].reason, "wrong: it was planted");
  EXPECT_EQ(report.results[0].measured, each - 1);
}

TEST_F(TuningRunTest, WhatIsRememberedIsNotTried) {
  std::vector<Candidate> seen;
  observer_.rejected = [&](int, const Workload&, const Candidate& c) { seen.push_back(c); };
  gpus_.verdict = [&](const Trial& trial) { return trial.cubin->symbol.empty() ? "" : "wrong: all are planted"; };
  run(problems(1));
  ASSERT_FALSE(seen.empty());
  const Candidate bad = seen.front();
  engine_.emplace(options_in(cache_.path() / "other", Policy::tune));
  engine_->rejections.add({.identity = bad.identity,
                           .config = to_string(bad.config),
                           .problem = to_string(problems(1)[0]),
                           .stage = "check",
                           .reason = "wrong: it was planted",
                           .environment = FakeMeasurer(gpus_, 0).gpu().environment});
  gpus_.verdict = nullptr;
  seen.clear();
  const std::size_t before = gpus_.checked().size();
  const TuningReport report = run(problems(1));
  EXPECT_EQ(report.results[0].status, TuneStatus::tuned);
  ASSERT_EQ(report.results[0].rejections.size(), 1u);
  EXPECT_EQ(report.results[0].rejections[0].stage, "check");
  EXPECT_THAT(report.results[0].rejections[0].reason, HasSubstr("remembered: wrong: it was planted"));
  const std::vector<std::string> checked = gpus_.checked();
  EXPECT_EQ(std::count(checked.begin() + static_cast<std::ptrdiff_t>(before), checked.end(), to_string(bad.config)), 0);
}

TEST_F(TuningRunTest, AMeasurerThatFailsIsReplaced) {
  std::atomic<int> failures{0};
  gpus_.on_race = [&](int, const Workload&) {
    if (failures++ == 0) throw Error(ErrorCode::internal, "the worker keeps dying");
  };
  const TuningReport report = run(problems(2));
  EXPECT_THAT(statuses(report), testing::Each(TuneStatus::tuned));
  EXPECT_EQ(report.results.size(), 2u);
  EXPECT_EQ(made_, 2);
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(TuningRunTest, AProblemThatFailsMeasurersIsGivenUp) {
  const auto list = problems(3);
  gpus_.on_race = [&](int, const Workload& problem) {
    if (problem == list[1]) throw Error(ErrorCode::context_lost, "an illegal address");
  };
  const TuningReport report = run(list);
  EXPECT_THAT(statuses(report), ElementsAre(TuneStatus::tuned, TuneStatus::failed, TuneStatus::tuned));
  EXPECT_THAT(report.results[1].failure, HasSubstr("an illegal address"));
  EXPECT_EQ(made_, 3);
  EXPECT_EQ(report.end, RunEnd::complete);
}

TEST_F(TuningRunTest, OtherGpusTakeOverFromADeadOne) {
  Latch failed;
  gpus_.on_begin = [&](int gpu, const Workload&) {
    if (gpu == 0) failed.wait_for(3);  // otherwise GPU 0 could finish everything before GPU 1 gets a problem
    if (gpu == 1) {
      failed.count();
      throw Error(ErrorCode::context_lost, "GPU 1 has fallen off the bus");
    }
  };
  const TuningReport report = run(problems(6), options(2));
  EXPECT_EQ(report.results.size(), 6u);
  EXPECT_THAT(statuses(report), testing::Each(TuneStatus::tuned));
  EXPECT_EQ(report.end, RunEnd::complete);
  ASSERT_EQ(lost_.size(), 1u);
  EXPECT_EQ(lost_[0].first, 1);
  EXPECT_THAT(lost_[0].second, HasSubstr("fallen off the bus"));
}

TEST_F(TuningRunTest, WithoutGpusTheRunEndsWithWhatItHas) {
  const auto list = problems(9);
  gpus_.on_begin = [&](int, const Workload& problem) {
    if (problem != list[0]) throw Error(ErrorCode::internal, "no worker stays alive");
  };
  const TuningReport report = run(list);
  EXPECT_EQ(report.end, RunEnd::out_of_gpus);
  ASSERT_FALSE(report.results.empty());
  EXPECT_EQ(report.results[0].status, TuneStatus::tuned);
  EXPECT_EQ(lost_.size(), 1u);
  EXPECT_GT(report.left, 0);
  EXPECT_EQ(report.left + static_cast<int>(report.results.size()), 9);
}

TEST_F(TuningRunTest, AGpuThatDoesNotStartIsLeftOut) {
  const MeasurerFactory good = factory();
  const auto only = [&](int sound) {
    return [&good, sound](int gpu) {
      if (gpu != sound) throw Error(ErrorCode::no_device, "no GPU " + std::to_string(gpu));
      return good(gpu);
    };
  };
  TuningObserver observer;
  observer.lost = [this](int gpu, const std::string& message) { lost_.emplace_back(gpu, message); };
  const TuningReport report = TuningRun(*engine_, only(1), options(2), observer).run(problems(2));
  EXPECT_THAT(statuses(report), testing::Each(TuneStatus::tuned));
  EXPECT_THAT(lost_, ElementsAre(testing::Pair(0, "no GPU 0")));
  expect_thrown(ErrorCode::no_device, {"no GPU 0"},
                [&] { TuningRun(*engine_, only(7), options(2), observer).run(problems(2)); });
}

TEST_F(TuningRunTest, CancellingKeepsTheBestSoFar) {
  std::atomic<bool> is_cancelled{false};
  observer_.is_cancelled = [&] { return is_cancelled.load(); };
  const auto list = problems(4);
  gpus_.on_race = [&](int, const Workload& problem) {
    if (problem == list[1]) is_cancelled = true;
  };
  const TuningReport report = run(list);
  EXPECT_EQ(report.end, RunEnd::cancelled);
  EXPECT_THAT(statuses(report), ElementsAre(TuneStatus::tuned, TuneStatus::partial));
  EXPECT_TRUE(report.results[1].is_cut_short);
  EXPECT_EQ(report.left, 2);
  EXPECT_TRUE(engine_->database.find(list[1], {}));
  EXPECT_FALSE(engine_->database.find(list[2], {}));
}

TEST_F(TuningRunTest, CancellingBeforeAnythingWasTimedLeavesTheProblem) {
  std::atomic<bool> is_cancelled{false};
  observer_.is_cancelled = [&] { return is_cancelled.load(); };
  gpus_.on_begin = [&](int, const Workload&) { is_cancelled = true; };
  gpus_.verdict = [](const Trial&) { return "failed: it was planted"; };
  const TuningReport report = run(problems(2));
  EXPECT_THAT(report.results, IsEmpty());
  EXPECT_EQ(report.left, 2);
  EXPECT_EQ(report.end, RunEnd::cancelled);
}

TEST_F(TuningRunTest, NothingIsBegunAfterTheBudget) {
  run(problems(1));  // from now on all kernels are compiled
  gpus_.on_race = [](int, const Workload&) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
  TuningRunOptions how = options();
  how.retune = true;
  how.run_budget_s = 1;
  const TuningReport report = run(problems(20), how);
  EXPECT_EQ(report.end, RunEnd::out_of_time);
  EXPECT_FALSE(report.results.empty());
  EXPECT_GT(report.left, 5);
  EXPECT_LT(report.seconds, 30);
}

TEST_F(TuningRunTest, TrialsAreCountedOverTheRun) {
  const int each = distinct();
  TuningRunOptions how = options();
  how.max_trials = 2 * each + 1;
  const TuningReport report = run(problems(5), how);
  EXPECT_EQ(report.end, RunEnd::out_of_trials);
  ASSERT_EQ(report.results.size(), 3u);
  EXPECT_EQ(report.results[1].measured, each);
  EXPECT_EQ(report.results[1].status, TuneStatus::tuned);
  EXPECT_EQ(report.results[2].measured, 1);
  EXPECT_EQ(report.results[2].status, TuneStatus::partial);
  EXPECT_TRUE(report.results[2].record->is_provisional) << "candidates were left out";
  EXPECT_EQ(report.trials, 2 * each + 1);
  EXPECT_EQ(report.left, 2);
}

}  // namespace
}  // namespace hotgemm::standin
