#include "tune/device_measurer.hpp"

#include "base/log.hpp"
#include "config/prepacked.hpp"
#include "config/repack.hpp"
#include "config/supported.hpp"
#include "config/workspace.hpp"
#include "gpu/device.hpp"
#include "gpu/foreign_kernel.hpp"
#include "gpu/nvml.hpp"
#include "runtime/gpu_lock.hpp"
#include "tune/bench.hpp"
#include "tune/exact_check.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace hotgemm {

/// The objects that exist between `begin` and `end`.
struct DeviceMeasurer::Session {
  Session(DeviceState& state, const Workload& p, const MeasureOptions& o)
      : device(state),
        problem(p),
        options(o),
        lock(locked_gpu(state.driver(), o.deadline)),
        relaxed(state.driver()),
        pool(state.driver(), p, state.info().l2_bytes, o.scratch_bytes),
        stream(state.driver()) {}

  static GpuLock locked_gpu(const Driver& driver, std::chrono::steady_clock::time_point deadline) {
    using std::chrono::steady_clock;
    if (deadline == steady_clock::time_point::max()) return GpuLock(driver);
    try {
      return GpuLock(driver, std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now()));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io_error) throw;
      throw Error(ErrorCode::interrupted, std::string("no time was left: ") + error.what());
    }
  }

  const Driver& driver() const { return device.driver(); }
  float beta() const { return problem.hints.beta_is_zero ? 0.0f : 1.0f; }

  /// Makes sure that the workspace of this session holds `size`. The trials run one after another on one stream, so
  /// they share it.
  void make_room(const WorkspaceSize& size) {
    if (room.holds(size)) return;
    const WorkspaceSize larger{std::max(room.scratch_bytes, size.scratch_bytes),
                               std::max(room.counters, size.counters)};
    stream.synchronize();
    room = {};
    workspace = DeviceBuffer();  // the old one is freed first, because memory may be short
    workspace = DeviceBuffer(driver(), larger.total_bytes());
    if (larger.counters > 0) {
      driver().check(driver().cuMemsetD8Async(workspace.get(), 0, larger.counter_bytes(), stream.get()),
                     "clear the counters of a workspace");
      stream.synchronize();
    }
    room = larger;
  }
  WorkspaceArgs workspace_args() const {
    return {.scratch = workspace.get() + room.counter_bytes(), .counters = workspace.get()};
  }

  /// Loads the kernel of `trial` at its first use. Trials of one config with different rasters share the kernel.
  const GemmKernel& load(const Trial& trial) {
    make_room(workspace_size(trial.config, trial.launch, problem));
    if (repacks(trial.launch) && !repack) repack = device.repack_kernel();
    const auto found = kernels.find(trial.cubin->symbol);
    if (found != kernels.end()) return found->second;
    GemmKernel kernel = load_gemm_kernel(driver(), trial.config, traits_of(problem, trial.launch), *trial.cubin,
                                         device.info().sm_count);
    if (!kernel.shape.fits(problem.m, problem.n, problem.k, problem.batch, problem.groups)) {
      throw Error(ErrorCode::not_supported, to_string(problem) + " is too large for " + to_string(trial.config));
    }
    return kernels.emplace(trial.cubin->symbol, std::move(kernel)).first->second;
  }

  void launch(const GemmKernel& kernel, const Trial& trial, CUstream on, const OperandSet& set) const {
    launch(kernel, trial, on, OperandPool::operands(set, 1.0f, beta()));
  }
  void launch(const GemmKernel& kernel, const Trial& trial, CUstream on, const Operands& operands) const {
    driver().check(launch_gemm(driver(), kernel, trial.launch, problem.m, problem.n, problem.k, operands, on,
                               workspace_args(), repack.get(), problem.sm_limit, problem.batch, problem.groups),
                   "launch " + to_string(trial.config));
  }

  std::string run_check(const Trial& trial, const GemmKernel& kernel, unsigned seed) {
    holds_normal = false;
    if (room.counters > 0) {  // a trial that was wrong may have left them in any state
      driver().check(driver().cuMemsetD8Async(workspace.get(), 0, room.counter_bytes(), stream.get()),
                     "clear the counters of a workspace");
    }
    return check_exactly(
        device.check_kernels(), problem, pool, seed, stream.get(),
        [&](const OperandSet& set, CUstream on) { launch(kernel, trial, on, set); },
        [&](const Operands& operands, CUstream on) { launch(kernel, trial, on, operands); });
  }

  void fill_normal() {
    if (std::exchange(holds_normal, true)) return;
    for (std::size_t i = 0; i < pool.sets().size(); ++i) {
      device.check_kernels().fill_normal(problem, pool.sets()[i], static_cast<unsigned>(options.seed * 977 + 3 * i),
                                         stream.get());
    }
  }

  /// The launch of a foreign kernel, made at its first use.
  Launch foreign_launch() {
    if (!foreign) foreign.emplace(driver(), device.check_kernels(), stream.get());
    return foreign->launch();
  }

  DeviceState& device;
  Workload problem;
  MeasureOptions options;
  GpuLock lock;
  RelaxedCaptureMode relaxed;  // the program may be capturing elsewhere
  OperandPool pool;
  OwnedStream stream;
  DeviceBuffer workspace;                     // that trials share
  WorkspaceSize room;                         // what `workspace` holds
  std::map<std::string, GemmKernel> kernels;  // by symbol
  std::shared_ptr<const RepackKernel> repack;
  std::optional<ForeignKernel> foreign;
  std::map<TimingMode, std::optional<Contender>> baselines;
  std::string baseline;
  bool holds_normal = false;
};

DeviceMeasurer::DeviceMeasurer(DeviceState& device, OnStep on_step)
    : device_(device),
      on_step_(std::move(on_step)),
      gpu_{device.info_with_clocks(), device.environment(), free_bytes(device.driver())} {}

DeviceMeasurer::~DeviceMeasurer() = default;

void DeviceMeasurer::ask_nvml() {
  const Driver& driver = device_.driver();
  CUdevice device = 0;
  driver.check(driver.cuCtxGetDevice(&device), "read the current context's GPU");
  const Nvml nvml(driver, device);
  gpu_.power_limit_w = nvml.power_limit_w().value_or(0);
  gpu_.reports_power = nvml.power_w().has_value();
}

void DeviceMeasurer::begin(const Workload& problem, const MeasureOptions& options) {
  require_measured_product(problem);
  end();
  gpu_.environment = device_.environment();  // the toolchain may have been loaded since
  session_ = std::make_unique<Session>(device_, problem, options);
  device_.check_kernels();  // loads them now, because a failure here is not the fault of a trial
}

void DeviceMeasurer::end() { session_.reset(); }

std::string DeviceMeasurer::baseline() const { return session_ ? session_->baseline : std::string(); }

std::vector<Verdict> DeviceMeasurer::check(std::span<const Trial> trials, unsigned seed) {
  std::vector<Verdict> verdicts(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (on_step_) on_step_(i);
    verdicts[i].stage = Stage::load;
    try {
      const GemmKernel& kernel = session_->load(trials[i]);
      verdicts[i].stage = Stage::check;
      verdicts[i].reason = session_->run_check(trials[i], kernel, seed);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) throw;
      verdicts[i].reason = std::string("failed: ") + error.what();
    }
  }
  return verdicts;
}

RaceResult DeviceMeasurer::race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) {
  Session& session = *session_;
  session.fill_normal();
  RaceOptions race_options = options;
  race_options.sets = static_cast<int>(session.pool.timed_sets().size());
  race_options.sets_differ = session.problem.groups != 0;
  if (is_timed_behind(trials) && !options.blocks) race_options.ahead = session.foreign_launch();
  race_options.on_step = [&](std::size_t i) {
    if (on_step_) on_step_(i < trials.size() ? i : kNoTrial);
  };
  std::vector<Contender> contenders;
  for (const Trial& trial : trials) contenders.push_back(contender(trial, session.pool.timed_sets()));
  // cuBLAS computes uniform groups alone, so that its time says nothing beside these.
  if (with_baseline && session.options.with_baseline && session.problem.groups == 0) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point before = Clock::now();
    if (const std::optional<Contender>& baseline = this->baseline(race_options)) contenders.push_back(*baseline);
    // Preparing the baseline is not part of the race, so the deadline is extended by the time that it took.
    if (race_options.deadline != Clock::time_point::max()) race_options.deadline += Clock::now() - before;
  }
  return hotgemm::race(session.driver(), session.stream.get(), contenders, race_options);
}

const std::optional<Contender>& DeviceMeasurer::baseline(const RaceOptions& race) {
  Session& session = *session_;
  const auto [slot, is_new] = session.baselines.try_emplace(race.mode);
  if (!is_new) return slot->second;
  if (on_step_) on_step_(kNoTrial);
  if (!cublas().available()) return slot->second;
  try {
    slot->second = fastest_baseline(
        session.driver(), session.stream.get(), session.pool.sets(), session.problem, cublas(),
        {.mode = race.mode, .ahead = race.ahead, .seed = session.options.seed, .beta = session.beta()});
    session.baseline = slot->second->name;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    log(LogLevel::info, std::string("no baseline: ") + error.what());
  }
  return slot->second;
}

Contender DeviceMeasurer::contender(const Trial& trial, std::span<const OperandSet> sets) {
  Session& session = *session_;
  const GemmKernel& kernel = session.load(trial);
  return {to_string(trial.config), [&session, &kernel, &trial, sets](CUstream on, int set) {
            session.launch(kernel, trial, on, sets[static_cast<std::size_t>(set)]);
          }};
}

CublasBaseline& DeviceMeasurer::cublas() {
  if (!cublas_) cublas_ = std::make_unique<CublasBaseline>(device_.driver());
  return *cublas_;
}

CublasComparison DeviceMeasurer::compare_with_cublas(const Trial& pick, const CublasQuestion& question) {
  constexpr int kPairs = 3;
  constexpr int kShortRounds = 7;
  constexpr double kShortRoundUs = 2000;
  Session& session = *session_;
  session.fill_normal();
  if (on_step_) on_step_(kNoTrial);
  const bool by_blocks = question.measure == Measure::sustained;
  BenchOptions options{.mode = question.mode,
                       .measure = by_blocks ? Measure::sustained : Measure::rounds,
                       .pairs = kPairs,
                       .seed = session.options.seed + 1,
                       .beta = session.beta(),
                       .kept = {&device_.engine().cublas_choices, gpu_.environment.gpu}};
  if (question.scope == CublasScope::default_only) {
    options.default_only = true;
    options.rounds = kShortRounds;
    options.round_us = kShortRoundUs;
  }
  if (pick.launch.programmatic) options.ahead = session.foreign_launch();
  const Workload problem = as_aligned(session.problem);  // the operands' rows are, and a kept choice is one for these
  const std::span<const OperandSet> sets = session.pool.sets();
  const BenchResult result =
      bench_problem(session.driver(), session.stream.get(), contender(pick, sets), sets, problem, cublas(), options);
  if (!result.failure.empty()) throw Error(ErrorCode::not_supported, result.failure);
  CublasComparison comparison = comparison_of(result, question.objective, cublas().version());
  if (options.default_only) comparison.default_ratio = std::exchange(comparison.ratio, 0);
  return comparison;
}

}  // namespace hotgemm
