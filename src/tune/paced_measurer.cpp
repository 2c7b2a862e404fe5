#include "tune/paced_measurer.hpp"

#include "base/moment.hpp"
#include "base/statistics.hpp"
#include "plan/halving.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

namespace hotgemm {
namespace {

constexpr double kSliceRoundUs = 250;   // GPU time of a trial in a group; a slice then holds a dozen trials
constexpr int kMostRepeats = 3;         // of a group that is disturbed, before its samples are left out
constexpr int kMostSlicesOfBegin = 10;  // for which the pause after begin is; it may have waited, not worked
constexpr double kLongestSleepS = 0.1;

}  // namespace

PaceClock PaceClock::system() {
  return {.now_s =
              [] {
                const auto now = std::chrono::steady_clock::now().time_since_epoch();
                return std::chrono::duration<double>(now).count();
              },
          .sleep_s = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }};
}

PacedMeasurer::PacedMeasurer(std::unique_ptr<Measurer> measurer, Pace pace, PaceClock clock)
    : measurer_(std::move(measurer)), pace_(std::move(pace)), clock_(std::move(clock)) {
  if (!(pace_.share > 0 && pace_.share <= 1)) {
    throw Error(ErrorCode::invalid_argument, "the share of the GPU for measuring is " + std::to_string(pace_.share) +
                                                 "; it must be above 0 and at most 1");
  }
  if (!(pace_.slice_s > 0)) {
    throw Error(ErrorCode::invalid_argument,
                "the slice for measuring is " + std::to_string(pace_.slice_s) + " s; it must be above 0");
  }
}

double PacedMeasurer::paced(const std::function<void()>& step, double most_work_s) {
  const double start = clock_.now_s();
  step();
  const double seconds = clock_.now_s() - start;
  pause(std::min(seconds, most_work_s) * (1 / pace_.share - 1));
  return seconds;
}

void PacedMeasurer::pause(double seconds) {
  const double start = clock_.now_s();
  const auto work = [&] {
    if (pace_.meanwhile) pace_.meanwhile();
  };
  work();
  for (double left = start + seconds - clock_.now_s(); left > 0 && !is_cancelled() && !is_hurried();
       left = start + seconds - clock_.now_s()) {
    clock_.sleep_s(std::min(left, kLongestSleepS));
    work();
  }
  paused_s_ += clock_.now_s() - start;
}

void PacedMeasurer::begin(const Workload& problem, const MeasureOptions& options) {
  MeasureOptions without_baseline = options;
  without_baseline.with_baseline = false;
  if (std::isfinite(pace_.lock_wait_s)) {
    without_baseline.deadline =
        std::min(options.deadline, moment_after(std::chrono::steady_clock::now(), pace_.lock_wait_s));
  }
  paced([&] { measurer_->begin(problem, without_baseline); }, kMostSlicesOfBegin * pace_.slice_s);
}

std::vector<Verdict> PacedMeasurer::check(std::span<const Trial> trials, unsigned seed) {
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (is_cancelled()) {
      verdicts.push_back({Stage::check, std::string(kNoTimeLeft)});
      continue;
    }
    paced([&] { verdicts.push_back(measurer_->check(trials.subspan(i, 1), seed).at(0)); });
  }
  return verdicts;
}

CublasComparison PacedMeasurer::compare_with_cublas(const Trial&, const CublasQuestion&) {
  throw Error(ErrorCode::not_supported, "a comparison with cuBLAS takes the whole GPU for seconds");
}

/// One race in groups. Samples are multiples of the incumbent's time in the same group until the race ends.
class PacedMeasurer::PacedRace {
 public:
  /// Trials that have a failure do not take part.
  PacedRace(PacedMeasurer& paced, std::span<const Trial> trials, const RaceOptions& options, std::size_t incumbent,
            std::vector<std::string> failures)
      : paced_(paced),
        trials_(trials),
        options_(options),
        abandon_ratio_(options.abandon_ratio),
        incumbent_(incumbent) {
    options_.rounds = 1;
    options_.warm_up_us = 0;
    options_.abandon_ratio = 0;  // which would drop an incumbent that is slow, and all others are compared with it
    options_.round_us = std::min(options_.round_us, kSliceRoundUs);
    result_.us.resize(trials.size());
    result_.failures = std::move(failures);
  }

  RaceResult run(int rounds) {
    for (int round = 0; round < rounds && !is_over() && has_sound_incumbent(); ++round) run_round();
    state_times();
    return std::move(result_);
  }

 private:
  bool is_over() const { return paced_.is_cancelled() || std::chrono::steady_clock::now() >= options_.deadline; }
  bool has_sound_incumbent() const { return result_.failures[incumbent_].empty(); }

  void run_round() {
    std::vector<std::size_t> waiting = contenders();
    for (std::vector<double>& us : result_.us) us.push_back(kNan);
    ++result_.rounds_done;
    is_disturbed_ = false;
    do {
      const auto end = waiting.begin() + static_cast<std::ptrdiff_t>(std::min(group_size_, waiting.size()));
      std::vector<std::size_t> group{incumbent_};
      group.insert(group.end(), waiting.begin(), end);
      waiting.erase(waiting.begin(), end);
      run_group(group);
    } while (!waiting.empty() && !is_over() && has_sound_incumbent());
    if (is_disturbed_) ++result_.rounds_disturbed;
    if (result_.rounds_done == 1) leave_untimed(waiting);
  }

  /// The trials beside the incumbent that take part in the next round.
  std::vector<std::size_t> contenders() const {
    std::vector<double> multiples;
    double least = 1;
    for (const std::vector<double>& us : result_.us) {
      multiples.push_back(median(us));
      least = std::fmin(least, multiples.back());
    }
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      const bool is_slow = abandon_ratio_ > 0 && multiples[i] > abandon_ratio_ * least;
      if (i != incumbent_ && result_.failures[i].empty() && !is_slow) all.push_back(i);
    }
    return all;
  }

  /// Runs the group until other work does not disturb it, or it has been repeated often enough.
  void run_group(const std::vector<std::size_t>& group) {
    for (int repeat = 0; repeat <= kMostRepeats && (repeat == 0 || !is_over()); ++repeat) {
      const RaceResult raced = run_slice(group);
      for (std::size_t i = 0; i < group.size(); ++i) result_.failures[group[i]] = raced.failures[i];
      const double incumbent_us = raced.us[0].empty() ? kNan : raced.us[0].front();
      if (std::isnan(incumbent_us)) return leave_untimed(group);
      incumbent_us_.push_back(incumbent_us);
      if (incumbent_us <= kDisturbed * median(incumbent_us_)) return take(group, raced, incumbent_us);
    }
    is_disturbed_ = true;
    leave_untimed(group);
  }

  RaceResult run_slice(const std::vector<std::size_t>& group) {
    std::vector<Trial> trials;
    for (const std::size_t i : group) trials.push_back(trials_[i]);
    RaceResult raced;
    const double seconds = paced_.paced([&] { raced = paced_.measurer_->race(trials, options_, false); });
    ++options_.seed;
    const double fitting = paced_.pace_.slice_s * static_cast<double>(group.size()) / std::max(seconds, 1e-9);
    group_size_ = static_cast<std::size_t>(std::clamp(fitting - 1, 1.0, static_cast<double>(trials_.size())));
    return raced;
  }

  void take(const std::vector<std::size_t>& group, const RaceResult& raced, double incumbent_us) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!raced.us[i].empty()) result_.us[group[i]].back() = raced.us[i].front() / incumbent_us;
    }
    taken_us_.push_back(incumbent_us);
  }

  /// Marks those of `trials` that have no sample at all. Without the mark they would count as too slow.
  void leave_untimed(const std::vector<std::size_t>& trials) {
    for (const std::size_t i : trials) {
      if (std::isnan(median(result_.us[i])) && result_.failures[i].empty()) result_.failures[i] = kNoTimeLeft;
    }
  }

  void state_times() {
    const double incumbent_us = median(taken_us_);
    if (is_unsteady(taken_us_)) result_.rounds_disturbed = result_.rounds_done;
    for (std::vector<double>& us : result_.us) {
      for (double& sample : us) sample *= incumbent_us;
    }
  }

  PacedMeasurer& paced_;
  std::span<const Trial> trials_;
  RaceOptions options_;
  double abandon_ratio_;
  std::size_t incumbent_;
  RaceResult result_;
  std::size_t group_size_ = 1;  // trials beside the incumbent
  bool is_disturbed_ = false;   // a group of this round was left out
  std::vector<double> incumbent_us_;
  std::vector<double> taken_us_;  // of groups that were not disturbed
};

RaceResult PacedMeasurer::race(std::span<const Trial> trials, const RaceOptions& options, bool) {
  if (options.blocks) {
    throw Error(ErrorCode::not_supported, "blocks take the whole GPU for seconds, and cannot run beside other work");
  }
  std::vector<std::string> failures(trials.size());
  for (std::size_t incumbent = 0; incumbent < trials.size(); ++incumbent) {
    if (!failures[incumbent].empty()) continue;
    RaceResult result = PacedRace(*this, trials, options, incumbent, failures).run(options.rounds);
    const std::string& failure = result.failures[incumbent];
    if (failure.empty() || failure == kNoTimeLeft) return result;
    failures = std::move(result.failures);  // without the incumbent, nothing is comparable
    std::ranges::replace(failures, std::string(kNoTimeLeft), std::string());
  }
  return {.us = std::vector<std::vector<double>>(trials.size()), .failures = std::move(failures)};
}

}  // namespace hotgemm
