#pragma once

#include "records/trace.hpp"

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

// What the trace of measuring every config of a problem says. All is relative to one reference that ran in every race,
// so that races hours apart may be compared. Pure and deterministic.

namespace hotgemm {

/// A config with a raster, both by name.
struct CandidateName {
  std::string config;
  std::string launch;
  friend auto operator<=>(const CandidateName&, const CandidateName&) = default;
};

struct RankedCandidate {
  CandidateName name;
  double ratio = 1;  ///< its time / the reference's: the median over the rounds that both ran
  int rounds = 0;    ///< that both ran
};

struct TraceRanking {
  CandidateName reference;               ///< what ran in the most races and was not rejected; no names if there is none
  double reference_us = 0;               ///< the median of all its samples
  std::vector<RankedCandidate> entries;  ///< what ran beside the reference and was not rejected, fastest first
  std::set<std::string> timed;           ///< configs of entries
  std::set<std::string> twins;           ///< configs of entries that another was timed for
  std::set<std::string> rejected;        ///< configs
  int races = 0;                         ///< the number of the next race

  /// Of an entry, by its ratio.
  double us(const RankedCandidate& entry) const { return entry.ratio * reference_us; }
  /// nullptr if it was not timed.
  const RankedCandidate* find(const CandidateName& name) const;
  /// 1 + the number of configs that are faster, each by its fastest raster; 0 if it was not timed.
  int place(const std::string& config) const;
};

/// What `lines` say of `problem`. A config with the machine code of another has that one's times.
TraceRanking rank_trace(std::span<const TraceLine> lines, std::string_view problem);

/// By how much the fastest of the first `count` of `order` is slower than the fastest of all of them: 0.02 is two
/// percent. NaN if none of the first was timed.
double regret_of_first(const TraceRanking& ranking, std::span<const CandidateName> order, std::size_t count);

}  // namespace hotgemm
