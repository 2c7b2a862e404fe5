#include "tune/tuning_run.hpp"

#include "base/blocked_signals.hpp"
#include "base/callback_guard.hpp"
#include "base/moment.hpp"
#include "gpu/nvrtc.hpp"
#include "tune/record_comparison.hpp"
#include "tune/tuning_job.hpp"
#include "tune/tuning_queue.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostFailures = 3;  // of a GPU's measurers, in a row

/// True for errors that are the measurer's and not the problem's: another measurer may succeed.
bool is_measurers(ErrorCode code) {
  return code == ErrorCode::context_lost || code == ErrorCode::internal || code == ErrorCode::io_error ||
         code == ErrorCode::no_device || code == ErrorCode::no_driver;
}

/// The toolchain that compiles candidates, or an empty string.
std::string toolchain() {
  try {
    return Nvrtc::get().toolchain();
  } catch (const Error&) {
    return {};  // not needed if the cache has all kernels
  }
}

struct Lane {
  int gpu = 0;
  std::thread thread;
  GpuFacts facts;
  std::exception_ptr error;  // why it did not start
  std::string message;
};

/// One call of TuningRun::run, with its threads.
class Run {
 public:
  Run(Engine& engine, const MeasurerFactory& factory, const TuningRunOptions& options, const TuningObserver& observer)
      : engine_(engine), factory_(factory), options_(options), observer_(observer) {}
  ~Run() {
    queue_.close(true);
    join();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  TuningReport run(std::span<const Workload> problems);

 private:
  // For the preparing thread.
  void start();
  void require_one_model() const;
  void require_power() const;
  void prepare_all(std::span<const Workload> problems);
  EarlierRun earlier_run(const Workload& problem);
  void join();
  void settle_leftovers();
  RunEnd end_of_run() const;

  // For the measuring threads.
  void work(Lane& lane);
  std::unique_ptr<Measurer> make_measurer(Lane& lane);
  void retire(std::unique_ptr<Measurer>& measurer);
  bool wait_for_go(bool is_up);
  /// Returns the error of the measurer; empty if the measurer is sound.
  std::string measure(int gpu, Measurer& measurer, TuningJob job);
  void tune(Measurer& measurer, const TuningJob& job, ProblemResult& result);
  void compare_with_cublas(Measurer& measurer, const TuningJob& job, ProblemResult& result);
  std::string put_back(TuningJob job, int gpu, const Error& error);
  SearchOptions search_options(const Measurer& measurer) const;
  SearchObserver search_observer(int gpu, const TuningJob& job, std::vector<Rejection>& rejections);

  // For any thread.
  void finish(const TuningJob& job, ProblemResult result);
  bool is_cancelled() const {
    return callbacks_.run(true, [&] { return observer_.is_cancelled && observer_.is_cancelled(); });
  }
  double seconds_left() const { return options_.run_budget_s - seconds_since(start_); }
  bool is_over() const { return is_cancelled() || seconds_left() <= 0; }
  template <class Function, class... Args>
  void tell(const Function& function, const Args&... args) {
    const std::lock_guard lock(telling_);
    tell_locked(function, args...);
  }

  /// The caller holds `telling_`.
  template <class Function, class... Args>
  void tell_locked(const Function& function, const Args&... args) {
    if (!function) return;
    callbacks_.run(false, [&] {
      function(args...);
      return true;
    });
  }

  Engine& engine_;
  const MeasurerFactory& factory_;
  const TuningRunOptions& options_;
  const TuningObserver& observer_;
  const Clock::time_point start_ = Clock::now();
  std::string toolchain_;
  std::optional<JobPreparation> preparation_;
  TuningQueue queue_{options_.max_trials, [this] { return is_over(); }};

  mutable CallbackGuard callbacks_;
  std::mutex telling_;  // held while the observer is called; guards report_
  TuningReport report_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::size_t ready_ = 0;  // lanes whose measurer has started or has failed to start
  enum class Phase { starting, running, aborted } phase_ = Phase::starting;

  std::deque<Lane> lanes_;  // the last member, because its threads use the others
};

TuningReport Run::run(std::span<const Workload> problems) {
  start();
  prepare_all(problems);
  join();
  settle_leftovers();
  callbacks_.rethrow();
  report_.left = static_cast<int>(problems.size() - report_.results.size());
  report_.end = end_of_run();
  report_.seconds = seconds_since(start_);
  return std::move(report_);
}

// ---- the preparing thread ----

void Run::start() {
  for (const int gpu : options_.gpus) lanes_.emplace_back().gpu = gpu;
  {
    const BlockedSignals blocked;
    for (Lane& lane : lanes_) lane.thread = std::thread([this, &lane] { work(lane); });
  }
  toolchain_ = toolchain();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_ == lanes_.size(); });
  }
  for (const Lane& lane : lanes_) {
    if (queue_.gpus() == 0) std::rethrow_exception(lane.error);
    if (lane.error) tell(observer_.lost, lane.gpu, lane.message);
  }
  require_one_model();
  require_power();
  const Lane& first = *std::ranges::find_if(lanes_, [](const Lane& lane) { return !lane.error; });
  GpuFacts facts = first.facts;
  facts.environment.toolchain = toolchain_;
  // Leave one core per GPU free for launches: a compiler must not delay what is timed.
  const int spare = default_compile_jobs() - static_cast<int>(lanes_.size());
  const int jobs = options_.tuning.jobs > 0 ? options_.tuning.jobs : std::max(1, spare);
  preparation_.emplace(engine_, options_, std::move(facts), jobs);
  tell(observer_.started, first.facts);
  const std::lock_guard lock(mutex_);
  phase_ = Phase::running;
  changed_.notify_all();
}

void Run::require_one_model() const {
  const Lane* first = nullptr;
  for (const Lane& lane : lanes_) {
    if (lane.error) continue;
    if (first == nullptr) first = &lane;
    const Environment& one = first->facts.environment;
    const Environment& other = lane.facts.environment;
    if (one.gpu == other.gpu && one.arch == other.arch && one.sm_count == other.sm_count) continue;
    const auto name = [](const Lane& l) {
      return "GPU " + std::to_string(l.gpu) + " is " + l.facts.environment.gpu + " with " +
             std::to_string(l.facts.environment.sm_count) + " SMs";
    };
    throw Error(ErrorCode::invalid_argument, "cannot tune on GPUs of different models in one run: " + name(*first) +
                                                 ", " + name(lane) + "; records are per model, so run once for each");
  }
}

/// Without the power there is no energy. This is said before anything is compiled.
void Run::require_power() const {
  if (engine_.objective != Objective::energy) return;
  if (options_.gpu_share < 1) {
    throw Error(ErrorCode::invalid_argument,
                "cannot tune for energy with a share of the GPU: the power of other work counts too");
  }
  for (const Lane& lane : lanes_) {
    if (lane.error || lane.facts.reports_power) continue;
    throw Error(ErrorCode::io_error, "cannot tune for energy on GPU " + std::to_string(lane.gpu) +
                                         ": NVML (libnvidia-ml.so.1) does not tell the power that it draws");
  }
}

void Run::prepare_all(std::span<const Workload> problems) {
  for (TuningJob& job : jobs_of(problems)) {
    if (!queue_.wait_for_room()) break;
    const EarlierRun earlier = earlier_run(job.problem());
    const auto is_cut_short = [this] { return is_over(); };
    if (std::optional<ProblemResult> result = preparation_->prepare(job, earlier, is_cut_short)) {
      finish(job, std::move(*result));
      continue;
    }
    if (is_over()) break;
    queue_.push(std::move(job));
  }
  queue_.close();
}

EarlierRun Run::earlier_run(const Workload& problem) {
  const std::lock_guard lock(telling_);
  if (!observer_.earlier) return EarlierRun::nothing;
  return callbacks_.run(EarlierRun::nothing, [&] { return observer_.earlier(problem); });
}

void Run::join() {
  {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::starting) phase_ = Phase::aborted;
    changed_.notify_all();
  }
  for (Lane& lane : lanes_) {
    if (lane.thread.joinable()) lane.thread.join();
  }
}

/// Reports problems that were put back and that no GPU is left for.
void Run::settle_leftovers() {
  if (queue_.gpus() > 0) return;
  for (const TuningJob& job : queue_.waiting()) {
    if (job.failed_on.empty()) continue;
    finish(job, failed(job.problem(),
                       Error(ErrorCode::no_device, "no GPU is left to measure " + to_string(job.problem()) + " on")));
  }
}

RunEnd Run::end_of_run() const {
  if (is_cancelled()) return RunEnd::cancelled;
  if (queue_.gpus() == 0) return RunEnd::out_of_gpus;
  if (report_.left == 0) return RunEnd::complete;
  return queue_.trials_left() == 0 ? RunEnd::out_of_trials : RunEnd::out_of_time;
}

// ---- the measuring threads ----

void Run::work(Lane& lane) {
  std::unique_ptr<Measurer> measurer = make_measurer(lane);
  if (measurer != nullptr) lane.facts = measurer->gpu();  // only once: other threads read it from now on
  if (!wait_for_go(measurer != nullptr)) {
    retire(measurer);
    return;
  }
  int failures = 0;
  std::string trouble;
  while (measurer != nullptr) {
    std::optional<TuningJob> job = queue_.take(lane.gpu);
    if (!job) {
      retire(measurer);
      return;
    }
    trouble = measure(lane.gpu, *measurer, std::move(*job));
    failures = trouble.empty() ? 0 : failures + 1;
    if (trouble.empty()) continue;
    retire(measurer);
    if (failures < kMostFailures) measurer = make_measurer(lane);
  }
  queue_.remove_gpu();
  tell(observer_.lost, lane.gpu, failures < kMostFailures ? lane.message : trouble);
}

std::unique_ptr<Measurer> Run::make_measurer(Lane& lane) {
  try {
    return factory_(lane.gpu);
  } catch (const std::exception& error) {
    lane.error = std::current_exception();
    lane.message = error.what();
    return nullptr;
  }
}

void Run::retire(std::unique_ptr<Measurer>& measurer) {
  if (measurer == nullptr) return;
  const int restarts = measurer->restarts();
  measurer.reset();
  const std::lock_guard lock(telling_);
  report_.restarts += restarts;
}

bool Run::wait_for_go(bool is_up) {
  if (is_up) queue_.add_gpu();
  std::unique_lock lock(mutex_);
  ++ready_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return phase_ != Phase::starting; });
  return is_up && phase_ != Phase::aborted;
}

std::string Run::measure(int gpu, Measurer& measurer, TuningJob job) {
  const auto start = Clock::now();
  const Workload& problem = job.problem();
  ProblemResult result{.problem = problem, .gpu = gpu, .compile_s = job.compile_s};
  tell(observer_.began, gpu, problem);
  try {
    if (job.uncompared) {
      compare_with_cublas(measurer, job, result);
    } else {
      tune(measurer, job, result);
    }
  } catch (const Error& error) {
    if (is_measurers(error.code())) return put_back(std::move(job), gpu, error);
    if (is_over()) {  // the end of the run may be the only reason for the failure
      queue_.finish(job, 0);
      return {};
    }
    result.failure = error.what();
    result.failure_code = error.code();
  } catch (const std::exception& error) {
    result.failure = error.what();
  }
  result.measure_s = seconds_since(start);
  const int measured = result.measured;
  finish(job, std::move(result));
  queue_.finish(job, measured);
  return {};
}

void Run::tune(Measurer& measurer, const TuningJob& job, ProblemResult& result) {
  SearchOptions options = search_options(measurer);
  options.is_limited = job.is_limited;
  const TuneOutcome outcome = search(engine_, measurer, job.measured(), job.candidates, options,
                                     search_observer(result.gpu, job, result.rejections));
  result.status = outcome.is_partial ? TuneStatus::partial : TuneStatus::tuned;
  result.record = outcome.record;
  result.baseline = outcome.baseline;
  result.baseline_us = outcome.baseline_us;
  result.ratio = outcome.ratio;
  result.of_fastest = outcome.of_fastest;
  result.cublas_failure = outcome.cublas_failure;
  result.measured = outcome.measured;
  const bool may_have_more = job.is_limited && job.trials < options_.max_trials;  // in the next run
  result.is_cut_short = outcome.is_partial && (may_have_more || is_over());
}

/// The record keeps its pick, and gets the comparison that it lacks.
void Run::compare_with_cublas(Measurer& measurer, const TuningJob& job, ProblemResult& result) {
  result.status = TuneStatus::recorded;
  result.record = job.uncompared;
  try {
    const SearchOptions options = search_options(measurer);
    result.record->cublas = compared_with_default(measurer, job.measured(), *job.uncompared, job.candidates.front(),
                                                  {.scratch_bytes = options.scratch_bytes, .seed = options.seed});
    result.record = rounded(*result.record);
    engine_.database.add(*result.record);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::wrong_result) {
      result = failed(job.problem(), error);
    } else if (error.code() == ErrorCode::not_supported) {
      result.cublas_failure = error.what();
    } else {
      throw;
    }
  }
}

std::string Run::put_back(TuningJob job, int gpu, const Error& error) {
  const bool is_last_attempt = !job.failed_on.empty();
  job.failed_on.insert(gpu);
  if (is_last_attempt) {
    finish(job, failed(job.problem(), error));
    queue_.finish(job, 0);
  } else {
    queue_.put_back(std::move(job));
  }
  return error.what();
}

SearchOptions Run::search_options(const Measurer& measurer) const {
  const TuneOptions& tuning = options_.tuning;
  const bool is_alone = options_.gpu_share == 1;
  return {.budget_s = std::min(tuning.budget_s / options_.gpu_share, std::max(0.0, seconds_left())),
          .rounds = tuning.rounds,
          .seed = tuning.seed,
          .scratch_bytes = tuning.scratch_bytes > 0 ? tuning.scratch_bytes : measurer.gpu().free_bytes / 2,
          .with_baseline = options_.with_baseline && is_alone,
          .cublas = is_alone ? options_.cublas : CublasScope::none,
          .with_blocks = is_alone,
          .objective = engine_.objective,
          .toolchain = toolchain_};
}

SearchObserver Run::search_observer(int gpu, const TuningJob& job, std::vector<Rejection>& rejections) {
  return {.rejected =
              [this, gpu, &job, &rejections](const Candidate& c) {
                rejections.push_back({to_string(c.config), std::string(to_string(c.stage)), c.reason});
                tell(observer_.rejected, gpu, job.measured(), c);
              },
          .sampled = [this, gpu, &job](const Sample& s) { tell(observer_.sampled, gpu, job.measured(), s); },
          .led = [this, gpu, &job](const RaceLeader& s) { tell(observer_.led, gpu, job.measured(), s); },
          .is_cancelled = [this] { return is_cancelled(); }};
}

// ---- any thread ----

void Run::finish(const TuningJob& job, ProblemResult result) {
  const std::lock_guard lock(telling_);
  for (const Workload& problem : job.problems) {
    result.problem = problem;
    report_.results.push_back(result);
    report_.trials += result.measured;
    tell_locked(observer_.finished, result);
    // The other problems of the class share its record or its failure.
    result = {.status = result.record ? TuneStatus::recorded : TuneStatus::failed,
              .record = std::move(result.record),
              .failure = std::move(result.failure),
              .failure_code = result.failure_code};
  }
}

}  // namespace

std::string_view to_string(TuneStatus status) {
  switch (status) {
    case TuneStatus::tuned: return "tuned";
    case TuneStatus::recorded: return "recorded";
    case TuneStatus::partial: return "partial";
    case TuneStatus::failed: return "failed";
  }
  return "?";
}

TuningRun::TuningRun(Engine& engine, MeasurerFactory factory, TuningRunOptions options, TuningObserver observer)
    : engine_(engine), factory_(std::move(factory)), options_(std::move(options)), observer_(std::move(observer)) {}

TuningReport TuningRun::run(std::span<const Workload> problems) {
  return Run(engine_, factory_, options_, observer_).run(problems);
}

}  // namespace hotgemm
