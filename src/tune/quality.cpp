#include "tune/quality.hpp"

#include "base/log.hpp"
#include "plan/choice.hpp"
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
constexpr std::size_t kAlone = 40;  // configs that run alone: half by rounds, half by the power model
constexpr double kLoadS = 0.5;      // work before the first block
constexpr int kPasses = 6;          // of blocks: five have no 95 % interval
// Seeds for data, check data and order. They differ from those of the search and the trace, so that no samples are
// shared.
constexpr std::uint64_t kRaceSeed = 0x9e37, kAloneSeed = 0xa10e;
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

/// A race on data that neither the trace nor the search has seen.
class FreshRace {
 public:
  using OnFailure = std::function<void(ErrorCode code, const std::string& reason)>;

  /// Builds and checks `names`, each once. `on_failure` hears of each that fails, which then takes no part.
  FreshRace(Engine& engine, Measurer& measurer, const Workload& problem, const std::vector<CandidateName>& names,
            const QualityOptions& options, std::uint64_t seed, const std::function<bool()>& is_cancelled,
            OnFailure on_failure)
      : measurer_(measurer),
        problem_(problem),
        seed_(options.tuning.seed + seed),
        is_cancelled_(is_cancelled),
        on_failure_(std::move(on_failure)) {
    build(engine, {names.begin(), names.end()}, options.tuning.jobs);
    measurer.begin(problem, {options.tuning.scratch_bytes, seed_, false});
    check();
  }

  /// Races them all together.
  TimesByName in_rounds(TimingMode mode, int rounds) {
    TimesByName us;
    run(entries_, {.mode = mode, .rounds = rounds, .round_us = kFinalRoundUs}, us);
    measurer_.end();
    return us;
  }
  /// Runs each alone for a block in each pass. A block is a race of its own: an interrupt does not wait for the others.
  TimesByName in_blocks(int passes, BlockLengths lengths) {
    TimesByName us;
    lengths.load_s = kLoadS;
    for (int pass = 0; pass < passes; ++pass) {
      for (const std::size_t i : block_order(entries_.size(), pass)) {
        run(std::span(entries_).subspan(i, 1), {.rounds = 1, .blocks = lengths}, us);
        lengths.load_s = 0;  // the GPU is warm
      }
    }
    measurer_.end();
    return us;
  }

 private:
  struct Entry {
    CandidateName name;
    Trial trial;
  };

  void build(Engine& engine, const std::set<CandidateName>& names, int jobs) {
    std::vector<Candidate> candidates;
    for (const CandidateName& name : names) candidates.push_back(candidate_of(name));
    build_candidates(candidates, problem_, measurer_.gpu().environment, engine, jobs, is_cancelled_);
    stop_if_cancelled();
    for (const Candidate& c : candidates) {
      if (c.is_alive()) {
        entries_.push_back({name_of(c), {c.config, c.launch, c.cubin}});
      } else {
        on_failure_(ErrorCode::compile_failed, to_string(c.config) + ": " + c.reason);
      }
    }
  }
  void check() {
    std::vector<Entry> built = std::exchange(entries_, {});
    const std::vector<Verdict> verdicts = measurer_.check(trials_of(built), static_cast<unsigned>(seed_) ^ kCheckSeed);
    for (std::size_t i = 0; i < built.size(); ++i) {
      if (verdicts[i].is_sound()) {
        entries_.push_back(std::move(built[i]));
      } else {
        on_failure_(ErrorCode::wrong_result, verdicts[i].reason);
      }
    }
  }
  void run(std::span<const Entry> entries, RaceOptions race, TimesByName& us) const {
    stop_if_cancelled();
    race.seed = seed_;
    const RaceResult result = measurer_.race(trials_of(entries), race, false);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (result.failures[i].empty()) {
        std::ranges::copy(result.us[i], std::back_inserter(us[entries[i].name]));
      } else {
        on_failure_(ErrorCode::driver_error, entries[i].name.config + ": " + result.failures[i]);
      }
    }
  }
  static std::vector<Trial> trials_of(std::span<const Entry> entries) {
    std::vector<Trial> trials;
    for (const Entry& entry : entries) trials.push_back(entry.trial);
    return trials;
  }
  void stop_if_cancelled() const {
    if (!is_cancelled_ || !is_cancelled_()) return;
    throw Error(ErrorCode::interrupted, "interrupted while picks for " + to_string(problem_) + " were compared");
  }

  Measurer& measurer_;
  const Workload& problem_;
  std::uint64_t seed_;
  const std::function<bool()>& is_cancelled_;
  OnFailure on_failure_;
  std::vector<Entry> entries_;
};

/// The fastest alone of `names`. Those that fail are left out.
CandidateName fastest_alone(Engine& engine, Measurer& measurer, const Workload& problem,
                            const std::vector<CandidateName>& names, const QualityOptions& options,
                            const std::function<bool()>& is_cancelled) {
  FreshRace race(engine, measurer, problem, names, options, kAloneSeed, is_cancelled,
                 [](ErrorCode, const std::string& reason) { log(LogLevel::info, "no oracle: " + reason); });
  CandidateName fastest;
  double least_us = std::numeric_limits<double>::infinity();
  for (const auto& [name, us] : race.in_blocks(1, choice_lengths())) {
    if (!(median(us) < least_us)) continue;
    least_us = median(us);
    fastest = name;
  }
  if (!fastest.config.empty()) return fastest;
  throw Error(ErrorCode::driver_error, "no config for " + to_string(problem) + " could be timed alone");
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
  const bool is_alone = by == Measure::sustained || by == Measure::modelled;
  if (is_alone) result.measure = Measure::sustained;
  result.measured = outcome.measured;
  result.tuned = pick_of(name_of(outcome.candidates.front()), ranking);
  result.estimated = pick_of(estimate(engine, problem, gpu.environment), ranking);
  CandidateName best = ranking.entries.front().name;
  if (is_alone) {
    std::vector<CandidateName> names = contenders_alone(ranking, exhaustive.menu, problem, kAlone);
    names.push_back(result.tuned.name);
    best = fastest_alone(engine, measurer, problem, names, options, is_cancelled);
  }
  result.oracle = pick_of(best, ranking);

  FreshRace race(engine, measurer, problem, {result.oracle.name, result.tuned.name, result.estimated.name}, options,
                 kRaceSeed, is_cancelled, [](ErrorCode code, const std::string& reason) { throw Error(code, reason); });
  const TimesByName us = is_alone ? race.in_blocks(kPasses, {}) : race.in_rounds(result.mode, options.rounds);
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
