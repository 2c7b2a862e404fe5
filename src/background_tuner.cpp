#include "background_tuner.hpp"

#include "base/cores.hpp"
#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "base/thread_priority.hpp"
#include "tune/device_measurer.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;

// The counts of uses are read so often: first often, then less and less.
constexpr auto kFirstPoll = 50ms;
constexpr auto kLastPoll = 2s;
constexpr auto kPauseAfterFailure = 30s;  // others measured on the GPU, or the worker could not start
constexpr auto kHurriedPause = 1s;

// The part of the time that tuning saved on an H200, against the two ways to plan without it (docs/results/sets.md).
constexpr double kGainOnEstimate = 0.06;
constexpr double kGainOnNearest = 0.03;
constexpr double kGainOnLong = 0.01;  // of a launch that takes longer than kLongUs
constexpr double kLongUs = 400;

double expected_gain(Origin origin, double launch_us) {
  if (launch_us > kLongUs) return kGainOnLong;
  return origin == Origin::nearest ? kGainOnNearest : kGainOnEstimate;
}

const BackgroundOptions& checked(const BackgroundOptions& options) {
  const auto require = [](bool is_good, const std::string& what) {
    if (!is_good) throw Error(ErrorCode::invalid_argument, "background tuning: " + what);
  };
  require(options.gpu_share > 0 && options.gpu_share <= 1,
          "gpu_share is " + std::to_string(options.gpu_share) + "; it must be above 0 and at most 1");
  require(options.slice_s > 0, "slice_s is " + std::to_string(options.slice_s) + "; it must be above 0");
  require(options.scratch_bytes >= 0, "scratch_bytes is " + std::to_string(options.scratch_bytes));
  require(options.jobs >= 0, "jobs is " + std::to_string(options.jobs));
  return options;
}

TuneOptions tune_options(const ContextOptions& options) {
  TuneOptions tuning = options.tuning;
  tuning.scratch_bytes = options.background.scratch_bytes;
  tuning.jobs = options.background.jobs > 0 ? options.background.jobs : std::max(available_cores() / 4, 1);
  return tuning;
}

/// The tuners with a thread. When the program ends, the threads end before the objects that they use.
class LiveTuners {
 public:
  static LiveTuners& instance() {
    static auto* all = new LiveTuners;  // never freed: used while the program ends
    return *all;
  }
  void add(BackgroundTuner* tuner) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_watching_, true)) std::atexit([] { instance().stop_all(); });
    tuners_.insert(tuner);
  }
  void remove(BackgroundTuner* tuner) {
    const std::lock_guard lock(mutex_);
    tuners_.erase(tuner);
  }

 private:
  void stop_all() {
    for (;;) {
      BackgroundTuner* tuner = nullptr;
      {
        const std::lock_guard lock(mutex_);
        if (tuners_.empty()) return;
        tuner = *tuners_.begin();
      }
      tuner->stop();
    }
  }

  std::mutex mutex_;
  bool is_watching_ = false;
  std::set<BackgroundTuner*> tuners_;
};

}  // namespace

BackgroundTuner::BackgroundTuner(const ContextOptions& options, TuningPlace& place, TuningControl& control,
                                 Exchange exchange)
    : options_(checked(options.background)),
      tuning_(tune_options(options)),
      place_(place),
      control_(control),
      exchange_(std::move(exchange)) {}

void BackgroundTuner::add(DeviceState& device, const Workload& problem, const std::shared_ptr<const PlanImpl>& plan) {
  const Choice& choice = plan->choice();
  const double us = predicted_us(device, problem, choice);
  if (us > options_.slice_s * 1e6) {
    log(LogLevel::info,
        to_string(problem) + " takes longer than a slice of background tuning; `hotgemm tune` measures it");
    return;
  }
  plan->count_uses();
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  waiting_.push_back({.device = &device,
                      .problem = problem,
                      .plan = plan,
                      .launch_us = us,
                      .expected_gain = expected_gain(choice.origin, us)});
  begin_thread();
  poll_ = kFirstPoll;
  changed_.notify_all();
}

/// The caller holds the lock.
void BackgroundTuner::begin_thread() {
  if (thread_.joinable()) return;
  LiveTuners::instance().add(this);
  thread_ = std::thread([this] { run(); });
}

bool BackgroundTuner::wait(Clock::time_point deadline) {
  ++hurried_;
  std::unique_lock lock(mutex_);
  changed_.notify_all();
  const bool is_done = changed_.wait_until(lock, deadline, [&] { return is_stopping_ || !has_work(); });
  --hurried_;
  return is_done;
}

void BackgroundTuner::wake() {
  const std::lock_guard lock(mutex_);
  poll_ = kFirstPoll;
  changed_.notify_all();
}

void BackgroundTuner::stop() noexcept {
  if (is_forked_child()) {
    if (thread_.joinable()) thread_.detach();  // a child of fork() has no such thread
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  control_.wake();
  if (thread_.joinable()) thread_.join();
  LiveTuners::instance().remove(this);
}

std::size_t BackgroundTuner::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

// ---- the thread ----

void BackgroundTuner::run() {
  lower_thread_priority();
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    std::optional<Waiting> next = take_best();
    if (!next) {
      if (measurer_ && poll_ >= kLastPoll) {
        lock.unlock();
        measurer_.reset();  // frees the memory of the worker's context
        lock.lock();
        continue;
      }
      changed_.notify_all();
      if (waiting_.empty() && !measurer_) {
        changed_.wait(lock);
      } else {
        changed_.wait_for(lock, poll_);
        poll_ = std::min<Clock::duration>(2 * poll_, kLastPoll);
      }
      continue;
    }
    is_busy_ = true;
    lock.unlock();
    const bool is_to_wait = tune(*next);
    lock.lock();
    is_busy_ = false;
    poll_ = kFirstPoll;
    if (!is_to_wait) continue;
    next->not_before = Clock::now() + (hurried_ > 0 ? Clock::duration(kHurriedPause) : kPauseAfterFailure);
    waiting_.push_back(*std::move(next));
  }
  lock.unlock();
  measurer_.reset();
}

/// The time that measuring the class would have saved so far, in microseconds; 0 if it is not worth it, or not yet.
double BackgroundTuner::worth(const Waiting& waiting) const {
  const std::shared_ptr<const PlanImpl> plan = waiting.plan.lock();
  if (!plan || Clock::now() < waiting.not_before) return 0;
  const std::uint64_t uses = std::max<std::uint64_t>(plan->uses(), hurried_ > 0 ? 1 : 0);
  const std::uint64_t least = hurried_ > 0 ? 1 : options_.min_calls;
  return uses < least ? 0 : static_cast<double>(uses) * waiting.launch_us * waiting.expected_gain;
}

/// Takes the class that is worth most out of those that wait, and drops the classes whose plans are gone. The caller
/// holds the lock.
std::optional<BackgroundTuner::Waiting> BackgroundTuner::take_best() {
  std::erase_if(waiting_, [](const Waiting& one) { return one.plan.expired(); });
  if (!control_.may_begin()) return std::nullopt;
  double most = 0;
  auto best = waiting_.end();
  for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
    const double its_worth = worth(*one);
    if (its_worth <= most) continue;
    most = its_worth;
    best = one;
  }
  if (best == waiting_.end()) return std::nullopt;
  Waiting taken = std::move(*best);
  waiting_.erase(best);
  return taken;
}

/// True if a class is measured or waits. The caller holds the lock.
bool BackgroundTuner::has_work() const {
  return is_busy_ || std::ranges::any_of(waiting_, [](const Waiting& one) { return !one.plan.expired(); });
}

bool BackgroundTuner::tune(const Waiting& waiting) {
  DeviceState& device = *waiting.device;
  const Driver& driver = device.driver();
  try {
    const ContextOfId own(driver, device.gpu(), device.context_id());
    if (!own.is_current()) {
      log(LogLevel::info, "not tuned in the background: " + to_string(waiting.problem) +
                              ": its CUDA context is gone, or no primary context");
      return false;
    }
    const RelaxedCaptureMode relaxed(driver);  // the program may be capturing
    return tune_in_context(waiting);
  } catch (const std::exception& error) {
    log(LogLevel::warn, "not tuned in the background: " + to_string(waiting.problem) + ": " + error.what());
    return false;
  }
}

bool BackgroundTuner::tune_in_context(const Waiting& waiting) {
  DeviceState& device = *waiting.device;
  const ClassFlights::Flight flight = device.tuning().try_take(class_key(waiting.problem));
  if (!flight) return true;
  const std::uint64_t generation = control_.generation();
  const Clock::time_point start = Clock::now();
  double paused_before_s = 0, paused_s = 0;
  bool is_to_wait = false;
  try {
    make_measurer(device);
    paused_before_s = measurer_->paused_s();
    const TuneOutcome outcome =
        tune_beside_work(device, waiting.problem, tuning_, *measurer_,
                         {.only_vetted = measures_here_, .is_cancelled = [&] { return is_unwanted(generation); }});
    paused_s = measurer_->paused_s() - paused_before_s;
    exchange_(waiting, &outcome);
  } catch (const Error& error) {
    if (measurer_) paused_s = measurer_->paused_s() - paused_before_s;
    measurer_.reset();  // it may be in the middle of a problem
    is_to_wait = error.code() == ErrorCode::interrupted || error.code() == ErrorCode::io_error;
    log(is_to_wait || error.code() == ErrorCode::out_of_memory ? LogLevel::info : LogLevel::warn,
        "not tuned in the background" + std::string(is_to_wait ? " yet: " : ": ") + to_string(waiting.problem) + ": " +
            error.what());
    if (!is_to_wait) exchange_(waiting, nullptr);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  control_.add_used(seconds - paused_s);
  log(LogLevel::debug, to_string(waiting.problem) + " took " + std::to_string(seconds) +
                           " s in the background, pauses of " + std::to_string(paused_s) + " s among them");
  return is_to_wait;
}

bool BackgroundTuner::is_unwanted(std::uint64_t generation) const {
  return is_stopping_ || !control_.may_begin() || control_.generation() != generation;
}

/// Makes the measurer for `device`, unless it is there.
void BackgroundTuner::make_measurer(DeviceState& device) {
  if (measurer_ && measured_device_ == &device) return;
  measurer_.reset();
  std::unique_ptr<Measurer> inner;
  try {
    if (const MakeMeasurer make = place_.measurer(device, tuning_)) inner = make(Clock::time_point::max());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_supported) throw;  // MPS shares the GPU: only vetted kernels may run
  }
  measures_here_ = inner == nullptr;
  if (measures_here_) inner = std::make_unique<DeviceMeasurer>(device);
  measurer_ = std::make_unique<PacedMeasurer>(
      std::move(inner), Pace{.share = options_.gpu_share,
                             .slice_s = options_.slice_s,
                             .is_cancelled = [this] { return is_stopping_ || !control_.may_begin(); },
                             .is_hurried = [this] { return hurried_ > 0; }});
  measured_device_ = &device;
}

}  // namespace hotgemm
