#pragma once

#include <cstddef>
#include <span>
#include <vector>

// The decisions of successive halving, from samples of times: us[contender][round], NaN where a contender did not run.
// Pure and deterministic.

namespace hotgemm {

/// Times that differ by less than this share count as equal.
inline constexpr double kTie = 0.005;
/// A disturbed round takes the incumbent longer than this times its median, and longer by kLeastNoiseUs.
inline constexpr double kDisturbed = 1.25;
/// The interquartile range of the incumbent's times, as a part of their median, above which a race is unsteady.
inline constexpr double kMostSpread = 0.2;
/// Times behind a kernel are differences, and spread by some tenths of a microsecond on an idle GPU.
inline constexpr double kLeastNoiseUs = 0.5;

struct RankedContender {
  std::size_t contender = 0;
  double ratio = 1;  ///< its time / the incumbent's: the median over the rounds that both ran; below 1 is faster
};

/// The contenders that were timed, fastest first; equal ones keep their order. Contender 0 is the incumbent; if it has
/// no samples, the contender with the least median is.
std::vector<RankedContender> rank_contenders(std::span<const std::vector<double>> us);

/// A contender slower than the best by this factor gets no second launch.
inline constexpr double kAbandonRatio = 2;

/// The number of contenders in `placed` that go on: the faster half, but at least `least`, and none whose ratio is more
/// than `drop_ratio` times the fastest one's.
std::size_t survivors(std::span<const RankedContender> placed, std::size_t least, double drop_ratio);

/// The number of contenders at the front of `placed` that are tied with the first one, itself included.
std::size_t tied(std::span<const RankedContender> placed);

/// True for each round in which other work on the GPU disturbed the race: the incumbent took more than kDisturbed times
/// its median, and kLeastNoiseUs more. Its times are NaN in rounds that it did not run.
std::vector<bool> disturbed_rounds(std::span<const double> incumbent_us);

/// True if the incumbent's times spread so far that something disturbs all rounds: the quartiles lie further apart than
/// kMostSpread of the median, and than kLeastNoiseUs. Fewer than four samples say nothing.
bool is_unsteady(std::span<const double> incumbent_us);

/// The rounds of races, and those of them that were left out because other work on the GPU disturbed them.
struct RoundTally {
  int done = 0;
  int disturbed = 0;

  /// True if more than a third was left out.
  bool is_disturbed() const { return 3 * disturbed > done; }
};

/// True if more samples would hardly change the pick: for every contender, the 95 % interval of its ratio to the
/// fastest lies either beyond a tie, or within two ties on both sides.
bool is_decided(std::span<const std::vector<double>> us, std::span<const RankedContender> placed);

}  // namespace hotgemm
