#include "gpu/stopwatch.hpp"

#include "base/statistics.hpp"
#include "gpu/stream.hpp"
#include "gpu/sustained.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <random>

namespace hotgemm {
namespace {

constexpr int kMinGraphLaunches = 20;  // enough launches that the overhead of a replay is negligible
constexpr int kProbeLaunches = 8;      // for an estimate: the overhead of one short launch is too large
constexpr double kProbeBelowUs = 200;  // above this time, a single launch is precise enough
constexpr double kLaunchBoundUs = 20;  // below this time, an eager launch may cost the host more than the GPU

constexpr std::string_view kLost = "its time is lost in the noise of the kernel ahead of it";

struct Runner {
  const Contender* contender;
  std::vector<double>* us;
  std::string* failure;
  OwnedEvent start;
  OwnedEvent stop;
  std::optional<OwnedGraph> graph;
  double estimate_us = 0;
  int launches = 1;  // launches per batch
  bool live = true;
};

using Clock = std::chrono::steady_clock;

Clock::duration microseconds(double us) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(us));
}

class Race {
 public:
  Race(const Driver& driver, CUstream stream, std::span<const Contender> contenders, const RaceOptions& options)
      : driver_(driver), stream_(stream), options_(options), random_(options.seed) {
    result_.us.resize(contenders.size());
    result_.failures.resize(contenders.size());
    runners_.reserve(contenders.size());
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      runners_.push_back(Runner{&contenders[i], &result_.us[i], &result_.failures[i], OwnedEvent(driver),
                                OwnedEvent(driver), std::nullopt});
    }
    if (options.ahead) {
      ahead_.emplace(
          Runner{&ahead_contender_, &ahead_us_, &ahead_failure_, OwnedEvent(driver), OwnedEvent(driver), std::nullopt});
    }
  }

  RaceResult run() {
    if (ahead_) prepare(*ahead_, [&] { estimate(*ahead_); });
    for (Runner& runner : runners_) prepare(runner, [&] { estimate(runner); });
    abandon_slow();
    choose_launches();
    if (options_.mode == TimingMode::graph) {
      if (ahead_ && any_live()) prepare(*ahead_, [&] { capture_batch(*ahead_); });
      for (Runner& runner : runners_) prepare(runner, [&] { capture_batch(runner); });
    }
    warm_up();
    while (result_.rounds_done < options_.rounds && any_live() && time_for_a_round()) {
      run_round();
      abandon_slow();
    }
    if (ahead_) take_off();
    return std::move(result_);
  }

 private:
  /// Runs `step` of one contender. Returns false if it threw; the contender then drops out of the race.
  bool attempt(Runner& runner, const std::function<void()>& step) {
    try {
      step();
      return true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) throw;
      // The status of a library may hide an error that made the context unusable.
      const CUresult state = driver_.cuStreamSynchronize(stream_);
      if (is_sticky(state)) driver_.fail(state, "go on after the failure of " + runner.contender->name);
      if (is_ahead(runner)) throw;  // then nobody can be timed
      *runner.failure = error.what();
      drop(runner);
      return false;
    }
  }

  void prepare(Runner& runner, const std::function<void()>& step) {
    if (!runner.live) return;
    if (is_over(Clock::now())) {
      *runner.failure = kNoTimeLeft;
      drop(runner);
    } else {
      tell(is_ahead(runner) ? RaceOptions::kSeveral : static_cast<std::size_t>(&runner - runners_.data()));
      attempt(runner, step);
    }
  }

  bool is_ahead(const Runner& runner) const { return ahead_ && &runner == &*ahead_; }

  void tell(std::size_t contender) const {
    if (options_.on_step) options_.on_step(contender);
  }

  static void drop(Runner& runner) {
    runner.live = false;
    runner.graph.reset();
  }

  void synchronize(const std::string& attempt_text) {
    driver_.check(driver_.cuStreamSynchronize(stream_), attempt_text);
  }

  /// Continues with the set after the last one that any contender used, so that no launch finds its operands in L2.
  void launch(const Runner& runner, int count) {
    for (int i = 0; i < count; ++i) {
      if (ahead_ && !is_ahead(runner)) options_.ahead(stream_, next_set_);
      runner.contender->launch(stream_, next_set_);
      next_set_ = (next_set_ + 1) % options_.sets;
    }
  }

  void run_batch(const Runner& runner) {
    if (runner.graph) {
      runner.graph->launch(stream_);
    } else {
      launch(runner, runner.launches);
    }
  }

  /// The GPU time of the work that `enqueue` puts on the stream, without other work.
  double time_us(const Runner& runner, const std::function<void()>& enqueue) {
    runner.start.record(stream_);
    enqueue();
    runner.stop.record(stream_);
    synchronize("wait for " + runner.contender->name);
    return elapsed_us(driver_, runner.start, runner.stop);
  }

  /// The first launch loads and initialises. It is waited for, so that its errors are assigned to this contender.
  void estimate(Runner& runner) {
    launch(runner, 1);
    synchronize("run " + runner.contender->name);
    const auto eager_us = [&](int least) {
      const int launches = options_.fair_launches(least);
      return time_us(runner, [&] { launch(runner, launches); }) / launches;
    };
    runner.estimate_us = eager_us(1);
    if (runner.estimate_us >= kProbeBelowUs) return;
    if (options_.mode == TimingMode::graph) {
      const int launches = options_.fair_launches(kMinGraphLaunches);
      const OwnedGraph probe = OwnedGraph::capture(driver_, stream_, [&] { launch(runner, launches); });
      probe.launch(stream_);
      runner.estimate_us = time_us(runner, [&] { probe.launch(stream_); }) / launches;
    } else {
      runner.estimate_us = eager_us(kProbeLaunches);
    }
  }

  void capture_batch(Runner& runner) {
    runner.graph = OwnedGraph::capture(driver_, stream_, [&] { launch(runner, runner.launches); });
    runner.graph->launch(stream_);  // the first replay uploads it
    synchronize("replay a graph of " + runner.contender->name);
  }

  int launches_for(double estimate_us) const {
    const int least = options_.mode == TimingMode::graph ? kMinGraphLaunches : 1;
    const int most = std::max(options_.max_launches, least);
    const double wanted = std::ceil(options_.round_us / std::max(estimate_us, 0.1));
    const int launches = static_cast<int>(std::clamp(wanted, static_cast<double>(least), static_cast<double>(most)));
    const int fair = options_.fair_launches(launches);
    if (options_.mode == TimingMode::eager) return fair;
    const int whole = options_.whole_rotations(launches);  // so that a replay goes on where the last one ended
    return whole <= most ? whole : fair;
  }

  void choose_launches() {
    std::vector<double> estimates;
    double least_own = std::numeric_limits<double>::infinity();
    for (const Runner& runner : runners_) {
      if (!runner.live) continue;
      estimates.push_back(runner.estimate_us);
      least_own = std::min(least_own, own_estimate(runner));
    }
    if (estimates.empty()) return;
    const auto [least, most] = std::minmax_element(estimates.begin(), estimates.end());
    const bool alike = *most <= 2 * *least;
    const double middle = median(estimates);
    for (Runner& runner : runners_) {
      runner.launches = launches_for(alike ? middle : runner.estimate_us);
      // As many of the kernel ahead as of the others, so that what a batch costs cancels out.
      if (ahead_ && runner.live) ahead_->launches = std::max(ahead_->launches, runner.launches);
    }
    launch_bound_ = options_.mode == TimingMode::eager && least_own < kLaunchBoundUs;
  }

  double own_estimate(const Runner& runner) const { return runner.estimate_us - (ahead_ ? ahead_->estimate_us : 0); }

  bool any_live() const {
    return std::any_of(runners_.begin(), runners_.end(), [](const Runner& runner) { return runner.live; });
  }

  bool is_over(Clock::time_point now) const {
    return now >= options_.deadline || (options_.is_cancelled && options_.is_cancelled());
  }

  double round_us() const {
    double us = ahead_ ? ahead_->estimate_us * ahead_->launches : 0;
    for (const Runner& runner : runners_) {
      if (runner.live) us += runner.estimate_us * runner.launches;
    }
    return us;
  }

  bool has_time_for(double us) const {
    const auto now = Clock::now();
    return !is_over(now) && now + microseconds(us) < options_.deadline;
  }

  bool time_for_a_round() const { return result_.rounds_done == 0 ? !is_over(Clock::now()) : has_time_for(round_us()); }

  /// Runs rounds and discards their samples, as long as there is time for two more rounds.
  void warm_up() {
    const auto end = start_ + microseconds(options_.warm_up_us);
    while (any_live() && Clock::now() < end && has_time_for(3 * round_us())) run_round();
    for (Runner& runner : runners_) runner.us->clear();
    ahead_us_.clear();
    result_.rounds_done = 0;
  }

  void run_round() {
    tell(RaceOptions::kSeveral);
    std::vector<Runner*> order;
    for (Runner& runner : runners_) {
      runner.us->push_back(kNan);
      if (runner.live) order.push_back(&runner);
    }
    std::shuffle(order.begin(), order.end(), random_);
    // An untimed batch runs first, so that the GPU is busy when the timed batches are enqueued and no event waits for
    // the host.
    attempt(*order.front(), [&] { run_batch(*order.front()); });
    if (ahead_) {
      ahead_us_.push_back(kNan);
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(random_() % (order.size() + 1)), &*ahead_);
    }
    std::vector<Runner*> timed;
    for (Runner* runner : order) {
      if (!runner->live) continue;
      if (launch_bound_) synchronize("wait between two batches");
      const bool enqueued = attempt(*runner, [&] {
        runner->start.record(stream_);
        run_batch(*runner);
        runner->stop.record(stream_);
      });
      if (enqueued) timed.push_back(runner);
    }
    synchronize("wait for a round of timing");
    for (Runner* runner : timed) {
      runner->us->back() = elapsed_us(driver_, runner->start, runner->stop) / runner->launches;
    }
    ++result_.rounds_done;
  }

  /// The best known time of a contender. NaN if the kernel ahead of it seems to take all of it.
  double time_so_far(const Runner& runner) const {
    if (result_.rounds_done > 0) return median(ahead_ ? times_without(*runner.us, ahead_us_) : *runner.us);
    const double us = own_estimate(runner);
    return us > 0 ? us : kNan;
  }

  /// Takes the time of the kernel ahead off all samples.
  void take_off() {
    for (Runner& runner : runners_) {
      const bool was_timed = !std::isnan(median(*runner.us));
      *runner.us = times_without(*runner.us, ahead_us_);
      if (was_timed && std::isnan(median(*runner.us)) && runner.failure->empty()) *runner.failure = kLost;
    }
  }

  void abandon_slow() {
    if (options_.abandon_ratio <= 0) return;
    double best = std::numeric_limits<double>::infinity();
    for (const Runner& runner : runners_) {
      if (runner.live) best = std::min(best, time_so_far(runner));
    }
    for (Runner& runner : runners_) {
      if (runner.live && time_so_far(runner) > options_.abandon_ratio * best) drop(runner);
    }
  }

  const Clock::time_point start_ = Clock::now();
  const Driver& driver_;
  CUstream stream_;
  const RaceOptions& options_;
  std::mt19937_64 random_;
  RaceResult result_;
  std::vector<Runner> runners_;
  const Contender ahead_contender_{"the kernel ahead of the contenders", options_.ahead};
  std::vector<double> ahead_us_;  // [round]
  std::string ahead_failure_;
  std::optional<Runner> ahead_;
  int next_set_ = 0;
  bool launch_bound_ = false;
};

}  // namespace

std::string_view to_string(TimingMode mode) { return mode == TimingMode::eager ? "eager" : "graph"; }

std::vector<double> times_without(std::span<const double> us, std::span<const double> ahead_us) {
  std::vector<double> rest(us.size(), kNan);
  for (std::size_t i = 0; i < std::min(us.size(), ahead_us.size()); ++i) {
    const double difference = us[i] - ahead_us[i];
    if (difference > 0) rest[i] = difference;
  }
  return rest;
}

RaceResult race(const Driver& driver, CUstream stream, std::span<const Contender> contenders,
                const RaceOptions& options) {
  if (options.sets < 1) throw Error(ErrorCode::invalid_argument, "a race needs at least one operand set");
  if (options.blocks) return run_blocks(driver, stream, contenders, options);
  return Race(driver, stream, contenders, options).run();
}

}  // namespace hotgemm
