#include "tune/quality.hpp"

#include "plan/choice.hpp"
#include "tune/bench.hpp"
#include "tune/search.hpp"
#include "tune/trace_header.hpp"
#include "tune/tune.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace hotgemm {
namespace {

constexpr double kFinalRoundUs = 2000;
// Seeds for data, check data and order. They differ from those of the search and the trace, so that no samples are
// shared.
constexpr std::uint64_t kRaceSeed = 0x9e37;
constexpr unsigned kCheckSeed = 0x7f4a;

Candidate candidate_of(const CandidateName& name) {
  Candidate candidate;
  candidate.config = parse_config(name.config).value();
  candidate.launch = parse_launch(name.launch).value();
  return candidate;
}

CandidateName name_of(const Candidate& candidate) { return {to_string(candidate.config), to_string(candidate.launch)}; }

/// The config that a call without records uses before anything is measured.
CandidateName estimate(Engine& engine, const Workload& problem, const Environment& where) {
  for (const Choice& choice : choose(problem, where.arch, Database(DatabaseOptions{}), engine.query(where))) {
    Candidate candidate;
    candidate.config = choice.config;
    candidate.launch = choice.launch;
    build_candidates(std::span(&candidate, 1), problem, where, engine, 1);
    if (candidate.is_alive()) return name_of(candidate);
  }
  throw Error(ErrorCode::compile_failed, "no config that would be picked for " + to_string(problem) + " can be built");
}

/// Races each of `names` once and returns the times by name. The order of `names` does not matter.
std::map<CandidateName, std::vector<double>> race_fresh(Engine& engine, Measurer& measurer, const Workload& problem,
                                                        std::vector<CandidateName> names, const QualityOptions& options,
                                                        TimingMode mode) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<Candidate> candidates;
  for (const CandidateName& name : names) candidates.push_back(candidate_of(name));
  build_candidates(candidates, problem, measurer.gpu().environment, engine, options.tuning.jobs);
  std::vector<Trial> trials;
  for (const Candidate& c : candidates) {
    if (!c.is_alive()) throw Error(ErrorCode::compile_failed, to_string(c.config) + ": " + c.reason);
    trials.push_back({c.config, c.launch, c.cubin});
  }
  const std::uint64_t seed = options.tuning.seed + kRaceSeed;
  measurer.begin(problem, {options.tuning.scratch_bytes, seed, false});
  for (const Verdict& verdict : measurer.check(trials, static_cast<unsigned>(seed) ^ kCheckSeed)) {
    if (!verdict.is_sound()) throw Error(ErrorCode::wrong_result, verdict.reason);
  }
  const RaceResult result =
      measurer.race(trials, {.mode = mode, .rounds = options.rounds, .round_us = kFinalRoundUs, .seed = seed}, false);
  measurer.end();
  std::map<CandidateName, std::vector<double>> us;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!result.failures[i].empty()) throw Error(ErrorCode::driver_error, result.failures[i]);
    us[names[i]] = result.us[i];
  }
  return us;
}

AssessedChoice pick_of(const CandidateName& name, const TraceRanking& ranking) {
  return {.name = name, .place = ranking.place(name.config)};
}

}  // namespace

QualityResult assess(Engine& engine, Measurer& measurer, const Workload& problem, const ExhaustiveResult& exhaustive,
                     const QualityOptions& options, const std::function<bool()>& is_cancelled) {
  const TraceRanking& ranking = exhaustive.ranking;
  const GpuFacts& gpu = measurer.gpu();
  QualityResult result;
  result.problem = problem;
  result.configs = ranking.timed.size();
  result.rejected = ranking.rejected.size();
  for (const std::size_t count : kModelTops) {
    result.model_regret.push_back(regret_of_first(ranking, exhaustive.menu, count));
  }

  std::vector<Candidate> candidates = pick_candidates(problem, gpu.info, options.tuning.max_candidates);
  if (candidates.front().predicted_us < kGraphBelowUs) result.mode = TimingMode::graph;
  build_candidates(candidates, problem, gpu.environment, engine, options.tuning.jobs, is_cancelled);
  merge_twins(candidates, problem);
  SearchOptions how = search_options(options.tuning);
  how.toolchain = trace_header({}, gpu.environment, engine).environment.toolchain;
  const TuneOutcome outcome =
      search(engine, measurer, problem, std::move(candidates), how, {.is_cancelled = is_cancelled});
  if (outcome.is_partial && is_cancelled && is_cancelled()) {
    throw Error(ErrorCode::interrupted, "interrupted while " + to_string(problem) + " was tuned");
  }
  result.measured = outcome.measured;
  result.oracle = pick_of(ranking.entries.front().name, ranking);
  result.tuned = pick_of(name_of(outcome.candidates.front()), ranking);
  result.estimated = pick_of(estimate(engine, problem, gpu.environment), ranking);

  const std::map<CandidateName, std::vector<double>> us = race_fresh(
      engine, measurer, problem, {result.oracle.name, result.tuned.name, result.estimated.name}, options, result.mode);
  const std::vector<double>& oracle = us.at(result.oracle.name);
  for (AssessedChoice* pick : {&result.oracle, &result.tuned, &result.estimated}) {
    const std::vector<double>& own = us.at(pick->name);
    const std::vector<double> ratios = paired_ratios(own, oracle);
    const Interval interval = median_interval(ratios);
    pick->us = median(own);
    pick->regret = median(ratios) - 1;
    pick->regret_ci = {interval.low - 1, interval.high - 1};
  }
  return result;
}

QualitySummary summarize(std::span<const double> regrets) {
  QualitySummary summary;
  const bool has_failed = std::ranges::any_of(regrets, [](double regret) { return std::isnan(regret); });
  if (regrets.empty() || has_failed) return summary;
  std::vector<double> ratios;
  for (const double regret : regrets) ratios.push_back(1 + regret);
  summary.mean = geometric_mean(ratios) - 1;
  summary.worst = std::ranges::max(regrets);
  const auto close = std::ranges::count_if(regrets, [](double regret) { return regret <= 0.01; });
  summary.within_1_percent = static_cast<double>(close) / static_cast<double>(regrets.size());
  return summary;
}

}  // namespace hotgemm
