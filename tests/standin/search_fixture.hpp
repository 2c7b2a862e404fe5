#pragma once

#include "standin/runtime_fixture.hpp"

#include "plan/candidates.hpp"
#include "tune/search.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace hotgemm::standin {

/// A GPU whose kernels take the times that the test sets, plus some noise.
class SimulatedGpu final : public Measurer {
 public:
  SimulatedGpu() {
    gpu_.info = nominal_device("sm_90a");
    gpu_.environment = {.gpu = "fake", .arch = "sm_90a", .sm_count = 132, .driver = "1", .toolchain = "t"};
  }

  const GpuFacts& gpu() const override { return gpu_; }
  GpuFacts& facts() { return gpu_; }
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
    const bool has_baseline = with_baseline && baseline_us_ > 0 && ++baseline_races > lost_baselines;
    result.us.resize(trials.size() + (has_baseline ? 1 : 0));
    result.failures.resize(result.us.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (failure) result.failures[i] = failure(trials[i]);
      if (time_left <= 0) result.failures[i] = kNoTimeLeft;
    }
    std::normal_distribution<double> own(1, noise), drift(1, 0.05);
    for (int round = 0; round < std::min(options.rounds, most_rounds) && time_left > 0; ++round) {
      const bool is_disturbed = other_work && !options.blocks && other_work(entries_raced.size(), round);
      const double clock = drift(random_) * (is_disturbed ? 3 : 1);
      for (std::size_t i = 0; i < trials.size(); ++i) {
        const auto& speed = options.blocks ? alone_us : is_timed_behind(trials) ? behind_us : us;
        const double own_us = (speed ? speed : us)(trials[i]) * (options.blocks ? 1 : clock);  // alone: its own clock
        const bool has_run = result.failures[i].empty() || round == 0;  // a trial fails in the second round
        result.us[i].push_back(has_run ? own_us * own(random_) : std::numeric_limits<double>::quiet_NaN());
      }
      if (has_baseline) result.us.back().push_back(baseline_us_ * clock * own(random_));
      ++result.rounds_done;
      batches += trials.size();
    }
    if (options.blocks) {
      BlockReport report;
      report.clock.samples = has_nvml ? 100 : 0;
      report.clock.power_cap_share = power_binds ? 0.9 : 0.1;
      result.blocks.assign(result.us.size(), report);
      for (std::size_t i = 0; i < trials.size() && has_nvml && watts; ++i)
        result.blocks[i].clock.watts = watts(trials[i]);
      result.power_limit_w = 700;
    }
    entries_raced.push_back(trials.size());
    warm_ups_us.push_back(options.warm_up_us);
    --time_left;
    return result;
  }
  CublasComparison compare_with_cublas(const Trial& pick, const CublasQuestion& question) override {
    questions.push_back(question);
    compared = to_string(pick.config);
    if (!cublas_failure.empty()) throw Error(ErrorCode::not_supported, cublas_failure);
    return {"13.1.0", std::string(128, 'a'), 0.97, 0.9};
  }
  void end() override { ++ended; }
  std::string baseline() const override { return baseline_us_ > 0 ? "cublas" : ""; }

  std::function<double(const Trial&)> us = [](const Trial&) { return 100.0; };
  std::function<Verdict(const Trial&, unsigned)> verdict;
  std::function<std::string(const Trial&)> failure;
  std::function<double(const Trial&)> alone_us;                 ///< in blocks; empty: as in rounds
  std::function<double(const Trial&)> behind_us;                ///< behind a foreign kernel; empty: as in chains
  std::function<double(const Trial&)> watts;                    ///< drawn in blocks; empty: NVML does not tell
  std::function<bool(std::size_t race, int round)> other_work;  ///< beside the round: all takes three times as long
  bool has_nvml = true;
  bool power_binds = false;
  std::vector<std::size_t> block_counts;  ///< trials of each race over blocks
  double noise = 0.001;
  int baseline_races = 0;  // races that were asked to time the baseline
  int lost_baselines = 0;  // the number of these, from the first one on, that do not time it
  int time_left = 1000;    // number of races until the deadline
  int most_rounds = 1000;  // of a race, as if launches were long and the deadline near
  std::vector<std::string> checked;
  std::vector<std::size_t> entries_raced;
  std::vector<double> warm_ups_us;
  std::size_t batches = 0;  ///< of launches: one for each trial in each round
  std::vector<CublasQuestion> questions;
  std::string compared;  ///< config
  std::string cublas_failure;
  int ended = 0;

 private:
  GpuFacts gpu_;
  double baseline_us_ = 0;
  std::mt19937_64 random_{3};
};

class SearchTest : public testing::Test {
 protected:
  SearchTest() {
    set_test_environment();
    gpu_.facts().info.clock_mhz *= 100;  // no kernel keeps such a GPU busy, so that none reaches its power cap
  }

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
  SimulatedGpu gpu_;
  SearchOptions options_{.budget_s = 100};
  SearchObserver observer_;
};

}  // namespace hotgemm::standin
