#include "tune/tune.hpp"

#include "config/render.hpp"
#include "config/repack.hpp"
#include "gpu/operand_pool.hpp"
#include "plan/affordable.hpp"
#include "plan/choice.hpp"
#include "tune/device_measurer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kCompileShare = 0.6;  // of the time

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

TuneOutcome tune_problem(DeviceState& device, const Workload& problem, const TuneOptions& options) {
  const Clock::time_point start = Clock::now();
  const auto after = [&](double seconds) {
    return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  OperandPool::check_fits(problem, options.scratch_bytes, free_bytes(device.driver()));
  Engine& engine = device.engine();
  SearchOptions how = search_options(options);
  how.deadline = after(options.budget_s);
  std::vector<Candidate> candidates = tuning_candidates(device, problem, options.max_candidates);
  const bool has_helpers = build_candidates(candidates, problem, device.environment(), engine, options.jobs, {},
                                            {.deadline = after(kCompileShare * options.budget_s),
                                             .also = helpers_of(candidates, device.info().arch, engine.bundle)});
  for (Candidate& c : candidates) {
    if (!has_helpers && c.is_alive()) reject(c, Stage::build, std::string(kNoTimeLeft));
  }
  DeviceMeasurer measurer(device);
  return search(engine, measurer, problem, std::move(candidates), how);
}

}  // namespace hotgemm
