#include "tune/comparison.hpp"

#include "base/statistics.hpp"
#include "plan/halving.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hotgemm {
namespace {

/// The trials of the shortlist that are right.
std::vector<Trial> sound_trials(Engine& engine, Measurer& measurer, const Workload& problem,
                                const ComparisonOptions& options) {
  std::vector<Candidate> candidates = pick_candidates(problem, measurer.gpu().info, options.configs);
  build_candidates(candidates, problem, measurer.gpu().environment, engine, options.jobs, options.is_cancelled);
  merge_twins(candidates, problem);
  std::vector<Trial> trials;
  for (const Candidate& c : candidates) {
    if (c.is_alive() && c.cubin) trials.push_back({c.config, c.launch, c.cubin});
  }
  const std::vector<Verdict> verdicts = measurer.check(trials, static_cast<unsigned>(options.seed) + 1);
  std::vector<Trial> sound;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (verdicts[i].is_sound()) sound.push_back(std::move(trials[i]));
  }
  if (sound.empty()) throw Error(ErrorCode::wrong_result, "no candidate for " + to_string(problem) + " is sound");
  return sound;
}

/// Removes the trials that were not timed, and their places in `us`.
void keep_timed(std::vector<Trial>& trials, std::vector<std::vector<double>>& us) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (std::isnan(median(us[i]))) continue;
    if (i != kept) {
      trials[kept] = std::move(trials[i]);
      us[kept] = std::move(us[i]);
    }
    ++kept;
  }
  trials.resize(kept);
  us.resize(kept);
}

double correlation_of(const std::vector<ComparedConfig>& configs) {
  std::vector<double> rounds, sustained;
  for (const ComparedConfig& c : configs) {
    rounds.push_back(c.rounds_us);
    sustained.push_back(c.sustained_us);
  }
  return rank_correlation(rounds, sustained);
}

}  // namespace

Comparison compare_measures(Engine& engine, Measurer& measurer, const Workload& problem,
                            const ComparisonOptions& options) {
  measurer.begin(problem, {.scratch_bytes = options.scratch_bytes, .seed = options.seed});
  std::vector<Trial> trials = sound_trials(engine, measurer, problem, options);
  RaceOptions race{.rounds = options.rounds,
                   .round_us = options.round_us,
                   .warm_up_us = kWarmUpUs,
                   .seed = options.seed,
                   .abandon_ratio = kAbandonRatio,
                   .is_cancelled = options.is_cancelled};
  std::vector<std::vector<double>> rounds_us = measurer.race(trials, race, false).us;
  keep_timed(trials, rounds_us);
  race.abandon_ratio = 0;
  race.rounds = options.passes;
  race.blocks = options.blocks;
  const RaceResult sustained = measurer.race(trials, race, false);
  measurer.end();
  Comparison comparison;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const double sustained_us = median(sustained.us[i]);
    if (std::isnan(sustained_us)) continue;
    comparison.configs.push_back({.config = to_string(trials[i].config),
                                  .launch = to_string(trials[i].launch),
                                  .rounds_us = median(rounds_us[i]),
                                  .sustained_us = sustained_us,
                                  .blocks = i < sustained.blocks.size() ? sustained.blocks[i] : BlockReport{}});
  }
  std::ranges::sort(comparison.configs, {}, &ComparedConfig::rounds_us);
  comparison.rank_correlation = correlation_of(comparison.configs);
  return comparison;
}

}  // namespace hotgemm
