#include "tune/row_launch.hpp"

#include "plan/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

namespace hotgemm {

std::vector<RowLaunch> in_order(std::span<const RowLaunch> entries, std::span<const RankedContender> placed) {
  std::vector<RowLaunch> sorted;
  for (const RankedContender& p : placed) sorted.push_back(entries[p.contender]);
  return sorted;
}

std::size_t pick_among_tied(std::span<const Candidate> candidates, std::span<const RowLaunch> entries,
                            std::span<const RankedContender> tied) {
  const auto order = [&](const RankedContender& p) {
    const RowLaunch& entry = entries[p.contender];
    const Candidate& c = candidates[entry.candidate];
    return std::tuple(!entry.launch.programmatic, to_string(c.config), entry.launch != c.launch,
                      to_string(entry.launch));
  };
  return std::ranges::min_element(tied, {}, order)->contender;
}

std::vector<RowLaunch> with_rasters(std::span<const Candidate> candidates, std::span<const RowLaunch> entries,
                                    const Workload& problem, int sm_count) {
  std::vector<RowLaunch> all(entries.begin(), entries.end());
  for (const RowLaunch& entry : entries) {
    const Candidate& c = candidates[entry.candidate];
    for (const LaunchConfig& launch : rasters(c.config, problem, sm_count, c.predicted_us)) {
      if (launch != entry.launch) all.push_back({entry.candidate, launch});
    }
  }
  return all;
}

std::vector<RowLaunch> with_programmatic(std::span<const Candidate> candidates, std::span<const RowLaunch> entries,
                                         const Workload& problem, int sm_count) {
  std::vector<RowLaunch> all(entries.begin(), entries.end());
  for (const RowLaunch& entry : entries) {
    const Candidate& c = candidates[entry.candidate];
    const std::vector<LaunchConfig> launches = rasters(c.config, problem, sm_count, c.predicted_us);
    const bool may_be = std::ranges::any_of(
        launches, [&](const LaunchConfig& l) { return l.programmatic && l.splits == entry.launch.splits; });
    if (!may_be || entry.launch.programmatic) continue;
    all.push_back(entry);
    all.back().launch.programmatic = true;
  }
  return all;
}

std::vector<RowLaunch> entries_for_blocks(std::span<const Candidate> candidates, std::span<const RowLaunch> leaders,
                                          std::vector<RowLaunch> timed, std::span<const double> us,
                                          const Workload& problem, std::size_t count, PowerCost cost) {
  std::vector<RowLaunch> chosen;
  const auto add = [&](const RowLaunch& entry, std::size_t most) {
    const bool is_new = std::ranges::find(chosen, entry.candidate, &RowLaunch::candidate) == chosen.end();
    if (is_new && chosen.size() < most) chosen.push_back(entry);
  };
  std::erase_if(timed, [&](const RowLaunch& e) { return !(us[e.candidate] > 0); });
  std::vector<PowerCandidate> known;
  for (const RowLaunch& e : timed) {
    known.push_back(power_candidate(candidates[e.candidate].config, problem, us[e.candidate]));
  }
  const std::vector<std::size_t> picks =
      pick_for_power_final(known, count, cost);  // the fastest half, the model's half
  const std::size_t half = count / 2;
  for (const RowLaunch& leader : leaders) add(leader, half);
  for (const std::size_t i : picks) add(timed[i], half);
  for (std::size_t p = half; p < picks.size(); ++p) add(timed[picks[p]], count);
  for (const RowLaunch& leader : leaders) add(leader, count);
  for (const std::size_t i : picks) add(timed[i], count);
  return chosen;
}

std::vector<RowLaunch> entries_for_model(std::span<const Candidate> candidates, std::vector<RowLaunch> timed,
                                         std::span<const double> us, const Workload& problem, std::size_t count) {
  std::erase_if(timed, [&](const RowLaunch& e) { return !(us[e.candidate] > 0); });
  // The fastest sets the limit of clocks. Kernels beyond it must not take its place.
  double least_us = std::numeric_limits<double>::infinity();
  for (const RowLaunch& e : timed) least_us = std::min(least_us, us[e.candidate]);
  std::erase_if(timed, [&](const RowLaunch& e) { return us[e.candidate] > kMostClocks * least_us; });
  std::vector<PowerCandidate> known;
  for (const RowLaunch& e : timed) {
    known.push_back(power_candidate(candidates[e.candidate].config, problem, us[e.candidate]));
  }
  std::vector<RowLaunch> chosen;
  for (const std::size_t i : best_under_power_cap(known, count)) chosen.push_back(timed[i]);
  const auto first = std::ranges::find(timed, std::size_t{0}, &RowLaunch::candidate);
  const bool is_in = std::ranges::find(chosen, std::size_t{0}, &RowLaunch::candidate) != chosen.end();
  if (first != timed.end() && !is_in) chosen.push_back(*first);
  return chosen;
}

std::vector<std::vector<double>> capped_times(std::span<const Candidate> candidates, std::span<const RowLaunch> entries,
                                              std::vector<std::vector<double>> us, const Workload& problem) {
  const std::vector<RankedContender> placed = rank_contenders(us);
  for (const RankedContender& p : placed) {
    const double picojoules = picojoules_per_flop(candidates[entries[p.contender].candidate].config, problem);
    const double factor = capped_factor(p.ratio / placed.front().ratio, picojoules);
    for (double& sample : us[p.contender]) {
      sample = std::isinf(factor) ? std::numeric_limits<double>::quiet_NaN() : sample * factor;
    }
  }
  return us;
}

}  // namespace hotgemm
