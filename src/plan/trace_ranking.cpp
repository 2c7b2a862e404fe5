#include "plan/trace_ranking.hpp"

#include "base/statistics.hpp"
#include "plan/power_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace hotgemm {

namespace {

using Round = std::pair<int, int>;                                 // race, round
using Samples = std::map<CandidateName, std::map<Round, double>>;  // the last sample of a round counts
using Twins = std::vector<std::pair<std::string, std::string>>;    // a config, and the config that was timed for it

/// The content of the trace lines of one problem.
struct Contents {
  Samples samples;
  Twins twins;
  std::vector<CandidateName> in_order;  // in the order of the first sample
};

Contents contents_of(std::span<const TraceLine> lines, std::string_view problem, TraceRanking& ranking) {
  Contents contents;
  for (const TraceLine& line : lines) {
    if (const auto* sample = std::get_if<TraceSample>(&line); sample != nullptr && sample->problem == problem) {
      const CandidateName name{sample->config, sample->launch};
      const auto [place, is_new] = contents.samples.try_emplace(name);
      if (is_new) contents.in_order.push_back(name);
      place->second[{sample->race, sample->round}] = sample->us;
      ranking.races = std::max(ranking.races, sample->race + 1);
    } else if (const auto* rejection = std::get_if<TraceRejection>(&line);
               rejection != nullptr && rejection->problem == problem) {
      ranking.rejected.insert(rejection->config);
    } else if (const auto* twin = std::get_if<TraceTwin>(&line); twin != nullptr && twin->problem == problem) {
      contents.twins.emplace_back(twin->config, twin->same_as);
    }
  }
  return contents;
}

std::size_t races_of(const std::map<Round, double>& samples) {
  std::set<int> races;
  for (const auto& [round, us] : samples) races.insert(round.first);
  return races.size();
}

void choose_reference(const Contents& contents, TraceRanking& ranking) {
  std::size_t most = 0;
  for (const CandidateName& name : contents.in_order) {
    if (ranking.rejected.contains(name.config)) continue;
    const std::size_t races = races_of(contents.samples.at(name));
    if (races <= most) continue;
    most = races;
    ranking.reference = name;
  }
}

void add_twins(const Twins& twins, TraceRanking& ranking) {
  std::vector<RankedCandidate> added;
  for (const auto& [config, same_as] : twins) {
    if (ranking.rejected.contains(same_as)) ranking.rejected.insert(config);
    for (const RankedCandidate& entry : ranking.entries) {
      if (entry.name.config == same_as && ranking.find({config, entry.name.launch}) == nullptr) {
        added.push_back({{config, entry.name.launch}, entry.ratio, entry.rounds});
        ranking.twins.insert(config);
      }
    }
  }
  ranking.entries.insert(ranking.entries.end(), added.begin(), added.end());
}

}  // namespace

const RankedCandidate* TraceRanking::find(const CandidateName& name) const {
  const auto found = std::ranges::find(entries, name, &RankedCandidate::name);
  return found == entries.end() ? nullptr : &*found;
}

int TraceRanking::place(const std::string& config) const {
  const auto own = std::ranges::find_if(entries, [&](const auto& e) { return e.name.config == config; });
  if (own == entries.end()) return 0;
  std::set<std::string> faster;
  for (auto at = entries.begin(); at != own; ++at) {
    if (at->ratio < own->ratio) faster.insert(at->name.config);
  }
  return static_cast<int>(faster.size()) + 1;
}

TraceRanking rank_trace(std::span<const TraceLine> lines, std::string_view problem) {
  TraceRanking ranking;
  const Contents contents = contents_of(lines, problem, ranking);
  choose_reference(contents, ranking);
  if (!ranking.reference.config.empty()) {
    const std::map<Round, double>& reference = contents.samples.at(ranking.reference);
    std::vector<double> reference_us;
    for (const auto& [round, us] : reference) reference_us.push_back(us);
    ranking.reference_us = median(reference_us);
    for (const CandidateName& name : contents.in_order) {
      if (ranking.rejected.contains(name.config)) continue;
      std::vector<double> ratios;
      for (const auto& [round, us] : contents.samples.at(name)) {
        if (const auto beside = reference.find(round); beside != reference.end()) ratios.push_back(us / beside->second);
      }
      if (!ratios.empty()) ranking.entries.push_back({name, median(ratios), static_cast<int>(ratios.size())});
    }
  }
  add_twins(contents.twins, ranking);
  std::ranges::stable_sort(ranking.entries, {}, &RankedCandidate::ratio);
  for (const RankedCandidate& entry : ranking.entries) ranking.timed.insert(entry.name.config);
  return ranking;
}

double regret_of_first(const TraceRanking& ranking, std::span<const CandidateName> order, std::size_t count) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double best_of_first = kNone;
  double best = kNone;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const RankedCandidate* entry = ranking.find(order[i]);
    if (entry == nullptr) continue;
    best = std::min(best, entry->ratio);
    if (i < count) best_of_first = std::min(best_of_first, entry->ratio);
  }
  return best_of_first == kNone ? std::numeric_limits<double>::quiet_NaN() : best_of_first / best - 1;
}

std::vector<CandidateName> contenders_alone(const TraceRanking& ranking, std::span<const CandidateName> menu,
                                            const Workload& problem, std::size_t count) {
  std::vector<CandidateName> timed;
  std::vector<PowerCandidate> costs;
  for (const CandidateName& name : menu) {
    const RankedCandidate* entry = ranking.find(name);
    if (entry == nullptr || ranking.twins.contains(name.config)) continue;
    timed.push_back(name);
    costs.push_back(power_candidate(parse_config(name.config).value(), problem, ranking.us(*entry)));
  }
  std::vector<CandidateName> names;
  for (const std::size_t i : pick_for_power_final(costs, count)) names.push_back(timed[i]);
  return names;
}

}  // namespace hotgemm
