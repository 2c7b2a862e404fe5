#include "tune/quality.hpp"

#include "plan/choice.hpp"
#include "plan/power_model.hpp"
#include "tune/bench.hpp"
#include "tune/search.hpp"
#include "tune/trace_header.hpp"
#include "tune/tune.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace hotgemm {
namespace {

constexpr double kFinalRoundUs = 2000;
constexpr std::size_t kAlone = 20;  // configs by rounds, and as many by the power model, that run alone
constexpr double kLoadS = 0.5;      // work before the first block
constexpr int kPasses = 6;          // of blocks: the least number of samples of which the median has an interval
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

using TimesByName = std::map<CandidateName, std::vector<double>>;

RaceOptions in_rounds(TimingMode mode, int rounds) {
  return {.mode = mode, .rounds = rounds, .round_us = kFinalRoundUs};
}
RaceOptions in_blocks(int passes) {
  RaceOptions race{.rounds = passes, .blocks = choice_lengths()};
  race.blocks->load_s = kLoadS;
  return race;
}

/// Races each of `names` once and returns the times by name. The order of `names` does not matter.
TimesByName race_fresh(Engine& engine, Measurer& measurer, const Workload& problem, std::vector<CandidateName> names,
                       const QualityOptions& options, RaceOptions race) {
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
  race.seed = seed;
  const RaceResult result = measurer.race(trials, race, false);
  measurer.end();
  TimesByName us;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!result.failures[i].empty()) throw Error(ErrorCode::driver_error, result.failures[i]);
    us[names[i]] = result.us[i];
  }
  return us;
}

/// The candidates that may be the fastest alone under the power cap, each config in its fastest raster.
std::vector<CandidateName> contenders_alone(const TraceRanking& ranking, const Workload& problem) {
  std::vector<CandidateName> fastest;
  std::vector<PowerCandidate> costs;
  std::set<std::string> seen;
  for (const RankedCandidate& entry : ranking.entries) {
    if (ranking.twins.contains(entry.name.config) || !seen.insert(entry.name.config).second) continue;
    fastest.push_back(entry.name);
    costs.push_back(power_candidate(parse_config(entry.name.config).value(), problem, ranking.us(entry)));
  }
  std::vector<CandidateName> names = fastest;
  names.resize(std::min(names.size(), kAlone));
  for (const std::size_t i : best_under_power_cap(costs, kAlone)) {
    if (i >= kAlone) names.push_back(fastest[i]);
  }
  return names;
}

/// The one of them that is the fastest alone.
CandidateName fastest_alone(Engine& engine, Measurer& measurer, const Workload& problem, const TraceRanking& ranking,
                            const QualityOptions& options) {
  const TimesByName us =
      race_fresh(engine, measurer, problem, contenders_alone(ranking, problem), options, in_blocks(1));
  const auto cost = [](const auto& row) { return std::fmin(median(row.second), std::numeric_limits<double>::max()); };
  return std::ranges::min_element(us, {}, cost)->first;
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
  how.with_blocks = true;
  const TuneOutcome outcome =
      search(engine, measurer, problem, std::move(candidates), how, {.is_cancelled = is_cancelled});
  if (outcome.is_partial && is_cancelled && is_cancelled()) {
    throw Error(ErrorCode::interrupted, "interrupted while " + to_string(problem) + " was tuned");
  }
  const Measure by = outcome.record->measure;
  if (by == Measure::sustained || by == Measure::modelled) result.measure = Measure::sustained;
  const bool is_alone = result.measure == Measure::sustained;
  result.measured = outcome.measured;
  result.oracle = pick_of(
      is_alone ? fastest_alone(engine, measurer, problem, ranking, options) : ranking.entries.front().name, ranking);
  result.tuned = pick_of(name_of(outcome.candidates.front()), ranking);
  result.estimated = pick_of(estimate(engine, problem, gpu.environment), ranking);

  const TimesByName us =
      race_fresh(engine, measurer, problem, {result.oracle.name, result.tuned.name, result.estimated.name}, options,
                 is_alone ? in_blocks(kPasses) : in_rounds(result.mode, options.rounds));
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
