#pragma once

#include "tune/candidate.hpp"
#include "tune/measurer.hpp"

#include <hotgemm/context.hpp>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm {

/// One timing: microseconds per launch of one candidate in one round of one race.
struct Sample {
  std::string config;
  std::string launch;
  int race = 0;   ///< counted from 0 within a problem's search
  int round = 0;  ///< counted from 0 within the race
  double us = 0;
};

/// The leader after a race.
struct RaceLeader {
  std::string config;
  std::string launch;
  double median_us = 0;
  double ratio = std::numeric_limits<double>::quiet_NaN();  ///< cuBLAS's time / ours; NaN where cuBLAS does not run
  int alive = 0;                                            ///< candidates that go on
};

/// Told what happens while it happens, on the thread that searches, which holds no lock but a DeviceMeasurer's of its
/// GPU. Functions may be empty. What one throws ends the search, and search() throws it.
struct SearchObserver {
  std::function<void(const Candidate&)> rejected;
  std::function<void(const Sample&)> sampled;
  std::function<void(const RaceLeader&)> led;
  std::function<bool()> is_cancelled;  ///< asked between steps: true ends the search with the best so far
};

struct SearchOptions {
  double budget_s = 2.0;  ///< of measuring; the best so far is kept
  int rounds = 7;         ///< of the final comparison
  std::uint64_t seed = 1;
  std::int64_t scratch_bytes = std::int64_t{512} << 20;
  bool with_baseline = false;
  std::string toolchain;  ///< for the record, where the measurer's process does not know it
};

/// What a search found.
struct TuneOutcome {
  std::vector<Candidate> candidates;  ///< the pick first, then survivors by time, then the rejected
  std::optional<TuningRecord> record;
  int measured = 0;         ///< candidates that were timed
  bool is_partial = false;  ///< cancelled, or out of budget before the final comparison
  std::string baseline;     ///< what of cuBLAS ran beside them; empty if nothing did
  double baseline_us = std::numeric_limits<double>::quiet_NaN();
  double ratio = std::numeric_limits<double>::quiet_NaN();  ///< the baseline's time / the pick's, paired by rounds
};

/// Checks and times candidates that have been built, and records the fastest: successive halving over rounds in which
/// all that are left run interleaved, in shuffled order. What counts is the ratio to the incumbent within a round.
/// Differences below half a percent are none: the earlier name wins (no kernel needs a workspace yet).
///
/// A candidate that is wrong, fails or does not end is remembered in the engine's rejections. Throws
/// Error{out_of_memory} if the operands do not fit; if no candidate survives wrong_result if one of
/// them was wrong, else driver_error if one was built, else compile_failed; interrupted if it was cancelled before
/// anything was timed; and what the measurer throws of anything that is no candidate's fault.
TuneOutcome search(Engine& engine, Measurer& measurer, const Problem& problem, std::vector<Candidate> candidates,
                   const SearchOptions& options, const SearchObserver& observer = {});

}  // namespace hotgemm
