#include "tune/exhaustive.hpp"

#include "config/traits.hpp"
#include "gpu/nvrtc.hpp"
#include "plan/candidates.hpp"
#include "tune/quality.hpp"
#include "tune/trace_header.hpp"
#include "unit/database_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

/// A GPU whose kernels take the times that the test sets.
class FakeMeasurer final : public Measurer {
 public:
  FakeMeasurer() {
    gpu_.info = nominal_device("sm_75");
    gpu_.environment = {"Fictional FX-1000", "sm_75", 99, "580.159", ""};
  }

  const GpuFacts& gpu() const override { return gpu_; }
  void begin(const Workload&, const MeasureOptions& options) override {
    ++begun;
    data_seeds.insert(options.seed);
  }
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned) override {
    std::vector<Verdict> verdicts(trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (wrong.contains(to_string(trials[i].config))) verdicts[i] = {Stage::check, "wrong: 1 of 4 elements"};
    }
    return verdicts;
  }
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool) override {
    RaceResult result;
    const double drift = options.blocks ? 1 : 1 + 0.3 * std::sin(static_cast<double>(races));
    ++races;
    for (const Trial& trial : trials) {
      const std::string name = to_string(trial.config);
      result.us.emplace_back();
      result.failures.push_back(races >= fails_from && fails == name ? "hung: no answer within 2.0 s" : "");
      const double time = options.blocks ? alone_us.at(name) : time_of(trial);
      const double us = result.failures.back().empty() ? time : std::numeric_limits<double>::quiet_NaN();
      if (options.blocks) result.blocks.push_back({.clock = {.samples = 9, .power_cap_share = 1}});
      for (int round = 0; round < options.rounds; ++round) result.us.back().push_back(us * drift);
      launches[name + " " + to_string(trial.launch)] += options.rounds;
    }
    result.rounds_done = options.rounds;
    return result;
  }
  CublasComparison compare_with_cublas(const Trial&, const CublasQuestion&) override { return {}; }
  void end() override { ++ended; }
  std::string baseline() const override { return {}; }

  double time_of(const Trial& trial) const {
    const auto found = us.find(to_string(trial.config));
    const double base = found == us.end() ? 200 : found->second;
    return trial.launch == LaunchConfig{2, true} ? base * 0.98 : base;
  }

  std::map<std::string, double> us;        // in rounds, keyed by config
  std::map<std::string, double> alone_us;  // in blocks, in which the power cap binds
  std::set<std::string> wrong;
  std::string fails;  // hangs from race `fails_from` on
  int fails_from = 1;
  int begun = 0, ended = 0, races = 0;
  std::map<std::string, int> launches;  // number of rounds, keyed by config and raster
  std::set<std::uint64_t> data_seeds;

 private:
  GpuFacts gpu_;
};

/// Tests on sm_75, which has a small menu for f16: some configs of each family for CUDA cores.
class ExhaustiveTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cache_ = new TemporaryDirectory;
    ::unsetenv("HOTGEMM_CACHE");
  }
  static void TearDownTestSuite() { delete std::exchange(cache_, nullptr); }

  void SetUp() override {
    try {
      Nvrtc::get();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    options_.batch = 3;
    for (const KernelConfig& config : candidates(traits_of(problem_), arch_limits("sm_75"))) {
      names_.push_back(to_string(config));
    }
    ASSERT_GE(names_.size(), 8u);
    for (std::size_t i = 0; i < names_.size(); ++i) measurer_.us[names_[i]] = 100 + 10 * static_cast<double>(i);
  }

  void TearDown() override { std::filesystem::remove_all(cache_->path() / "v1" / "rejected"); }

  static ContextOptions context_options() {
    ContextOptions options;
    options.cache_directory = cache_->path().string();
    return options;
  }

  LayerOptions kept() const {
    LayerOptions options;
    options.user_directory = directory_.path();
    options.warn = [](const std::string& message) { ADD_FAILURE() << message; };
    return options;
  }

  TraceHeader header() const { return trace_header("1.2.3", measurer_.gpu().environment, engine_); }

  /// Measures, or continues the measurement of an earlier call.
  ExhaustiveResult measure(const ExhaustiveObserver& observer = {}) {
    ResumableTrace trace(kept(), "t", header());
    return measure_every_config(engine_, measurer_, problem_, trace, options_, observer);
  }

  std::string trace_text() const { return read_file(directory_.path() / "v1" / "exhaustive" / "t.jsonl"); }

  std::vector<std::string> order(const TraceRanking& ranking) const {
    std::vector<std::string> configs;
    for (const RankedCandidate& entry : ranking.entries) {
      if (std::ranges::find(configs, entry.name.config) == configs.end()) configs.push_back(entry.name.config);
    }
    return configs;
  }

  inline static TemporaryDirectory* cache_ = nullptr;  // cache of cubins, so that each is compiled once
  TemporaryDirectory directory_;
  Engine engine_{context_options(), Engine::Records::none};
  Workload problem_ = parse_workload("1024 1024 64 nn f16");
  FakeMeasurer measurer_;
  ExhaustiveOptions options_;
  std::vector<std::string> names_;  // from the fastest to the slowest
};

TEST_F(ExhaustiveTest, FindsTheOrderWhateverTheClocksDoBetweenRaces) {
  const ExhaustiveResult result = measure();
  EXPECT_TRUE(result.is_complete);
  EXPECT_EQ(order(result.ranking), names_);
  EXPECT_EQ(result.ranking.entries.front().name, (CandidateName{names_[0], "r2n"}));
  EXPECT_EQ(result.menu.size(), names_.size());
  EXPECT_EQ(measurer_.begun, 1);
  EXPECT_EQ(measurer_.ended, 1);
  // The best eight are finalists, or all if there are no more.
  const std::set<std::string> finalists(names_.begin(), names_.begin() + 8);
  for (const RankedCandidate& entry : result.ranking.entries) {
    if (!finalists.contains(entry.name.config)) continue;
    EXPECT_GE(entry.rounds, options_.rounds) << entry.name.config << " " << entry.name.launch;
  }
  std::set<std::string> with_rasters;
  for (const RankedCandidate& entry : result.ranking.entries) {
    if (entry.name.launch == "r2n") with_rasters.insert(entry.name.config);
  }
  EXPECT_EQ(with_rasters, (std::set<std::string>{names_[0], names_[1], names_[2]}));
}

TEST_F(ExhaustiveTest, ACompleteTraceIsReusedWithoutTheGpu) {
  const ExhaustiveResult first = measure();
  const std::string text = trace_text();
  const ExhaustiveResult second = measure();
  EXPECT_TRUE(second.is_complete);
  EXPECT_EQ(order(second.ranking), order(first.ranking));
  EXPECT_EQ(measurer_.begun, 1);
  EXPECT_EQ(trace_text(), text);
}

TEST_F(ExhaustiveTest, GoesOnWhereItWasInterrupted) {
  const int races_of_one_go = [&] {
    FakeMeasurer whole = measurer_;
    ResumableTrace trace({}, "t", header());
    measure_every_config(engine_, whole, problem_, trace, options_);
    return whole.races;
  }();
  int runs = 0;
  for (bool is_complete = false; !is_complete; ++runs) {
    ASSERT_LT(runs, 100);
    const int before = measurer_.races;
    is_complete = measure({.is_cancelled = [&] { return measurer_.races > before; }}).is_complete;
  }
  EXPECT_EQ(runs, races_of_one_go + 1);  // one run per race, and one that finds nothing left to do
  EXPECT_EQ(measurer_.races, races_of_one_go);
  EXPECT_EQ(order(measure().ranking), names_);
}

TEST_F(ExhaustiveTest, ATraceCutAnywhereIsGoneOnWith) {
  measure();
  const std::string text = trace_text();
  for (std::size_t length = 0; length < text.size(); length += text.size() / 23) {
    write_file(directory_.path() / "v1" / "exhaustive" / "t.jsonl", text.substr(0, length));
    const ExhaustiveResult result = measure();
    EXPECT_TRUE(result.is_complete);
    EXPECT_EQ(order(result.ranking), names_) << length;
  }
}

TEST_F(ExhaustiveTest, WrongOnesAreRowsAndRemembered) {
  measurer_.wrong = {names_[0], names_[3]};
  const ExhaustiveResult result = measure();
  EXPECT_EQ(result.ranking.rejected, measurer_.wrong);
  EXPECT_EQ(order(result.ranking).front(), names_[1]);
  for (const auto& [name, rounds] : measurer_.launches) EXPECT_FALSE(name.starts_with(names_[0])) << name;
  EXPECT_EQ(engine_.rejections.all().size(), 2u);
  EXPECT_NE(trace_text().find("wrong: 1 of 4 elements"), std::string::npos);

  // A remembered rejection also keeps the kernel out of another trace, but is not written there: the kernel may be
  // tried later.
  ResumableTrace another({}, "u", header());
  FakeMeasurer healthy = measurer_;
  healthy.wrong.clear();
  healthy.launches.clear();
  const ExhaustiveResult later = measure_every_config(engine_, healthy, problem_, another, options_);
  EXPECT_TRUE(later.is_complete);
  EXPECT_TRUE(later.ranking.rejected.empty());
  EXPECT_EQ(later.ranking.timed.size(), names_.size() - 2);
}

TEST_F(ExhaustiveTest, AReferenceThatFailsIsReplaced) {
  ResumableTrace once({}, "once", header());
  FakeMeasurer probe = measurer_;
  measurer_.fails = measure_every_config(engine_, probe, problem_, once, options_).ranking.reference.config;
  measurer_.fails_from = 3;
  const ExhaustiveResult result = measure();
  EXPECT_TRUE(result.is_complete);
  EXPECT_EQ(result.ranking.rejected, std::set<std::string>{measurer_.fails});
  EXPECT_EQ(result.ranking.timed.size(), names_.size() - 1);
  EXPECT_NE(result.ranking.reference.config, measurer_.fails);
}

TEST_F(ExhaustiveTest, NoSurvivorIsAnError) {
  measurer_.wrong = {names_.begin(), names_.end()};
  try {
    measure();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::wrong_result);
    EXPECT_NE(std::string(error.what()).find("none of " + std::to_string(names_.size()) + " configs"),
              std::string::npos);
  }
}

TEST_F(ExhaustiveTest, TheDigestDependsOnWhatTimesDependOn) {
  const std::string digest = exhaustive_digest(problem_, header());
  EXPECT_EQ(digest.size(), 64u);
  TraceHeader other = header();
  other.version = "9";
  EXPECT_EQ(exhaustive_digest(problem_, other), digest);
  other.environment.driver = "581";
  EXPECT_NE(exhaustive_digest(problem_, other), digest);
  other = header();
  other.templates.begin()->second = std::string(64, '0');
  EXPECT_NE(exhaustive_digest(problem_, other), digest);
  EXPECT_NE(exhaustive_digest(parse_workload("8 8 8 nn f16"), header()), digest);
  EXPECT_FALSE(header().environment.toolchain.empty());
}

TEST_F(ExhaustiveTest, AssessesTheTunersAndTheModelsPick) {
  const ExhaustiveResult all = measure();
  QualityOptions options;
  options.tuning.max_candidates = 4;
  options.tuning.rounds = 3;
  const QualityResult result = assess(engine_, measurer_, problem_, all, options);
  EXPECT_EQ(result.configs, names_.size());
  EXPECT_EQ(result.oracle.name, (CandidateName{names_[0], "r2n"}));
  EXPECT_EQ(result.oracle.place, 1);
  EXPECT_DOUBLE_EQ(result.oracle.regret, 0);
  const auto expected = [&](const CandidateName& name) {
    const Trial trial{parse_config(name.config).value(), parse_launch(name.launch).value(), nullptr};
    return measurer_.time_of(trial) / 98 - 1;
  };
  for (const AssessedChoice& pick : {result.tuned, result.estimated}) {
    EXPECT_NEAR(pick.regret, expected(pick.name), 1e-9);
    EXPECT_NEAR(pick.regret_ci.low, pick.regret, 1e-9);
    EXPECT_EQ(names_[static_cast<std::size_t>(pick.place - 1)], pick.name.config);
  }
  EXPECT_LE(result.tuned.regret, result.estimated.regret);
  EXPECT_EQ(result.measure, Measure::rounds);
  ASSERT_EQ(result.model_regret.size(), std::size(kModelTops));
  EXPECT_DOUBLE_EQ(result.model_regret[2], 0);  // 0 because all eight are included
  EXPECT_GE(result.model_regret[0], result.model_regret[1]);
  EXPECT_EQ(measurer_.data_seeds.size(), 2u);  // the trace and the search share one seed; the race has its own
}

TEST_F(ExhaustiveTest, AssessesByBlocksWhereThePowerCapBinds) {
  problem_ = parse_workload("4096 4096 4096 nn f16");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    measurer_.us[names_[i]] = 2500 + 20 * static_cast<double>(i);
    measurer_.alone_us[names_[i]] = 3000 + 10 * static_cast<double>(i);
  }
  const std::string frugal = names_[names_.size() - 1];
  measurer_.alone_us[frugal] = 2900;
  const ExhaustiveResult all = measure();
  measurer_.fails = names_[3];  // alone, although it ran beside the others
  measurer_.alone_us[names_[3]] = 100;
  measurer_.fails_from = measurer_.races;
  QualityOptions options;
  options.tuning.max_candidates = 4;
  options.tuning.budget_s = 60;
  const QualityResult result = assess(engine_, measurer_, problem_, all, options);
  EXPECT_EQ(result.measure, Measure::sustained);
  EXPECT_EQ(result.oracle.name.config, frugal) << "the slowest in rounds is the fastest alone";
  EXPECT_EQ(result.oracle.place, static_cast<int>(names_.size()));
  EXPECT_EQ(measurer_.data_seeds.size(), 3u);  // of the trace and the search, of the oracle, and of the race
  for (const AssessedChoice& pick : {result.oracle, result.tuned, result.estimated}) {
    EXPECT_NEAR(pick.regret, measurer_.alone_us.at(pick.name.config) / 2900 - 1, 1e-9) << pick.name.config;
    EXPECT_NEAR(pick.regret_ci.high, pick.regret, 1e-9);
  }

  // An interrupt between two blocks ends it.
  const int ended = measurer_.ended, races = measurer_.races;
  try {
    assess(engine_, measurer_, problem_, all, options,
           [&] { return measurer_.ended > ended && measurer_.races > races + 12; });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted) << error.what();
  }
}

TEST(QualitySummary, OfRegrets) {
  const std::vector<double> regrets = {0, 0.005, 0.21, -0.01};
  const QualitySummary summary = summarize(regrets);
  EXPECT_NEAR(summary.mean, std::pow(1.0 * 1.005 * 1.21 * 0.99, 0.25) - 1, 1e-12);
  EXPECT_DOUBLE_EQ(summary.worst, 0.21);
  EXPECT_DOUBLE_EQ(summary.within_1_percent, 0.75);
  const std::vector<double> failed = {0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_TRUE(std::isnan(summarize(failed).mean));
  EXPECT_TRUE(std::isnan(summarize({}).worst));
}

}  // namespace
}  // namespace hotgemm
