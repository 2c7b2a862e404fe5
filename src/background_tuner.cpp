#include "background_tuner.hpp"

#include "base/blocked_signals.hpp"
#include "base/cores.hpp"
#include "base/exit_handlers.hpp"
#include "base/fork_guard.hpp"
#include "base/live_threads.hpp"
#include "base/log.hpp"
#include "base/moment.hpp"
#include "base/thread_priority.hpp"
#include "tune/device_measurer.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;
using Clock = BackgroundTuner::Clock;

// The counts of uses are read so often: first often, then less and less.
constexpr Clock::duration kFirstPoll = 50ms;
constexpr Clock::duration kLastPoll = 2s;
constexpr Clock::duration kPauseAfterFailure = 30s;  // others measured on the GPU, or the worker could not start
constexpr Clock::duration kHurriedPause = 1s;
constexpr std::size_t kMostPreparing = 10'000;  // classes; a program with more declines for good
constexpr double kLockWaitS = 0.5;              // the end of the program waits as long

// The part of the time that tuning saved on an H200, against the two ways to plan without it (docs/results/sets.md).
constexpr double kGainOnEstimate = 0.06;
constexpr double kGainOnNearest = 0.03;

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
  tuning.jobs = options.background.jobs;
  return tuning;
}

}  // namespace

BackgroundTuner::BackgroundTuner(const ContextOptions& options, TuningPlace& place, TuningControl& control,
                                 Callbacks callbacks)
    : options_(checked(options.background)),
      place_(place),
      control_(control),
      callbacks_(std::move(callbacks)),
      tuning_(tune_options(options)) {}

BackgroundTuner::~BackgroundTuner() {
  if (has_lost_cuda()) {
    [[maybe_unused]] const Shared* const shared = shared_.release();
    [[maybe_unused]] const PacedMeasurer* const measurer = measurer_.release();  // its worker is the parent's
    return;
  }
  stop();
}

void BackgroundTuner::add(DeviceState& device, const Workload& problem, const std::shared_ptr<const PlanImpl>& plan) {
  if (has_lost_cuda()) return;
  const Choice& choice = plan->choice();
  const double us = predicted_us(device, problem, choice);
  if (us > options_.slice_s * 1e6 || needs_blocks(device, problem, us)) {
    log(LogLevel::info, to_string(problem) + " is not tuned in the background, but by `hotgemm tune`: a call takes " +
                            (us > options_.slice_s * 1e6 ? "longer than a slice" : "as much power as the GPU has"));
    return;
  }
  const std::lock_guard lock(shared_->mutex);
  if (is_stopping_ || !begin_thread()) return;
  shared_->waiting.push_back({.device = &device,
                              .problem = problem,
                              .plan = plan,
                              .launch_us = us,
                              .expected_gain = choice.origin == Origin::nearest ? kGainOnNearest : kGainOnEstimate});
  plan->count_uses(true);
  shared_->poll = kFirstPoll;
  shared_->changed.notify_all();
}

bool BackgroundTuner::load_later(DeviceState& device, const Workload& problem,
                                 const std::shared_ptr<const PlanImpl>& plan) {
  if (has_lost_cuda()) return false;
  const std::lock_guard lock(shared_->mutex);
  if (is_stopping_ || !begin_thread()) return false;
  shared_->to_load.push_back({.device = &device, .problem = problem, .plan = plan});
  shared_->changed.notify_all();
  return true;
}

void BackgroundTuner::prepare_later(DeviceState& device, const Workload& problem, const Demands& demands) {
  if (has_lost_cuda() || !device.is_primary()) return;
  watch_main_thread();
  const Preparing preparing{&device, class_key(problem), demands.tuned, demands.as_fast};
  const std::lock_guard lock(shared_->mutex);
  if (is_stopping_ || shared_->preparing.size() >= kMostPreparing || shared_->preparing.contains(preparing)) return;
  if (!begin_thread()) return;
  shared_->preparing.insert(preparing);
  shared_->to_load.push_back({.device = &device, .problem = problem, .is_to_prepare = true, .demands = demands});
  shared_->changed.notify_all();
}

void BackgroundTuner::retry_preparing() {
  if (has_lost_cuda()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->preparing.clear();
}

/// Returns false if there can be no thread. The caller holds the lock.
///
/// If the main thread ends the program, the thread must have ended before NVRTC's destructors run, which the first
/// compilation registers.
bool BackgroundTuner::begin_thread() {
  watch_main_thread();
  if (shared_->thread.joinable()) return true;
  if (!LiveThreads<BackgroundTuner>::instance().add(this)) return false;
  try {
    const BlockedSignals blocked;
    shared_->thread = std::thread([this] { run(); });
    return true;
  } catch (const std::system_error& error) {
    log(LogLevel::info, std::string("nothing is tuned in the background: no thread: ") + error.what());
    return false;
  }
}

bool BackgroundTuner::wait(Clock::time_point deadline) {
  if (has_lost_cuda()) return false;
  ++hurried_;
  std::unique_lock lock(shared_->mutex);
  shared_->changed.notify_all();
  shared_->changed.wait_until(lock, deadline, [&] { return is_stopping_ || !has_work() || is_spent(); });
  --hurried_;
  return !has_work();
}

void BackgroundTuner::wake() {
  if (has_lost_cuda()) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->poll = kFirstPoll;
  shared_->changed.notify_all();
}

void BackgroundTuner::stop() noexcept {
  if (has_lost_cuda()) return;
  std::thread thread;
  {
    const std::lock_guard lock(shared_->mutex);
    is_stopping_ = true;
    shared_->changed.notify_all();
    thread = std::move(shared_->thread);
  }
  if (thread.joinable()) thread.join();
  LiveThreads<BackgroundTuner>::instance().remove(this);
}

std::size_t BackgroundTuner::waiting() const {
  if (has_lost_cuda()) return 0;
  const std::lock_guard lock(shared_->mutex);
  return shared_->waiting.size();
}

// ---- the thread ----

void BackgroundTuner::run() {
  lower_thread_priority();
  if (tuning_.jobs == 0) tuning_.jobs = std::max(available_cores() / 4, 1);
  std::unique_lock lock(shared_->mutex);
  while (!is_stopping_) {
    if (!shared_->to_load.empty()) {
      lock.unlock();
      load_waiting();
      lock.lock();
      continue;
    }
    std::optional<Waiting> next = take_best();
    if (!next) {
      if (measurer_ && shared_->poll >= kLastPoll) {
        lock.unlock();
        measurer_.reset();  // frees the memory of the worker's context
        lock.lock();
        continue;
      }
      shared_->changed.notify_all();
      if (shared_->waiting.empty() && !measurer_) {
        shared_->changed.wait(lock);
      } else {
        shared_->changed.wait_for(lock, shared_->poll);
        shared_->poll = std::min<Clock::duration>(2 * shared_->poll, kLastPoll);
      }
      continue;
    }
    shared_->is_busy = true;
    generation_ = control_.generation();  // before others see that the class does not wait
    lock.unlock();
    const Result result = tune(*next);
    if (const std::shared_ptr<const PlanImpl> plan = next->plan.lock(); plan && result == Result::ended) {
      plan->count_uses(false);
    }
    lock.lock();
    shared_->is_busy = false;
    shared_->poll = kFirstPoll;
    if (result == Result::ended) continue;
    const bool was_paused = !control_.may_begin();  // then it goes on when tuning is resumed
    if (!was_paused) next->not_before = Clock::now() + (hurried_ > 0 ? kHurriedPause : kPauseAfterFailure);
    shared_->waiting.push_back(*std::move(next));
  }
  lock.unlock();
  measurer_.reset();
}

/// Loads the kernels of the classes with interim plans, and prepares others; also between two slices of a measurement.
void BackgroundTuner::load_waiting() {
  std::unique_lock lock(shared_->mutex);
  while (!shared_->to_load.empty() && !is_stopping_) {
    const Waiting next = shared_->to_load.front();
    lock.unlock();
    load(next);
    lock.lock();
    shared_->to_load.erase(shared_->to_load.begin());  // only now, so that wait() waits for it; others append
  }
  shared_->changed.notify_all();
}

void BackgroundTuner::load(const Waiting& waiting) {
  try {
    const ContextOfId own(waiting.device->driver(), waiting.device->gpu(), waiting.device->context_id());
    if (!own.is_current()) return;                               // the CUDA context is gone, and the plan with it
    const RelaxedCaptureMode relaxed(waiting.device->driver());  // the program may be capturing
    if (!waiting.is_to_prepare) return callbacks_.load(waiting);
    if (!callbacks_.prepare(waiting)) return;
    const std::lock_guard lock(shared_->mutex);
    const Demands& demands = waiting.demands;
    shared_->preparing.erase({waiting.device, class_key(waiting.problem), demands.tuned, demands.as_fast});
  } catch (const std::exception& error) {
    log(LogLevel::warn,
        "not loaded in the background: the kernel for " + to_string(waiting.problem) + ": " + error.what());
  }
}

/// The time that measuring the class would have saved so far, in microseconds; 0 if it is not worth it, or not yet.
double BackgroundTuner::worth(const Waiting& waiting) const {
  const std::shared_ptr<const PlanImpl> plan = waiting.plan.lock();
  if (!plan || Clock::now() < waiting.not_before) return 0;
  const std::uint64_t uses = std::max<std::uint64_t>(plan->uses(), 1), least = hurried_ > 0 ? 1 : options_.min_calls;
  return uses < least ? 0 : static_cast<double>(uses) * waiting.launch_us * waiting.expected_gain;
}

/// Takes the class that is worth most out of those that wait, and drops the classes whose plans are gone. The caller
/// holds the lock.
std::optional<BackgroundTuner::Waiting> BackgroundTuner::take_best() {
  std::vector<Waiting>& all = shared_->waiting;
  std::erase_if(all, [](const Waiting& one) { return one.plan.expired(); });
  if (!control_.may_begin()) return std::nullopt;
  double most = 0;
  auto best = all.end();
  for (auto one = all.begin(); one != all.end(); ++one) {
    const double its_worth = worth(*one);
    if (its_worth <= most) continue;
    most = its_worth;
    best = one;
  }
  if (best == all.end()) return std::nullopt;
  Waiting taken = std::move(*best);
  all.erase(best);
  return taken;
}

/// True if a class is measured or waits. The caller holds the lock.
bool BackgroundTuner::has_work() const {
  return shared_->is_busy || !shared_->to_load.empty() ||
         std::ranges::any_of(shared_->waiting, [](const Waiting& one) { return !one.plan.expired(); });
}

/// True if the total of time is used up: what waits will wait for ever.
bool BackgroundTuner::is_spent() const {
  return !shared_->is_busy && shared_->to_load.empty() && !(control_.left_s() > 0);
}

BackgroundTuner::Result BackgroundTuner::tune(const Waiting& waiting) {
  DeviceState& device = *waiting.device;
  try {
    const ContextOfId own(device.driver(), device.gpu(), device.context_id());
    if (!own.is_current()) {
      log(LogLevel::info, "not tuned in the background: " + to_string(waiting.problem) +
                              ": its CUDA context is gone, or no primary context");
      return Result::ended;
    }
    const RelaxedCaptureMode relaxed(device.driver());  // the program may be capturing
    return tune_in_context(waiting);
  } catch (const std::exception& error) {
    log(LogLevel::warn, "not tuned in the background: " + to_string(waiting.problem) + ": " + error.what());
  } catch (...) {
    log(LogLevel::warn, "not tuned in the background: " + to_string(waiting.problem));
  }
  measurer_.reset();  // it may be in the middle of a problem
  return Result::ended;
}

BackgroundTuner::Result BackgroundTuner::tune_in_context(const Waiting& waiting) {
  DeviceState& device = *waiting.device;
  const ClassFlights::Flight flight = device.tuning().try_take(measured_product(class_key(waiting.problem)));
  if (!flight) return Result::again;
  if (!callbacks_.is_wanted(waiting)) return Result::ended;
  Result result = Result::ended;
  const std::optional<TuneOutcome> outcome = measure(waiting, result);
  if (result == Result::ended) callbacks_.ended(waiting, outcome ? &*outcome : nullptr);
  return result;
}

/// nullopt if the class could not be measured; `result` tells whether it will be tried again.
std::optional<TuneOutcome> BackgroundTuner::measure(const Waiting& waiting, Result& result) {
  const Clock::time_point start = Clock::now();
  double paused_before_s = 0, paused_s = 0;
  std::optional<TuneOutcome> outcome;
  try {
    make_measurer(*waiting.device);
    paused_before_s = measurer_->paused_s();
    outcome = tune_beside_work(*waiting.device, waiting.problem, tuning_, *measurer_,
                               {.only_vetted = measures_here_,
                                .is_cancelled = [&] { return is_unwanted(); },
                                .meanwhile = [this] { load_waiting(); }});
    paused_s = measurer_->paused_s() - paused_before_s;
  } catch (const Error& error) {
    if (measurer_) paused_s = measurer_->paused_s() - paused_before_s;
    measurer_.reset();  // it may be in the middle of a problem
    const bool is_again = error.code() == ErrorCode::interrupted || error.code() == ErrorCode::io_error;
    result = is_again ? Result::again : Result::ended;
    log(is_again || error.code() == ErrorCode::out_of_memory ? LogLevel::info : LogLevel::warn,
        "not tuned in the background" + std::string(is_again ? " yet: " : ": ") + to_string(waiting.problem) + ": " +
            error.what());
  }
  const double seconds = seconds_since(start);
  control_.add_used(seconds - paused_s);
  log(LogLevel::debug, to_string(waiting.problem) + " took " + std::to_string(seconds) +
                           " s in the background, pauses of " + std::to_string(paused_s) + " s among them");
  return outcome;
}

/// True if the measurement that goes on is to end.
bool BackgroundTuner::is_unwanted() const {
  return is_stopping_ || !control_.may_begin() || control_.generation() != generation_;
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
  if (measures_here_ && !options_.loads_kernels) {
    throw Error(ErrorCode::not_supported, "no worker process can run, and no kernel may be loaded in this one");
  }
  if (measures_here_) inner = std::make_unique<DeviceMeasurer>(device);
  measurer_ = std::make_unique<PacedMeasurer>(std::move(inner), Pace{.share = options_.gpu_share,
                                                                     .slice_s = options_.slice_s,
                                                                     .lock_wait_s = kLockWaitS,
                                                                     .is_cancelled = [this] { return is_unwanted(); },
                                                                     .is_hurried = [this] { return hurried_ > 0; },
                                                                     .meanwhile = [this] { load_waiting(); }});
  measured_device_ = &device;
}

}  // namespace hotgemm
