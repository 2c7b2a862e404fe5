#pragma once

#include "base/blocks.hpp"
#include "base/clock_state.hpp"
#include "gpu/driver.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

enum class TimingMode {
  eager,  ///< launches one by one, as in a program without graphs; below about 20 µs the time of the host shows
  graph,  ///< replays of a captured graph: the time of the GPU alone
};

/// The name of the mode: "eager" or "graph".
std::string_view to_string(TimingMode mode);

/// Enqueues one launch on `stream`, on operand set `set`. Throws Error.
using Launch = std::function<void(CUstream stream, int set)>;

struct Contender {
  std::string name;
  Launch launch;
};

struct RaceOptions {
  TimingMode mode = TimingMode::eager;
  int sets = 1;              ///< operand sets, at least 1; consecutive launches take consecutive sets
  bool sets_differ = false;  ///< launches on other sets take other times: each batch takes all sets equally often
  int rounds = 7;            ///< the largest number of rounds; the deadline may end the race earlier
  double round_us = 2000;    ///< GPU time per contender and round, but at least one launch (graph: 20)
  double warm_up_us = 0;     ///< time after the start during which the samples of rounds are discarded
  int max_launches = 4096;   ///< the largest number of launches per contender and round
  std::uint64_t seed = 1;    ///< seed of the shuffled order within rounds
  double abandon_ratio = 0;  ///< if positive, contenders slower than this times the best median so far are dropped
  /// If set, this launch precedes every launch of a contender, and its time is taken off: it is timed in every round
  /// too. So a programmatic launch gains nothing from the early trigger of its own kernel in the launch before it.
  /// Has no effect with `blocks`.
  Launch ahead;
  /// If set, each contender runs alone in blocks of these lengths, and rounds are passes over them (gpu/sustained.hpp).
  std::optional<BlockLengths> blocks;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Called before each step; true ends the race as the deadline does. May be empty.
  std::function<bool()> is_cancelled;
  /// Called before each step with the index of the contender that the step runs, or kSeveral for a round. May be empty.
  std::function<void(std::size_t contender)> on_step;
  static constexpr std::size_t kSeveral = static_cast<std::size_t>(-1);

  /// The least number of launches from `launches` on that takes all sets equally often.
  int whole_rotations(int launches) const { return (launches + sets - 1) / sets * sets; }
  /// The same if sets differ; else `launches`.
  int fair_launches(int launches) const { return sets_differ ? whole_rotations(launches) : launches; }
};

/// A GPU that was idle starts at high clocks, and its power limit lowers them within tens of milliseconds. The faster
/// of two kernels may change with the clocks (docs/notebook/search.md). Kernels short enough to be timed as graphs do
/// not reach the power limit.
inline constexpr double kWarmUpUs = 100'000;

/// The failure of a contender that was not timed because of the deadline.
inline constexpr std::string_view kNoTimeLeft = "not timed: no time was left";

/// The state of the GPU during the blocks of a contender.
struct BlockReport {
  ClockState clock;
  int unsteady = 0;  ///< blocks that were kept although they drifted or were throttled
};

struct RaceResult {
  std::vector<std::vector<double>> us;  ///< [contender][round]: µs per launch; NaN in rounds that it did not run
  std::vector<std::string> failures;    ///< [contender]: why its timing failed or ended early; empty without failure
  int rounds_done = 0;
  int rounds_disturbed = 0;         ///< rounds of which the measurer left samples out, because of other work on the GPU
  std::vector<BlockReport> blocks;  ///< [contender], if the options had blocks; else empty
  double power_limit_w = 0;         ///< the limit in force, if the options had blocks and the driver reports it; else 0
};

/// us[i] - ahead_us[i]; NaN where either is, or where nothing remains.
std::vector<double> times_without(std::span<const double> us, std::span<const double> ahead_us);

/// Times `contenders` against each other on `stream` (not the legacy default stream when the mode is graph).
///
/// Each contender is launched once and waited for, and then its time is estimated. The number of launches per round
/// follows from the estimate; it is the same for all if their times are within a factor of two. A round runs a batch of
/// every live contender, in shuffled order, between two events. The GPU is not idle during a round, so that clocks and
/// temperature are the same for all. (Eager launches that are so short that the host limits them are the exception.
/// There each batch starts on an idle GPU, because the backlog of the batch before would hide the cost of launching.)
///
/// A contender that fails to launch is dropped and its failure reported. A contender that is abandoned as too slow
/// keeps its samples and is not a failure. After the deadline no round starts. A round that would end after the
/// deadline by its estimate does not start either, except the first; the warm-up leaves time for two rounds. Throws
/// Error{context_lost} if an error has made the context unusable, and driver errors that no contender caused.
RaceResult race(const Driver& driver, CUstream stream, std::span<const Contender> contenders,
                const RaceOptions& options);

}  // namespace hotgemm
