#pragma once

#include "records/trace.hpp"

#include <hotgemm/problem.hpp>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

// A ranking of all configs of a problem from the trace of their measurements. All times are relative to one reference
// that ran in every race, so that races hours apart can be compared. Pure and deterministic.

namespace hotgemm {

/// A config and a launch config, both by name.
struct CandidateName {
  std::string config;
  std::string launch;
  friend auto operator<=>(const CandidateName&, const CandidateName&) = default;
};

struct RankedCandidate {
  CandidateName name;
  double ratio = 1;  ///< its time / the reference's: the median over the rounds that both ran
  int rounds = 0;    ///< the number of rounds that both ran
};

struct TraceRanking {
  CandidateName reference;               ///< the candidate that ran in the most races; rejected ones excluded
  double reference_us = 0;               ///< the median of all its samples
  std::vector<RankedCandidate> entries;  ///< ran beside the reference and not rejected, fastest first
  std::set<std::string> timed;           ///< configs of entries
  std::set<std::string> twins;           ///< configs of entries that have the times of their twin
  std::set<std::string> rejected;        ///< rejected configs
  int races = 0;                         ///< the number of the next race

  /// The time of `entry` in microseconds, from its ratio.
  double us(const RankedCandidate& entry) const { return entry.ratio * reference_us; }
  /// nullptr if the candidate was not timed.
  const RankedCandidate* find(const CandidateName& name) const;
  /// 1 + the number of configs that are faster, each with its fastest launch config; 0 if `config` was not timed.
  int place(const std::string& config) const;
};

/// The ranking for `problem` from `lines`. A config with the same machine code as another gets the times of that one.
TraceRanking rank_trace(std::span<const TraceLine> lines, std::string_view problem);

/// The regret of trying only the first `count` candidates of `order`: the fastest of them is slower than the fastest of
/// all by this share. 0.02 means two percent. NaN if none of the first `count` was timed.
double regret_of_first(const TraceRanking& ranking, std::span<const CandidateName> order, std::size_t count);

/// Up to `count` candidates of `menu` that may be the fastest alone under the power cap, as pick_for_power_final takes
/// them. They have the launch of `menu`: rounds do not tell which raster is the fastest alone.
std::vector<CandidateName> contenders_alone(const TraceRanking& ranking, std::span<const CandidateName> menu,
                                            const Workload& problem, std::size_t count);

}  // namespace hotgemm
