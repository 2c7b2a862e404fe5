#include "tune/search_races.hpp"

#include "base/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace hotgemm {
namespace {

constexpr double kRoundUs = 1000;  // GPU time per candidate and round

}  // namespace

SearchRaces::SearchRaces(Engine& engine, Measurer& measurer, const Workload& problem, std::vector<Candidate> candidates,
                         const SearchOptions& options, const SearchObserver& observer)
    : engine_(engine), measurer_(measurer), problem_(problem), options_(options), observer_(observer) {
  outcome_.candidates = std::move(candidates);
  first_us_.assign(rows().size(), 0);
}

bool SearchRaces::has_rejected(const std::vector<RowLaunch>& entries) {
  return std::ranges::any_of(entries, [&](const RowLaunch& e) { return !row(e).is_alive(); });
}

std::vector<RowLaunch> SearchRaces::alive() {
  std::vector<RowLaunch> entries;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    if (rows()[i].is_alive()) entries.push_back({i, rows()[i].launch});
  }
  return entries;
}

std::vector<Trial> SearchRaces::trials_of(const std::vector<RowLaunch>& entries) {
  std::vector<Trial> trials;
  for (const RowLaunch& entry : entries) trials.push_back({row(entry).config, entry.launch, row(entry).cubin});
  return trials;
}

Environment SearchRaces::environment() const {
  Environment environment = measurer_.gpu().environment;
  if (!options_.toolchain.empty()) environment.toolchain = options_.toolchain;
  return environment;
}

void SearchRaces::tell_rejected(const Candidate& c) const {
  if (observer_.rejected) observer_.rejected(c);
}

void SearchRaces::end_row(Candidate& c, Stage stage, std::string reason) {
  if (!c.reason.empty()) return;
  reject(c, stage, std::move(reason));
  tell_rejected(c);
  remember(engine_, rows(), c, problem_, environment());
}

void SearchRaces::tell_leader(const std::vector<RowLaunch>& entries, const std::vector<double>& us,
                              const std::vector<double>& baseline_us) {
  if (!observer_.led) return;
  observer_.led({.config = to_string(row(entries.front()).config),
                 .launch = to_string(entries.front().launch),
                 .median_us = median(us),
                 .ratio = median(paired_ratios(baseline_us, us)),
                 .alive = static_cast<int>(entries.size())});
}

RaceOptions SearchRaces::race_options(int rounds, std::chrono::steady_clock::time_point deadline) const {
  return {.mode = mode_,
          .rounds = rounds,
          .round_us = kRoundUs,
          .warm_up_us = races_ == 0 && mode_ == TimingMode::eager ? kWarmUpUs : 0,
          .seed = options_.seed + static_cast<std::uint64_t>(races_),
          .abandon_ratio = kAbandonRatio,
          .deadline = deadline};
}

RaceResult SearchRaces::race(const std::vector<RowLaunch>& entries, const RaceOptions& options, bool with_baseline) {
  const std::vector<Trial> trials = trials_of(entries);
  RaceResult result = measurer_.race(trials, options, with_baseline);
  std::vector<bool> ran;
  for (const std::vector<double>& us : result.us) ran.push_back(!std::isnan(median(us)));
  if (!options.blocks) {
    rounds_ = is_timed_behind(trials) ? Measure::behind : Measure::rounds;
    leave_out_disturbed(result);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    tell_samples(entries[i], result.us[i]);
    if (races_ == 0) first_us_[entries[i].candidate] = median(result.us[i]);
    if (result.failures[i].empty()) {
      note_timing(entries[i], result.us[i], result.us[0]);
      const bool is_abandoned = result.rounds_done > 0 && !ran[i] && row(entries[i]).timing.samples == 0;
      if (is_abandoned)
        end_row(row(entries[i]), Stage::measure,
                fmt::format("slow: the first launch took {} times the fastest time or more", kAbandonRatio));
      continue;
    }
    std::ranges::fill(result.us[i], kNan);  // a failed contender has no time
    if (result.failures[i] != kNoTimeLeft) end_row(row(entries[i]), Stage::measure, result.failures[i]);
  }
  ++races_;
  return result;
}

int SearchRaces::most_samples(const RaceResult& result) {
  std::ptrdiff_t most = 0;
  for (const std::vector<double>& us : result.us) {
    most = std::max(most, std::ranges::count_if(us, [](double sample) { return !std::isnan(sample); }));
  }
  return static_cast<int>(most);
}

/// Samples of disturbed rounds become NaN. The incumbent is the first of the contenders that ran the most rounds.
void SearchRaces::leave_out_disturbed(RaceResult& result) {
  const auto samples = [](const std::vector<double>& us) {
    return std::ranges::count_if(us, [](double sample) { return !std::isnan(sample); });
  };
  const auto incumbent = std::ranges::max_element(result.us, {}, samples);
  if (incumbent == result.us.end()) return;
  const std::vector<bool> disturbed = disturbed_rounds(*incumbent);
  for (std::size_t round = 0; round < disturbed.size(); ++round) {
    if (!disturbed[round]) continue;
    ++result.rounds_disturbed;
    for (std::vector<double>& us : result.us) {
      if (round < us.size()) us[round] = kNan;
    }
  }
  if (is_unsteady(*incumbent)) result.rounds_disturbed = result.rounds_done;
  tally_.done += result.rounds_done;
  tally_.disturbed += result.rounds_disturbed;
}

void SearchRaces::tell_samples(const RowLaunch& entry, const std::vector<double>& us) {
  if (!observer_.sampled) return;
  for (std::size_t round = 0; round < us.size(); ++round) {
    if (std::isnan(us[round])) continue;
    observer_.sampled(
        {to_string(row(entry).config), to_string(entry.launch), races_, static_cast<int>(round), us[round]});
  }
}

void SearchRaces::note_timing(const RowLaunch& entry, const std::vector<double>& us,
                              const std::vector<double>& incumbent_us) {
  std::vector<double> samples;
  for (const double sample : us) {
    if (!std::isnan(sample)) samples.push_back(sample);
  }
  if (samples.empty()) return;
  Candidate& c = row(entry);
  c.stage = Stage::measure;
  const std::vector<double> ratios = paired_ratios(incumbent_us, us);
  c.timing = {.median_us = median(samples),
              .spread_us = interquartile_range(samples),
              .samples = static_cast<int>(samples.size()),
              .ratio = ratios.empty() ? 0 : median(ratios)};
}

void SearchRaces::sort_rows(const RowLaunch& pick) {
  for (Candidate& c : rows()) {
    if (c.is_alive() && c.timing.samples == 0) end_row(c, Stage::measure, std::string(kNoTimeLeft));
  }
  row(pick).launch = pick.launch;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Candidate& c = rows()[i];
    order.emplace_back(i == pick.candidate ? 0 : c.is_alive() ? c.timing.median_us : 1e30, i);
  }
  std::ranges::sort(order);
  std::vector<Candidate> sorted;
  for (const auto& [us, i] : order) sorted.push_back(std::move(rows()[i]));
  rows() = std::move(sorted);
}

std::vector<std::vector<double>> costs_of(Objective objective, const std::vector<std::vector<double>>& us,
                                          const std::vector<BlockReport>& blocks) {
  std::vector<std::vector<double>> costs = us;
  if (objective == Objective::speed) return costs;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double watts = i < blocks.size() && blocks[i].clock.watts > 0 ? blocks[i].clock.watts : kNan;
    for (double& cost : costs[i]) cost *= watts * 1e-6;
  }
  return costs;
}

}  // namespace hotgemm
