#include "tune.hpp"

#include "gpu/operand_pool.hpp"
#include "gpu/stopwatch.hpp"
#include "gpu/stream.hpp"
#include "log.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"
#include "plan/render.hpp"
#include "plan/statistics.hpp"
#include "plan/traits.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGraphBelowUs = 20;   // launches shorter than this are timed by graph replay
constexpr double kAbandonRatio = 1.5;  // in the first race
constexpr int kFinalists = 3;          // configs whose rasters are tried
constexpr double kTie = 0.005;         // differences below this are none: the earlier candidate wins

bool is_alive(const Candidate& c) { return c.reason.empty(); }

void reject(Candidate& c, Stage stage, std::string reason) {
  c.stage = stage;
  c.reason = std::move(reason);
  log(LogLevel::debug, "rejected " + to_string(c.config) + " at " + std::string(to_string(stage)) + ": " + c.reason);
}

void build(std::vector<Candidate>& candidates, DeviceState& device, const Problem& problem, int jobs) {
  Engine& engine = device.engine();
  const GemmTraits traits = traits_of(problem);
  std::vector<KernelSource> sources;
  for (const Candidate& c : candidates) sources.push_back(render(c.config, traits, device.info().arch, engine.bundle));
  std::vector<BuildResult> results = engine.builder.build_all(sources, jobs > 0 ? jobs : default_compile_jobs());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& c = candidates[i];
    BuildResult& result = results[i];
    if (!result.cubin) {
      reject(c, Stage::build, std::move(result.failure));
    } else if (result.cubin->spill_bytes > 0) {
      reject(c, Stage::build, "spills " + std::to_string(result.cubin->spill_bytes) + " bytes");
    }
    c.from_cache = result.from_cache;
    if (result.cubin && !result.from_cache) ++engine.compiled;
    c.cubin = std::move(result.cubin);
  }
}

void load(std::vector<Candidate>& candidates, DeviceState& device, const Problem& problem) {
  for (Candidate& c : candidates) {
    if (!is_alive(c)) continue;
    try {
      c.kernel = device.load(c.config, traits_of(problem), *c.cubin);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) throw;
      reject(c, Stage::load, error.what());
    }
  }
}

/// One search's launches: the problem, its operands, and the stream.
struct Bench {
  DeviceState& device;
  const Problem& problem;
  const std::vector<OperandSet>& sets;
  CUstream stream;

  float beta() const { return problem.beta_is_zero ? 0.0f : 1.0f; }

  void launch(const Candidate& c, CUstream on, int set) const {
    const Operands operands = OperandPool::operands(sets[static_cast<std::size_t>(set)], 1.0f, beta());
    const Driver& driver = device.driver();
    driver.check(launch_gemm(driver, *c.kernel, c.launch, problem.m, problem.n, problem.k, operands, on),
                 "launch " + to_string(c.config));
  }
  Contender contender(const Candidate& c) const {
    return {to_string(c.config), [this, &c](CUstream on, int set) { launch(c, on, set); }};
  }
};

/// D is NaN before each candidate runs, so one that writes nothing, or not everything, fails.
void check(std::vector<Candidate>& candidates, const Bench& bench, unsigned seed) {
  const CheckKernels& kernels = bench.device.check_kernels();
  for (Candidate& c : candidates) {
    if (!is_alive(c)) continue;
    try {
      kernels.fill_check(bench.problem, bench.sets[0], seed, bench.stream);
      bench.launch(c, bench.stream, 0);
      std::string wrong =
          kernels.check(bench.problem, bench.sets[0], seed, 1, bench.problem.beta_is_zero ? 0 : 1, bench.stream);
      if (!wrong.empty()) reject(c, Stage::check, std::move(wrong));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) throw;
      reject(c, Stage::check, error.what());
    }
  }
}

Timing timing_of(const std::vector<double>& us, const std::vector<double>& incumbent_us) {
  std::vector<double> samples, ratios;
  for (std::size_t round = 0; round < us.size(); ++round) {
    if (std::isnan(us[round])) continue;
    samples.push_back(us[round]);
    if (!std::isnan(incumbent_us[round])) ratios.push_back(incumbent_us[round] / us[round]);
  }
  return {.median_us = median(samples),
          .spread_us = interquartile_range(samples),
          .samples = static_cast<int>(samples.size()),
          .ratio = ratios.empty() ? 0 : median(ratios)};
}

/// Races the living among `candidates` and sorts them by time; those within a tie keep their order.
void race_and_sort(std::vector<Candidate>& candidates, const Bench& bench, RaceOptions options) {
  std::vector<Contender> contenders;
  std::vector<Candidate*> rows;
  for (Candidate& c : candidates) {
    if (!is_alive(c)) continue;
    contenders.push_back(bench.contender(c));
    rows.push_back(&c);
  }
  if (contenders.empty()) return;
  options.sets = static_cast<int>(bench.sets.size());
  const RaceResult result = race(bench.device.driver(), bench.stream, contenders, options);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!result.failures[i].empty()) {
      reject(*rows[i], Stage::measure, result.failures[i]);
      continue;
    }
    rows[i]->stage = Stage::measure;
    const Timing timing = timing_of(result.us[i], result.us[0]);
    if (timing.samples > 0) rows[i]->timing = timing;  // else the deadline came first: an earlier race's stands
  }
  const auto step = [](const Candidate& c) {
    return is_alive(c) && c.timing.samples > 0 ? std::round(std::log(c.timing.median_us) / kTie) : 1e30;
  };
  std::ranges::stable_sort(candidates, {}, step);
}

/// The best few configs, each with every raster worth trying.
std::vector<Candidate> with_rasters(const std::vector<Candidate>& sorted) {
  std::vector<Candidate> finalists;
  for (const Candidate& c : sorted) {
    if (!is_alive(c) || finalists.size() >= kFinalists * 8) break;
    finalists.push_back(c);
    for (const int width : {1, 2, 4, 8, 16}) {
      for (const bool along_n : {false, true}) {
        const LaunchConfig launch{width, along_n};
        if (launch == c.launch) continue;
        finalists.push_back(c);
        finalists.back().launch = launch;
      }
    }
  }
  return finalists;
}

void measure(std::vector<Candidate>& candidates, const Bench& bench, const TuneOptions& options) {
  for (std::size_t i = 0; i < bench.sets.size(); ++i) {
    bench.device.check_kernels().fill_normal(bench.problem, bench.sets[i],
                                             static_cast<unsigned>(options.seed * 977 + 3 * i), bench.stream);
  }
  const auto start = Clock::now();
  const auto after = [&](double share) {
    return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.budget_s * share));
  };
  const bool is_short = candidates.front().predicted_us < kGraphBelowUs;
  RaceOptions race{.mode = is_short ? TimingMode::graph : TimingMode::eager,
                   .rounds = 3,
                   .round_us = 1000,
                   .seed = options.seed,
                   .abandon_ratio = kAbandonRatio,
                   .deadline = after(0.5)};
  race_and_sort(candidates, bench, race);

  std::vector<Candidate> finalists = with_rasters(candidates);
  race.rounds = 3;
  race.abandon_ratio = 1.1;
  race.deadline = after(0.8);
  race_and_sort(finalists, bench, race);

  // The winner is timed on fresh samples: the best of many noisy measurements flatters itself.
  finalists.resize(std::min<std::size_t>(finalists.size(), kFinalists));
  race.rounds = options.rounds;
  race.abandon_ratio = 0;
  race.seed = options.seed + 1;
  race.deadline = after(1.0);
  race_and_sort(finalists, bench, race);
  if (!finalists.empty() && is_alive(finalists.front())) candidates.insert(candidates.begin(), finalists.front());
}

TuningRecord record_of(const Candidate& winner, DeviceState& device, const Problem& problem) {
  return {.problem = problem,
          .config = winner.config,
          .launch = winner.launch,
          .timing = winner.timing,
          .environment = device.environment(),
          .template_digest = device.engine().template_digest(winner.config)};
}

[[noreturn]] void fail_without_survivors(const std::vector<Candidate>& candidates, const Problem& problem) {
  std::string reasons;
  for (const Candidate& c : candidates) {
    reasons += "\n  " + to_string(c.config) + ": " + std::string(to_string(c.stage)) + ": " + c.reason;
  }
  const auto ended_at = [&](Stage stage) {
    return std::ranges::any_of(candidates, [&](const Candidate& c) { return c.stage == stage; });
  };
  const ErrorCode code = ended_at(Stage::check)  ? ErrorCode::wrong_result
                         : ended_at(Stage::load) ? ErrorCode::driver_error
                                                 : ErrorCode::compile_failed;
  throw Error(code, "no candidate for " + to_string(problem) + " survived:" + reasons);
}

}  // namespace

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::chosen: return "chosen";
    case Stage::build: return "build";
    case Stage::load: return "load";
    case Stage::check: return "check";
    case Stage::measure: return "measure";
  }
  return "?";
}

std::vector<Candidate> pick_candidates(const Problem& problem, const DeviceInfo& device, int count) {
  const GemmTraits traits = traits_of(problem);
  const ArchLimits& arch = arch_limits(device.arch);
  std::vector<KernelConfig> ranked = rank(candidates(traits, arch), problem, device);
  const std::vector<KernelConfig> fixed = rank(anchors(traits, arch), problem, device);
  if (ranked.empty()) {
    throw Error(ErrorCode::not_supported, "no kernel computes " + to_string(problem) + " on " + device.arch);
  }
  // A quarter of the places go to anchors, in case the model is wrong about this problem.
  std::vector<KernelConfig> chosen(fixed.begin(),
                                   fixed.begin() + std::min<std::ptrdiff_t>(std::ssize(fixed), count / 4));
  for (const KernelConfig& config : ranked) {
    if (std::ssize(chosen) >= count) break;
    if (std::ranges::find(chosen, config) == chosen.end()) chosen.push_back(config);
  }
  std::vector<Candidate> rows;
  for (const KernelConfig& config : rank(std::move(chosen), problem, device)) {
    rows.push_back({.config = config,
                    .launch = default_launch(config, problem, device),
                    .predicted_us = predict_us(config, problem, device)});
  }
  return rows;
}

TuneOutcome tune_problem(DeviceState& device, const Problem& problem, const TuneOptions& options) {
  TuneOutcome outcome;
  std::vector<Candidate>& candidates = outcome.candidates;
  candidates = pick_candidates(problem, device.info_with_clocks(), options.max_candidates);
  build(candidates, device, problem, options.jobs);

  const std::lock_guard lock(device.tuning_mutex());
  const RelaxedCaptureMode relaxed(device.driver());  // the program may be capturing elsewhere
  load(candidates, device, problem);
  const OperandPool pool(device.driver(), problem, device.info().l2_bytes, options.scratch_bytes);
  const OwnedStream stream(device.driver());
  const Bench bench{device, problem, pool.sets(), stream.get()};
  check(candidates, bench, static_cast<unsigned>(options.seed));
  outcome.measured = static_cast<int>(std::ranges::count_if(candidates, is_alive));
  measure(candidates, bench, options);

  if (candidates.empty() || !is_alive(candidates.front()) || candidates.front().timing.samples == 0) {
    fail_without_survivors(candidates, problem);
  }
  outcome.record = record_of(candidates.front(), device, problem);
  device.engine().database.add(*outcome.record);
  return outcome;
}

}  // namespace hotgemm
