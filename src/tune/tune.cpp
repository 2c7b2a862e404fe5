#include "tune/tune.hpp"

#include "base/log.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "gpu/operand_pool.hpp"
#include "plan/affordable.hpp"
#include "plan/choice.hpp"
#include "tune/device_measurer.hpp"
#include "tune/guarded_measurer.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <span>
#include <system_error>
#include <utility>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCompileShare = 0.6;  // of the time
constexpr int kEnoughVetted = 4;       // a race of fewer kernels says little

std::int64_t free_bytes(const Driver& driver) {
  std::size_t free = 0;
  std::size_t total = 0;
  driver.check(driver.cuMemGetInfo(&free, &total), "ask for the GPU's free memory");
  return static_cast<std::int64_t>(free);
}

/// The kernels that measuring `candidates` needs beside them.
std::vector<KernelSource> helpers_of(const std::vector<Candidate>& candidates, const std::string& arch,
                                     const TemplateBundle& bundle) {
  std::vector<KernelSource> sources{render_check(arch, bundle)};
  const bool repack = std::ranges::any_of(candidates, [](const Candidate& c) { return repacks(c.launch); });
  if (repack) sources.push_back(render_repack(arch, bundle));
  return sources;
}

/// Leaves the first candidate and those that are vetted, if these are enough.
void keep_vetted(std::span<Candidate> candidates, const Engine& engine, const Environment& where) {
  const auto is_open = [&](const Candidate& c) { return c.is_alive() && !is_vetted(engine, *c.cubin, where); };
  const auto alive = std::ranges::count_if(candidates, &Candidate::is_alive);
  const auto open = std::ranges::count_if(candidates, is_open);
  log(LogLevel::debug, std::to_string(alive - open) + " of " + std::to_string(alive) + " candidates are vetted");
  if (alive - open < kEnoughVetted) return;
  for (Candidate& c : candidates.subspan(1)) {
    if (is_open(c)) reject(c, Stage::build, "not vetted: it has not run on " + where.gpu + " with this driver");
  }
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

}  // namespace

SearchOptions search_options(const TuneOptions& options) {
  return {.budget_s = options.budget_s,
          .rounds = options.rounds,
          .seed = options.seed,
          .scratch_bytes = options.scratch_bytes};
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

TuneOutcome tune_problem(DeviceState& device, const Workload& problem, const TuneOptions& options,
                         const MakeMeasurer& make_measurer) {
  const Clock::time_point start = Clock::now();
  const auto after = [&](double seconds) {
    return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  OperandPool::check_fits(problem, options.scratch_bytes, free_bytes(device.driver()));
  Engine& engine = device.engine();
  SearchOptions how = search_options(options);
  how.deadline = after(options.budget_s);
  // The other process starts while this one compiles.
  std::future<std::unique_ptr<Measurer>> starting = begin_start(device, make_measurer, how.deadline);
  reject_what_ended_processes(engine);
  std::vector<Candidate> candidates = tuning_candidates(device, problem, options.max_candidates);
  const bool has_helpers = build_candidates(candidates, problem, device.environment(), engine, options.jobs, {},
                                            {.deadline = after(kCompileShare * options.budget_s),
                                             .also = helpers_of(candidates, device.info().arch, engine.bundle)});
  for (Candidate& c : candidates) {
    if (!has_helpers && c.is_alive()) reject(c, Stage::build, std::string(kNoTimeLeft));
  }
  if (const std::unique_ptr<Measurer> elsewhere = starting.valid() ? starting.get() : nullptr) {
    how.toolchain = device.environment().toolchain;
    return search(engine, *elsewhere, problem, std::move(candidates), how);
  }
  keep_vetted(candidates, engine, device.environment());
  DeviceMeasurer here(device);
  GuardedMeasurer guarded(here, engine, problem, candidates);
  return search(engine, guarded, problem, std::move(candidates), how);
}

}  // namespace hotgemm
