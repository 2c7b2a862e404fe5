#pragma once

#include "plan/halving.hpp"
#include "runtime/engine.hpp"
#include "tune/measurer.hpp"
#include "tune/row_launch.hpp"
#include "tune/search.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace hotgemm {

/// The candidates of a search, and the races between them: what each race leaves in the candidates' rows, and what the
/// observer hears of it. The decisions are in search.cpp.
class SearchRaces {
 public:
  SearchRaces(Engine& engine, Measurer& measurer, const Workload& problem, std::vector<Candidate> candidates,
              const SearchOptions& options, const SearchObserver& observer);

 protected:
  std::vector<Candidate>& rows() { return outcome_.candidates; }
  Candidate& row(const RowLaunch& entry) { return rows()[entry.candidate]; }
  bool has_rejected(const std::vector<RowLaunch>& entries);
  bool is_cancelled() const { return observer_.is_cancelled && observer_.is_cancelled(); }
  bool is_for_energy() const { return options_.objective == Objective::energy; }
  std::vector<RowLaunch> alive();
  std::vector<Trial> trials_of(const std::vector<RowLaunch>& entries);
  int sm_count() const { return measurer_.gpu().info.sm_count; }
  Environment environment() const;

  void tell_rejected(const Candidate& c) const;
  /// Rejects a row, unless another raster of this candidate has already ended it.
  void end_row(Candidate& c, Stage stage, std::string reason);
  void tell_leader(const std::vector<RowLaunch>& entries, const std::vector<double>& us,
                   const std::vector<double>& baseline_us);

  RaceOptions race_options(int rounds, std::chrono::steady_clock::time_point deadline) const;
  /// Runs a race, leaves out rounds that other work disturbed, and rejects the contenders that fail. If there is a
  /// baseline, its row is the last one of the result.
  RaceResult race(const std::vector<RowLaunch>& entries, const RaceOptions& options, bool with_baseline);
  /// The number of rounds that a contender ran and that were not left out.
  static int most_samples(const RaceResult& result);
  /// Sets the row's timing to that of its last raster. After all races this is its best raster.
  void note_timing(const RowLaunch& entry, const std::vector<double>& us, const std::vector<double>& incumbent_us);
  /// Sorts the rows: `pick` first, then the others by time, then those that were not timed.
  void sort_rows(const RowLaunch& pick);

  Engine& engine_;
  Measurer& measurer_;
  const Workload& problem_;
  const SearchOptions& options_;
  const SearchObserver& observer_;
  TuneOutcome outcome_;
  TimingMode mode_ = TimingMode::eager;
  std::vector<double> first_us_;      // [candidate]: median of the first race
  Measure rounds_ = Measure::rounds;  // of the last race in rounds
  RoundTally tally_;                  // of all races in rounds

 private:
  void leave_out_disturbed(RaceResult& result);
  void tell_samples(const RowLaunch& entry, const std::vector<double>& us);

  int races_ = 0;
};

/// The costs that `objective` counts, from the times us[contender][pass] of blocks: for speed the times, for energy the
/// joules, NaN where the power is unknown.
std::vector<std::vector<double>> costs_of(Objective objective, const std::vector<std::vector<double>>& us,
                                          const std::vector<BlockReport>& blocks);

}  // namespace hotgemm
