#pragma once

#include "config/device_info.hpp"
#include "tune/measurer.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm::standin {

/// The behaviour and the log that the fake measurers of a test share. Set the functions before use.
class FakeGpus {
 public:
  /// Called by begin, without a lock; may throw or wait.
  std::function<void(int gpu, const Workload&)> on_begin;
  /// Called by each race, also without a lock; may throw or wait.
  std::function<void(int gpu, const Workload&)> on_race;
  /// Returns the reason why check rejects a trial; empty for a sound one.
  std::function<std::string(const Trial&)> verdict;
  /// Returns the microseconds of a trial.
  std::function<double(const Trial&)> speed;
  std::map<int, std::string> names;  ///< names of GPUs that differ from the others
  bool has_baseline = false;         ///< a baseline of 1000 µs
  double power_limit_w = 0;
  bool reports_power = false;

  void note(int gpu, const Workload& problem) {
    const std::lock_guard lock(mutex_);
    begun_.emplace_back(gpu, problem);
  }
  void note(std::span<const Trial> trials) {
    const std::lock_guard lock(mutex_);
    for (const Trial& trial : trials) checked_.push_back(to_string(trial.config));
  }
  /// The problems that were begun, in order, each with its GPU.
  std::vector<std::pair<int, Workload>> begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  /// The configs that were checked, in order.
  std::vector<std::string> checked() const {
    const std::lock_guard lock(mutex_);
    return checked_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<int, Workload>> begun_;
  std::vector<std::string> checked_;
};

/// A measurer without a GPU. The test sets the times of its trials.
class FakeMeasurer final : public Measurer {
 public:
  FakeMeasurer(FakeGpus& gpus, int gpu) : gpus_(gpus), index_(gpu) {
    facts_.info = nominal_device("sm_90a");
    if (gpus.names.contains(gpu)) facts_.info.name = gpus.names[gpu];
    facts_.environment = {
        .gpu = facts_.info.name, .arch = facts_.info.arch, .sm_count = facts_.info.sm_count, .driver = "1.0"};
    facts_.free_bytes = std::int64_t{1} << 30;
    facts_.power_limit_w = gpus.power_limit_w;
    facts_.reports_power = gpus.reports_power;
  }

  const GpuFacts& gpu() const override { return facts_; }
  void begin(const Workload& problem, const MeasureOptions&) override {
    problem_ = problem;
    gpus_.note(index_, problem);
    if (gpus_.on_begin) gpus_.on_begin(index_, problem);
  }
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned) override {
    gpus_.note(trials);
    std::vector<Verdict> verdicts;
    for (const Trial& trial : trials) verdicts.push_back({Stage::check, gpus_.verdict ? gpus_.verdict(trial) : ""});
    return verdicts;
  }
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override {
    if (gpus_.on_race) gpus_.on_race(index_, problem_);
    const auto rounds = static_cast<std::size_t>(options.rounds);
    RaceResult result{.rounds_done = options.rounds};
    for (const Trial& trial : trials) {
      result.us.emplace_back(rounds, gpus_.speed ? gpus_.speed(trial) : 100.0);
      result.failures.emplace_back();
    }
    if (options.blocks && gpus_.reports_power) {
      BlockReport report;
      report.clock.watts = 500;
      result.blocks.assign(trials.size(), report);
    }
    if (with_baseline && gpus_.has_baseline) {
      result.us.emplace_back(rounds, 1000.0);
      result.failures.emplace_back();
    }
    return result;
  }
  CublasComparison compare_with_cublas(const Trial&, const CublasQuestion& question) override {
    return {.version = "13.1.0", .ratio = question.scope == CublasScope::all ? 1.0 : 0.0, .default_ratio = 1.25};
  }
  void end() override {}
  std::string baseline() const override { return gpus_.has_baseline ? "cublas" : ""; }

 private:
  FakeGpus& gpus_;
  int index_;
  GpuFacts facts_;
  Workload problem_;
};

}  // namespace hotgemm::standin
