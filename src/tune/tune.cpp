#include "tune/tune.hpp"

#include "base/log.hpp"
#include "base/moment.hpp"
#include "base/profiler_range.hpp"
#include "config/class_key.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel_builder.hpp"
#include "gpu/operand_pool.hpp"
#include "plan/affordable.hpp"
#include "plan/choice.hpp"
#include "plan/model.hpp"
#include "plan/power_model.hpp"
#include "tune/device_measurer.hpp"
#include "tune/guarded_measurer.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <limits>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCompileShare = 0.6;     // of the time
constexpr std::size_t kEnoughVetted = 4;  // a race of fewer kernels says little
constexpr int kMostBesideWork = 10;       // candidates; a round of them fits into a slice or two

/// The kernels that measuring `candidates` needs beside them.
std::vector<KernelSource> helpers_of(const std::vector<Candidate>& candidates, const std::string& arch,
                                     const TemplateBundle& bundle) {
  std::vector<KernelSource> sources{render_check(arch, bundle)};
  const bool repack = std::ranges::any_of(candidates, [](const Candidate& c) { return repacks(c.launch); });
  if (repack) sources.push_back(render_repack(arch, bundle));
  return sources;
}

[[noreturn]] void refuse_few_vetted(std::size_t vetted, const char* what, const Environment& where,
                                    std::string_view why_no_others) {
  throw Error(ErrorCode::not_supported, "cannot tune on " + where.gpu + ": only " + std::to_string(vetted) + " " +
                                            what + " are vetted, and only kernels that are vetted may run " +
                                            std::string(why_no_others));
}

/// Throws Error{not_supported} if fewer kernels are vetted on this GPU than a race needs. Called before anything is
/// compiled.
void require_vetted(const Engine& engine, const Environment& where, std::string_view why_no_others) {
  const std::size_t vetted = engine.vetted.count(where.gpu, where.driver);
  if (vetted < kEnoughVetted) refuse_few_vetted(vetted, "kernels", where, why_no_others);
}

/// Leaves the first candidate and those that are vetted, if these are enough. If they are too few, leaves all, or
/// throws Error{not_supported} with the reason why no others may run; it is empty if they may.
void keep_vetted(std::span<Candidate> candidates, const Engine& engine, const Environment& where,
                 std::string_view why_no_others) {
  const auto is_open = [&](const Candidate& c) { return c.is_alive() && !is_vetted(engine, *c.cubin, where); };
  const auto alive = static_cast<std::size_t>(std::ranges::count_if(candidates, &Candidate::is_alive));
  const std::size_t vetted = alive - static_cast<std::size_t>(std::ranges::count_if(candidates, is_open));
  log(LogLevel::debug, std::to_string(vetted) + " of " + std::to_string(alive) + " candidates are vetted");
  if (vetted < kEnoughVetted) {
    if (why_no_others.empty()) return;
    refuse_few_vetted(vetted, "candidates", where, why_no_others);
  }
  for (Candidate& c : candidates.subspan(1)) {
    if (is_open(c)) reject(c, Stage::build, "not vetted: it has not run on " + where.gpu + " with this driver");
  }
}

/// Leaves at most `most` candidates to be measured.
void keep_first(std::vector<Candidate>& candidates, int most) {
  int alive = 0;
  std::erase_if(candidates, [&](const Candidate& c) { return c.is_alive() && ++alive > most; });
}

/// `make` with the CUDA context of the calling thread.
MakeMeasurer in_context(const Driver& driver, const MakeMeasurer& make) {
  CUcontext current = nullptr;
  driver.check(driver.cuCtxGetCurrent(&current), "find the current CUDA context");
  return [&driver, &make, current](Clock::time_point deadline) {
    driver.check(driver.cuCtxSetCurrent(current), "use the CUDA context of the caller");
    return make(deadline);
  };
}

/// Calls `make` on a thread of its own; an invalid future if there is nothing to call.
std::future<std::unique_ptr<Measurer>> begin_start(const DeviceState& device, const MakeMeasurer& make,
                                                   Clock::time_point deadline) {
  if (!make) return {};
  try {
    return std::async(std::launch::async, in_context(device.driver(), make), deadline);
  } catch (const std::system_error& error) {
    log(LogLevel::info, std::string("kernels are measured in this process: no thread for a worker: ") + error.what());
    return {};
  }
}

struct OtherProcess {
  std::unique_ptr<Measurer> measurer;  ///< nullptr if this process is to measure
  bool may_run_here = true;            ///< false: kernels that are not vetted must not run in this process
};

OtherProcess result_of(std::future<std::unique_ptr<Measurer>> starting) {
  if (!starting.valid()) return {};
  try {
    return {.measurer = starting.get()};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_supported) throw;
    return {.may_run_here = false};
  }
}

/// Throws Error{interrupted} if the tuning is cancelled.
void require_wanted(const BesideWork& how, const Workload& problem) {
  if (!how.is_cancelled || !how.is_cancelled()) return;
  throw Error(ErrorCode::interrupted, "the tuning of " + to_string(problem) + " was cancelled");
}

/// Calls `tune`, in which another process measures. Its CUDA context is not the one of this process.
TuneOutcome measured_elsewhere(const std::function<TuneOutcome()>& tune) {
  try {
    return tune();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::context_lost) throw;
    throw Error(ErrorCode::driver_error, error.what());
  }
}

}  // namespace

SearchOptions search_options(const TuneOptions& options) {
  return {.budget_s = options.budget_s,
          .rounds = options.rounds,
          .seed = options.seed,
          .scratch_bytes = options.scratch_bytes};
}

std::int64_t scratch_limit(const TuneOptions& options, std::int64_t free_bytes) {
  const double share = options.scratch_share * static_cast<double>(free_bytes);
  return std::min(options.scratch_bytes, static_cast<std::int64_t>(share));
}

std::vector<Candidate> tuning_candidates(DeviceState& device, const Workload& problem, int count) {
  const Engine& engine = device.engine();
  const DeviceInfo info = device.info_with_clocks();
  std::vector<Candidate> candidates =
      pick_candidates(problem, info, count, &engine.database, device.query(), affordable_by(engine, problem));
  const Affordable estimate = within_workspace(choose(problem, info.arch, engine.database, device.query()), problem,
                                               engine.workspace_of, engine.workspace.cap_bytes());
  if (!estimate.choices.empty()) put_first(candidates, estimate.choices.front().config, problem, info);
  return candidates;
}

double predicted_us(const DeviceState& device, const Workload& problem, const Choice& choice) {
  return predict_us(choice.config, problem, device.info());
}

bool needs_blocks(const DeviceState& device, const Workload& problem, double us) {
  return may_reach_power_cap(problem, us, device.info());
}

TuneOutcome tune_problem(DeviceState& device, const Workload& asked, const TuneOptions& options,
                         const MakeMeasurer& make_measurer, const std::function<bool()>& is_cancelled) {
  const Workload problem = largest_of_class(asked);
  const ProfilerRange range([&] { return "tune " + to_string(problem); });
  const Clock::time_point start = Clock::now();
  const std::int64_t free = free_bytes(device.driver());
  SearchOptions how = search_options(options);
  how.scratch_bytes = scratch_limit(options, free);
  OperandPool::check_fits(problem, options.scratch_bytes, free, options.scratch_share);
  Engine& engine = device.engine();
  how.deadline = moment_after(start, options.budget_s);
  // The other process starts while this one compiles.
  std::future<std::unique_ptr<Measurer>> starting = begin_start(device, make_measurer, how.deadline);
  reject_what_ended_processes(engine);
  std::vector<Candidate> candidates = tuning_candidates(device, problem, options.max_candidates);
  const bool has_helpers =
      build_candidates(candidates, problem, device.environment(), engine, options.jobs, is_cancelled,
                       {.deadline = moment_after(start, kCompileShare * options.budget_s),
                        .also = helpers_of(candidates, device.info().arch, engine.bundle)});
  for (Candidate& c : candidates) {
    if (!has_helpers && c.is_alive()) reject(c, Stage::build, std::string(kNoTimeLeft));
  }
  const SearchObserver observer{.rejected = {}, .sampled = {}, .led = {}, .is_cancelled = is_cancelled};
  const OtherProcess elsewhere = result_of(std::move(starting));
  if (elsewhere.measurer) {
    how.toolchain = device.environment().toolchain;
    return measured_elsewhere(
        [&] { return search(engine, *elsewhere.measurer, problem, std::move(candidates), how, observer); });
  }
  keep_vetted(candidates, engine, device.environment(), elsewhere.may_run_here ? "" : "beside other MPS clients");
  DeviceMeasurer here(device);
  GuardedMeasurer guarded(here, engine, problem, candidates);
  return search(engine, guarded, problem, std::move(candidates), how, observer);
}

TuneOutcome tune_beside_work(DeviceState& device, const Workload& asked, const TuneOptions& options, Measurer& measurer,
                             const BesideWork& beside) {
  const Workload problem = largest_of_class(asked);
  const ProfilerRange range([&] { return "tune " + to_string(problem); });
  const std::int64_t free = free_bytes(device.driver());
  SearchOptions how = search_options(options);
  how.budget_s = std::numeric_limits<double>::infinity();
  how.with_rasters = false;
  how.final_races = 1;
  how.scratch_bytes = scratch_limit(options, free);
  OperandPool::check_fits(problem, options.scratch_bytes, free, options.scratch_share);
  Engine& engine = device.engine();
  reject_what_ended_processes(engine);
  constexpr std::string_view kHere = "in this process, in the background";
  if (beside.only_vetted) require_vetted(engine, device.environment(), kHere);
  const int count = beside.only_vetted ? options.max_candidates : std::min(options.max_candidates, kMostBesideWork);
  std::vector<Candidate> candidates = tuning_candidates(device, problem, count);
  // A few at a time, because the thread that builds them has other work too.
  const auto jobs = static_cast<std::size_t>(options.jobs > 0 ? options.jobs : default_compile_jobs());
  const std::vector<KernelSource> helpers = helpers_of(candidates, device.info().arch, engine.bundle);
  for (std::size_t at = 0; at < candidates.size(); at += jobs) {
    build_candidates(std::span(candidates).subspan(at, std::min(jobs, candidates.size() - at)), problem,
                     device.environment(), engine, options.jobs, beside.is_cancelled, {.also = helpers});
    require_wanted(beside, problem);
    if (beside.meanwhile) beside.meanwhile();
  }
  if (beside.only_vetted) keep_vetted(candidates, engine, device.environment(), kHere);
  keep_first(candidates, kMostBesideWork);
  how.toolchain = device.environment().toolchain;
  // A search that is cancelled would record the best so far, and the class would never be measured again.
  const SearchObserver observer{
      .rejected = {}, .sampled = {}, .led = {}, .is_cancelled = [&] { return require_wanted(beside, problem), false; }};
  const auto tune = [&] { return search(engine, measurer, problem, std::move(candidates), how, observer); };
  return beside.only_vetted ? tune() : measured_elsewhere(tune);
}

}  // namespace hotgemm
