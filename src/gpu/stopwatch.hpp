#pragma once

#include "gpu/driver.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

enum class TimingMode {
  eager,  ///< launches, one by one: what a program without graphs gets. Below about 20 µs the host's part shows.
  graph,  ///< replays of a captured graph: the GPU's part alone
};

/// "eager", "graph".
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
  int rounds = 7;            ///< at most; fewer when the deadline comes first
  double round_us = 2000;    ///< GPU time that each contender gets per round, but at least one launch (graph: 20)
  double warm_up_us = 0;     ///< after the start, in which rounds' times are forgotten
  int max_launches = 4096;   ///< of one contender per round
  std::uint64_t seed = 1;    ///< of the order within rounds
  double abandon_ratio = 0;  ///< if positive, contenders slower than this times the best median so far are dropped
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Asked before each step: true ends the race as the deadline does. May be empty.
  std::function<bool()> is_cancelled;
  /// Called before each step with the index of the contender that it runs, kSeveral for a round. May be empty.
  std::function<void(std::size_t contender)> on_step;
  static constexpr std::size_t kSeveral = static_cast<std::size_t>(-1);
};

/// A GPU that has idled begins at clocks that its power limit takes from it within tens of milliseconds, and which of
/// two kernels is faster may change with them (docs/notebook/search.md). Those that graphs are for do not come to the
/// limit.
inline constexpr double kWarmUpUs = 100'000;

/// The failure of a contender that the deadline left no time for.
inline constexpr std::string_view kNoTimeLeft = "not timed: no time was left";

struct RaceResult {
  std::vector<std::vector<double>> us;  ///< [contender][round]: µs per launch; NaN in rounds that it did not run
  std::vector<std::string> failures;    ///< [contender]: why it was not, or no longer, timed; empty for a sound one
  int rounds_done = 0;
};

/// Times `contenders` against each other on `stream` (not the legacy default stream when the mode is graph).
///
/// Each is launched once and waited for, then its time is estimated, and from that follows the number of launches per
/// round: the same for all if their times are within a factor of two. A round runs a batch of every live contender, in
/// shuffled order, between two events; the GPU does not idle from a round's start to its end, so that clocks and
/// temperature are the same for all. (Eager launches so short that the host limits them are the exception: there each
/// batch starts on an idle GPU, since a backlog left by the one before would hide the cost of launching.)
///
/// A contender that fails to launch is dropped and its failure told; one that is abandoned as too slow keeps the
/// samples it has and is no failure. After the deadline no round starts, and none that by its estimate would end after
/// it except the first; what warms up leaves time for two. Throws Error{context_lost} when an error has made the
/// context unusable, and other driver errors that are no contender's own.
RaceResult race(const Driver& driver, CUstream stream, std::span<const Contender> contenders,
                const RaceOptions& options);

}  // namespace hotgemm
