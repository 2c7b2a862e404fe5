#include "worker/isolated_measurer.hpp"

#include "base/log.hpp"
#include "base/moment.hpp"
#include "base/statistics.hpp"
#include "config/work.hpp"
#include "worker/worker_process.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;
using Cause = WorkerEnd::Cause;

constexpr double kStartPatienceS = 30;     // to make a context and fill tens of GB, or to load cuBLAS and time it
constexpr double kComparePatienceS = 180;  // to race hundreds of cuBLAS's algorithms and to run blocks of the best
constexpr double kExpectedFactor = 20;     // a step may take the expected time multiplied by this
constexpr int kMostKills = 5;              // by other processes, in a row
constexpr int kMostFruitlessRaces = 3;     // races that ended the worker although no single trial could be blamed

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0u);
  return indices;
}

std::vector<Trial> picked(std::span<const Trial> trials, const std::vector<std::size_t>& indices) {
  std::vector<Trial> some;
  for (const std::size_t i : indices) some.push_back(trials[i]);
  return some;
}

/// Expected seconds of a slow kernel, one without tensor cores, and of one pass over all operands.
struct Expected {
  double launch_s = 0;
  double pass_s = 0;
};

Expected expect(const GpuFacts& gpu, const Problem& asked) {
  const Problem problem = with_uniform_groups(asked);
  constexpr double kFlopsPerClock = 2 * 128;  // of one SM
  Problem some = problem;
  some.k = std::max<std::int64_t>(problem.k, 1);
  const double flops_per_s = std::max(gpu.info.sm_count, 1) * kFlopsPerClock * std::max(gpu.info.clock_mhz, 100) * 1e6;
  const auto matrix_bytes = [](std::int64_t rows, std::int64_t cols, DType type) {
    return static_cast<double>(rows) * static_cast<double>(cols) * size_bytes(type);
  };
  const Types& types = problem.types;
  const double operands = static_cast<double>(problem.batch) *
                          (matrix_bytes(problem.m, problem.k, types.a) + matrix_bytes(problem.k, problem.n, types.b) +
                           matrix_bytes(problem.m, problem.n, types.c) + matrix_bytes(problem.m, problem.n, types.d));
  // The operand sets together fill L2 twice.
  const double bytes = 2 * operands + 2.0 * static_cast<double>(gpu.info.l2_bytes);
  return {flops(some) / flops_per_s, bytes / (std::max(gpu.info.dram_gbps, 10) * 1e9)};
}

/// Collects the replies to a race into one result.
struct RaceTally {
  RaceResult result;

  explicit RaceTally(std::size_t most_rows) {
    result.us.resize(most_rows);
    result.failures.resize(most_rows);
  }
  void take(const Reply& reply) {
    const auto row = static_cast<std::size_t>(reply.trial);
    if (reply.kind == ReplyKind::done) {
      result.rounds_done = reply.round;
      result.us.resize(std::min(row, result.us.size()));
      result.failures.resize(result.us.size());
      for (auto& us : result.us) us.resize(static_cast<std::size_t>(std::max(reply.round, 0)), kNan);
      return;
    }
    if (row >= result.us.size() || reply.round < 0) return;
    if (reply.kind == ReplyKind::failure) result.failures[row] = reply.text();
    if (reply.kind == ReplyKind::blocks) {
      result.blocks.resize(std::max(result.blocks.size(), row + 1));
      decode_blocks(reply, result.blocks[row], result.power_limit_w);
    }
    if (reply.kind != ReplyKind::sample) return;
    auto& us = result.us[row];
    us.resize(std::max(us.size(), static_cast<std::size_t>(reply.round) + 1), kNan);
    us[static_cast<std::size_t>(reply.round)] = reply.us;
  }
};

}  // namespace

struct IsolatedMeasurer::Impl {
  explicit Impl(WorkerOptions o) : options(std::move(o)) { start(); }

  // ---- lives of the worker ----

  void start();
  void begin();
  /// Starts the worker, begins the session and sends cubins, as far as each is not yet done.
  void make_ready(std::span<const Trial> trials);
  void drop_worker();
  void lose(const WorkerEnd& end);
  /// Counts an end of the worker that is not the fault of a trial. Throws when there have been too many.
  void bear(const WorkerEnd& end, int most, int& count) const;
  /// True if the end shows that the running trial is to blame. `strikes` counts such ends, including this one.
  bool is_believed(const WorkerEnd& end, int strikes) const;

  // ---- questions ----

  /// The time for which the worker may wait at most until nobody else measures on the GPU, if the session limits it.
  double lock_wait_s() const {
    if (session->options.deadline == Clock::time_point::max()) return 0;  // it waits for less than kStartPatienceS
    return std::max(seconds_between(Clock::now(), session->options.deadline), 0.0);
  }
  double deadline_for(double expected_s) const { return options.hang_timeout_s + kExpectedFactor * expected_s; }
  Patience check_patience() const;
  Patience race_patience(std::size_t contenders, const RaceOptions& race, bool with_baseline) const;
  std::optional<WorkerEnd> race_once(std::span<const Trial> trials, const RaceOptions& race, bool with_baseline,
                                     RaceResult& result);
  /// The reason why `trial`, raced alone, ends the worker; empty if it does not.
  std::string guilt_of(const Trial& trial, RaceOptions race);

  WorkerOptions options;
  std::unique_ptr<WorkerProcess> worker;
  std::atomic<int> pid{-1};
  int starts = 0;
  GpuFacts gpu;
  std::optional<BeginRequest> session;
  bool has_begun = false;                   // true if this worker has begun the session
  std::set<std::string> cubins;             // symbols of the cubins that this worker has
  std::optional<TimingMode> baseline_mode;  // the timing mode for which this worker has prepared the baseline
  std::string baseline;
};

void IsolatedMeasurer::Impl::drop_worker() {
  pid = -1;
  worker.reset();
  has_begun = false;
  cubins.clear();
  baseline_mode.reset();
}

void IsolatedMeasurer::Impl::lose(const WorkerEnd& end) {
  log(LogLevel::info,
      "worker " + std::to_string(pid) + " on GPU " + std::to_string(options.device) + " is gone: " + end.what);
  drop_worker();
}

void IsolatedMeasurer::Impl::bear(const WorkerEnd& end, int most, int& count) const {
  if (end.cause == Cause::told && end.code != ErrorCode::context_lost) throw Error(end.code, end.what);
  const bool is_killed = end.cause == Cause::killed;
  if (++count < (is_killed ? std::max(most, kMostKills) : most)) return;
  throw Error(end.cause == Cause::told ? end.code : ErrorCode::internal,
              "the worker that measures on GPU " + std::to_string(options.device) + " ended " + std::to_string(count) +
                  " times; the last time: " + end.what);
}

bool IsolatedMeasurer::Impl::is_believed(const WorkerEnd& end, int strikes) const {
  switch (end.cause) {
    case Cause::hung: return true;
    case Cause::told: return !options.allow_mps || strikes > 1;  // another MPS client may have caused it
    case Cause::died: return strikes > 1;
    case Cause::killed: return false;
  }
  return false;
}

void IsolatedMeasurer::Impl::start() {
  const Request hello{RequestKind::hello, {}};
  for (int ends = 0;;) {
    worker = std::make_unique<WorkerProcess>(options);
    pid = worker->pid();
    ++starts;
    const auto end = worker->ask(hello, {kStartPatienceS, kStartPatienceS}, [&](const Reply& reply) {
      if (reply.kind == ReplyKind::facts) gpu = decode_facts(reply);
    });
    if (!end) return;
    lose(*end);
    bear(*end, 2, ends);
  }
}

void IsolatedMeasurer::Impl::begin() {
  const Request request = encode_begin(session->problem, session->options);
  has_begun = false;
  cubins.clear();
  baseline_mode.reset();  // the worker prepares the baseline again for each problem
  for (int ends = 0;;) {
    if (!worker) start();
    const double patience_s = kStartPatienceS + lock_wait_s();
    const auto end =
        worker->ask(request, {patience_s, patience_s}, [&](const Reply& reply) { baseline = reply.text(); });
    has_begun = !end;
    if (!end) return;
    lose(*end);
    bear(*end, 2, ends);
  }
}

void IsolatedMeasurer::Impl::make_ready(std::span<const Trial> trials) {
  if (!session) throw Error(ErrorCode::internal, "a trial without a problem: begin was not called");
  if (!worker || !has_begun) begin();
  for (const Trial& trial : trials) {
    if (cubins.insert(trial.cubin->symbol).second) worker->send(encode_cubin(*trial.cubin));
  }
}

Patience IsolatedMeasurer::Impl::check_patience() const {
  const Expected expected = expect(gpu, session->problem);
  const double trial_s = deadline_for(expected.launch_s + 4 * expected.pass_s);
  return {trial_s, trial_s};
}

Patience IsolatedMeasurer::Impl::race_patience(std::size_t contenders, const RaceOptions& race,
                                               bool with_baseline) const {
  const Expected expected = expect(gpu, session->problem);
  const double batch_s = std::max(race.round_us * 1e-6, expected.launch_s);
  double several_s = deadline_for(static_cast<double>(contenders + 1) * batch_s + expected.pass_s);
  // cuBLAS is loaded and its algorithms are timed before our kernels run.
  if (with_baseline && baseline_mode != race.mode) several_s += kStartPatienceS;
  const BlockLengths none{.load_s = 0, .settle_s = 0, .counted_s = 0};
  const BlockLengths lengths = race.blocks.value_or(none);
  const double block_s = lengths.load_s + block_seconds(lengths);
  return {deadline_for(batch_s) + 2 * block_s, several_s + 2 * block_s};
}

std::optional<WorkerEnd> IsolatedMeasurer::Impl::race_once(std::span<const Trial> trials, const RaceOptions& race,
                                                           bool with_baseline, RaceResult& result) {
  RaceTally tally(trials.size() + (with_baseline ? 1 : 0));
  const auto on_reply = [&](const Reply& reply) {
    tally.take(reply);
    if (reply.kind == ReplyKind::done) baseline = reply.text();
  };
  const Patience patience = race_patience(trials.size(), race, with_baseline);
  auto end = worker->ask(encode_race(trials, race, with_baseline), patience, on_reply);
  if (!end && with_baseline) baseline_mode = race.mode;
  if (!end && tally.result.us.size() < trials.size()) {
    throw Error(ErrorCode::internal, "the worker's answer to a race lacks a row");
  }
  result = std::move(tally.result);
  return end;
}

std::string IsolatedMeasurer::Impl::guilt_of(const Trial& trial, RaceOptions race) {
  race.deadline = Clock::time_point::max();
  race.abandon_ratio = 0;
  race.blocks.reset();  // rounds are shorter, and show the same
  for (int kills = 0;;) {
    RaceResult ignored;
    make_ready({&trial, 1});
    const auto end = race_once({&trial, 1}, race, false, ignored);
    if (!end) return {};
    lose(*end);
    if (end->cause != Cause::killed) return end->reason();
    bear(*end, kMostKills, kills);
  }
}

/// One race. It uses as many workers as it needs.
class IsolatedMeasurer::Race {
 public:
  Race(Impl& impl, std::span<const Trial> trials, const RaceOptions& options, bool with_baseline)
      : impl_(impl),
        trials_(trials),
        options_(options),
        with_baseline_(with_baseline),
        live_(all_of(trials.size())),
        strikes_(trials.size()) {
    result_.us.resize(trials.size());
    result_.failures.resize(trials.size());
  }

  RaceResult run() {
    const auto start = Clock::now();
    RaceOptions race = options_;
    while (!live_.empty()) {
      const std::vector<Trial> asked = picked(trials_, live_);
      impl_.make_ready(asked);
      // Extend the deadline by the time that dead workers took.
      if (race.deadline != Clock::time_point::max()) {
        race.deadline = std::min(options_.deadline + (Clock::now() - start), impl_.options.deadline);
      }
      RaceResult result;
      const auto end = impl_.race_once(asked, race, with_baseline_, result);
      if (!end) {
        take(std::move(result));
        break;
      }
      impl_.lose(*end);
      settle(*end, race);
    }
    for (auto& us : result_.us) us.resize(static_cast<std::size_t>(result_.rounds_done), kNan);
    return std::move(result_);
  }

 private:
  void take(RaceResult result) {
    result_.rounds_done = result.rounds_done;
    result_.power_limit_w = result.power_limit_w;
    if (!result.blocks.empty()) {
      result.blocks.resize(result.us.size());
      result_.blocks.resize(result_.us.size());
      for (std::size_t i = 0; i < live_.size(); ++i) result_.blocks[live_[i]] = result.blocks[i];
      if (result.us.size() > live_.size()) result_.blocks.push_back(result.blocks.back());
    }
    for (std::size_t i = 0; i < live_.size(); ++i) {
      result_.us[live_[i]] = std::move(result.us[i]);
      result_.failures[live_[i]] = std::move(result.failures[i]);
    }
    if (result.us.size() == live_.size()) return;
    result_.us.push_back(std::move(result.us.back()));  // row of the baseline
    result_.failures.push_back(std::move(result.failures.back()));
  }

  /// Removes the trials that are to blame from the race.
  void settle(const WorkerEnd& end, const RaceOptions& race) {
    const auto place = static_cast<std::size_t>(end.trial);
    if (end.cause == Cause::killed || end.code != ErrorCode::context_lost) {
      impl_.bear(end, kMostKills, kills_);
    } else if (place < live_.size()) {
      const std::size_t trial = live_[place];
      if (!impl_.is_believed(end, ++strikes_[trial])) return;
      result_.failures[trial] = end.reason();
      std::erase(live_, trial);
    } else {
      settle_among_several(end, race);
    }
  }

  void settle_among_several(const WorkerEnd& end, const RaceOptions& race) {
    const std::size_t suspects = live_.size();
    std::erase_if(live_, [&](std::size_t i) {
      result_.failures[i] = impl_.guilt_of(trials_[i], race);
      return !result_.failures[i].empty();
    });
    if (live_.size() < suspects) return;
    impl_.bear(end, kMostFruitlessRaces, fruitless_);
    with_baseline_ = false;  // only the baseline is left as a suspect
  }

  Impl& impl_;
  std::span<const Trial> trials_;
  const RaceOptions& options_;
  bool with_baseline_;
  RaceResult result_;
  std::vector<std::size_t> live_;
  std::vector<int> strikes_;
  int kills_ = 0;
  int fruitless_ = 0;
};

IsolatedMeasurer::IsolatedMeasurer(WorkerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

IsolatedMeasurer::~IsolatedMeasurer() = default;

const GpuFacts& IsolatedMeasurer::gpu() const { return impl_->gpu; }

void IsolatedMeasurer::begin(const Workload& problem, const MeasureOptions& options) {
  impl_->session = BeginRequest{problem, options};
  impl_->baseline.clear();
  impl_->begin();
}

std::vector<Verdict> IsolatedMeasurer::check(std::span<const Trial> trials, unsigned seed) {
  std::vector<std::optional<Verdict>> verdicts(trials.size());
  std::vector<int> strikes(trials.size());
  for (int kills = 0;;) {
    std::vector<std::size_t> open = all_of(trials.size());
    std::erase_if(open, [&](std::size_t i) { return verdicts[i].has_value(); });
    if (open.empty()) break;
    const std::vector<Trial> asked = picked(trials, open);
    impl_->make_ready(asked);
    const auto end = impl_->worker->ask(encode_check(asked, seed), impl_->check_patience(), [&](const Reply& reply) {
      const auto place = static_cast<std::size_t>(reply.trial);
      if (reply.kind != ReplyKind::verdict || place >= open.size()) return;
      verdicts[open[place]] = Verdict{static_cast<Stage>(reply.stage), std::string(reply.text())};
      kills = 0;
    });
    if (!end) continue;
    impl_->lose(*end);
    const auto place = static_cast<std::size_t>(end->trial);
    if (end->cause == Cause::killed || place >= open.size() || end->code != ErrorCode::context_lost) {
      impl_->bear(*end, 2, kills);
    } else if (const std::size_t trial = open[place]; impl_->is_believed(*end, ++strikes[trial])) {
      verdicts[trial] = Verdict{Stage::check, end->reason()};
    }
  }
  std::vector<Verdict> all;
  for (auto& verdict : verdicts) all.push_back(std::move(*verdict));
  return all;
}

RaceResult IsolatedMeasurer::race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) {
  return Race(*impl_, trials, options, with_baseline).run();
}

CublasComparison IsolatedMeasurer::compare_with_cublas(const Trial& pick, const CublasQuestion& question) {
  impl_->make_ready({&pick, 1});
  CublasComparison comparison;
  const auto end = impl_->worker->ask(encode_compare(pick, question), {kComparePatienceS, kComparePatienceS},
                                      [&](const Reply& reply) {
                                        if (reply.kind == ReplyKind::compared) comparison = decode_comparison(reply);
                                      });
  if (!end) return comparison;
  impl_->lose(*end);  // the pick has run for long; it is still sound
  throw Error(ErrorCode::not_supported, "the comparison with cuBLAS ended the worker: " + end->what);
}

void IsolatedMeasurer::end() {
  impl_->session.reset();
  impl_->baseline.clear();
  if (!impl_->worker || !std::exchange(impl_->has_begun, false)) return;
  try {
    const auto end =
        impl_->worker->ask({RequestKind::end, {}}, {kStartPatienceS, kStartPatienceS}, [](const Reply&) {});
    if (end) impl_->lose(*end);  // the next begin starts a new worker
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;  // it cannot be killed
    impl_->lose({.what = error.what()});                 // the results are complete
  }
}

std::string IsolatedMeasurer::baseline() const { return impl_->baseline; }

int IsolatedMeasurer::restarts() const { return impl_->starts - 1; }

int IsolatedMeasurer::pid() const { return impl_->pid; }

}  // namespace hotgemm
