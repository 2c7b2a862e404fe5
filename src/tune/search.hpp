#pragma once

#include "tune/candidate.hpp"
#include "tune/measurer.hpp"

#include <hotgemm/context.hpp>

#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm {

/// One sample: microseconds per launch of one candidate in one round of one race.
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
  double ratio = std::numeric_limits<double>::quiet_NaN();  ///< cuBLAS's time / ours; NaN if cuBLAS did not run
  int alive = 0;                                            ///< candidates that are still in the race
};

/// Receives events as they happen, on the thread that searches, which holds no lock but the one of a DeviceMeasurer's
/// GPU. Functions may be empty. An exception ends the search, and search() throws it.
struct SearchObserver {
  std::function<void(const Candidate&)> rejected;
  std::function<void(const Sample&)> sampled;
  std::function<void(const RaceLeader&)> led;
  std::function<bool()> is_cancelled;  ///< called between steps; true ends the search with the best so far
};

struct SearchOptions {
  double budget_s = 2.0;  ///< for measuring; at its end the best so far is kept
  /// The deadline of checking and measuring together; it counts if it comes before the end of the budget. Candidates
  /// that are not checked or timed by then are left out, and the record is provisional.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  int rounds = 7;  ///< for the final comparison
  std::uint64_t seed = 1;
  std::int64_t scratch_bytes = std::int64_t{512} << 20;
  /// False: each config is timed in its usual raster only, and programmatically in that. A search takes most of its
  /// time for rasters. A search does so too where power may bind and no kernel runs alone.
  bool with_rasters = true;
  int final_races = 3;  ///< the most races of `rounds` rounds for the final comparison
  bool with_baseline = false;
  CublasScope cublas = CublasScope::none;  ///< what the pick is compared with at the end, for the record
  /// Blocks decide where the power cap binds. Without them rounds decide where it may bind, with the power model if
  /// there is one for the problem, and the pick is provisional.
  bool with_blocks = false;
  bool is_limited = false;                 ///< candidates were left out, so that the pick is provisional
  Objective objective = Objective::speed;  ///< for energy blocks always decide
  std::string toolchain;                   ///< for the record, if the measuring process does not know it
};

/// The result of a search.
struct TuneOutcome {
  std::vector<Candidate> candidates;  ///< the pick first, then survivors by time, then the rejected
  std::optional<TuningRecord> record;
  int measured = 0;         ///< candidates that were timed
  bool is_partial = false;  ///< cancelled, out of budget before the final comparison, or limited
  std::string baseline;     ///< name of the cuBLAS algorithm that raced; empty if none did
  double baseline_us = std::numeric_limits<double>::quiet_NaN();
  double ratio = std::numeric_limits<double>::quiet_NaN();  ///< the baseline's time / the pick's, paired by rounds
  std::string cublas_failure;  ///< why the record has no comparison with cuBLAS; empty if it has, or none was asked for
  /// The time of the fastest that had a block / the pick's; NaN if blocks did not decide, or the power is unknown.
  double of_fastest = std::numeric_limits<double>::quiet_NaN();
};

/// Checks and times candidates that have been built, and records the best by the objective. It uses successive halving:
/// in each round all remaining candidates run interleaved, in shuffled order. The measure is the ratio to the incumbent
/// within a round. A difference below half a percent is a tie, which a programmatic launch wins, then the earlier name.
///
/// Rounds mislead where the power cap binds (docs/measuring.md). With `with_blocks`, the final is then by blocks, among
/// the fastest in rounds and those that plan/power_model.hpp expects to be fast alone. Without blocks, or without
/// the time for them, that model turns times in rounds into times under the cap, if it was fitted to such kernels.
/// For energy the final is always by blocks, and the pick is the one with the least joules: median power times time. No
/// launch is then programmatic.
///
/// The engine's rejections remember a candidate that is wrong, fails or does not end. Throws Error{out_of_memory} if
/// the operands do not fit. If no candidate survives, throws wrong_result if one of them was wrong, else driver_error
/// if one was built, else compile_failed. Throws interrupted if it was cancelled before anything was timed,
/// not_supported if energy is asked for and NVML does not tell the power, and the measurer's errors that are not the
/// fault of a candidate.
TuneOutcome search(Engine& engine, Measurer& measurer, const Workload& problem, std::vector<Candidate> candidates,
                   const SearchOptions& options, const SearchObserver& observer = {});

}  // namespace hotgemm
