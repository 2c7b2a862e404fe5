#pragma once

#include "plan/halving.hpp"
#include "plan/power_model.hpp"
#include "tune/candidate.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace hotgemm {

/// A candidate, as an index into the candidates, with one of its rasters: an entry of a race.
struct RowLaunch {
  std::size_t candidate;
  LaunchConfig launch;
};

/// The entries that were placed, in this order.
std::vector<RowLaunch> in_order(std::span<const RowLaunch> entries, std::span<const RankedContender> placed);

/// The index of the entry to pick among those `tied`. A programmatic launch goes first: in a chain of kernels that give
/// an early start, as ours do, it gains more than where it was timed. Then comes the config whose name is first, and of
/// its entries the one with the default raster, or else the one whose raster's name is first. The choice is then the
/// same in every run and on every rank, whatever the noise is.
std::size_t pick_among_tied(std::span<const Candidate> candidates, std::span<const RowLaunch> entries,
                            std::span<const RankedContender> tied);

/// The entries, best first, followed by each of them with every other raster that may change its time on a GPU with
/// `sm_count` SMs.
std::vector<RowLaunch> with_rasters(std::span<const Candidate> candidates, std::span<const RowLaunch> entries,
                                    const Workload& problem, int sm_count);

/// The entries, best first, followed by each of them as a programmatic launch in the same raster, if it may be one.
std::vector<RowLaunch> with_programmatic(std::span<const Candidate> candidates, std::span<const RowLaunch> entries,
                                         const Workload& problem, int sm_count);

/// Up to `count` entries for a final over blocks. Half of them are `leaders`, the fastest in rounds, and then the
/// fastest of `timed`; the others are those of `timed` to which the model `cost` gives the least cost. Each candidate
/// is there once. `us` are the times of the candidates in one race, since only times of one race are at one clock; a
/// candidate without a time has 0 or NaN.
std::vector<RowLaunch> entries_for_blocks(std::span<const Candidate> candidates, std::span<const RowLaunch> leaders,
                                          std::vector<RowLaunch> timed, std::span<const double> us,
                                          const Workload& problem, std::size_t count, PowerCost cost = capped_time);

/// The entries for a final in rounds that capped_times ranks, best first: up to `count` candidates of `timed` that the
/// model expects to be the fastest under the power cap, and candidate 0, which the estimate picks. `us` is as above.
std::vector<RowLaunch> entries_for_model(std::span<const Candidate> candidates, std::vector<RowLaunch> timed,
                                         std::span<const double> us, const Workload& problem, std::size_t count);

/// The times us[entry][round] of a race in rounds as the model expects them alone under the power cap, relative to each
/// other. The ones of an entry that needs too many clocks (kMostClocks) are NaN.
std::vector<std::vector<double>> capped_times(std::span<const Candidate> candidates, std::span<const RowLaunch> entries,
                                              std::vector<std::vector<double>> us, const Workload& problem);

}  // namespace hotgemm
