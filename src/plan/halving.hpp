#pragma once

#include <cstddef>
#include <span>
#include <vector>

// The decisions of successive halving, from samples of times: us[contender][round], NaN where a contender did not run.
// Pure and deterministic.

namespace hotgemm {

/// Differences below this are none.
inline constexpr double kTie = 0.005;

struct RankedContender {
  std::size_t contender = 0;
  double ratio = 1;  ///< its time / the incumbent's, the median over rounds that both ran: below 1 is faster
};

/// Those that were timed, fastest first; equals keep their order. Contender 0 is the incumbent; if it has no samples,
/// the one with the least median is.
std::vector<RankedContender> rank_contenders(std::span<const std::vector<double>> us);

/// How many of `placed` go on: the faster half, but at least `least`, and none that is slower than the fastest by a
/// factor of more than `drop_ratio`.
std::size_t survivors(std::span<const RankedContender> placed, std::size_t least, double drop_ratio);

/// How many of `placed`, from the first one, are tied with it.
std::size_t tied(std::span<const RankedContender> placed);

/// Whether more samples would hardly change the pick: the 95 % interval of every contender's ratio to the fastest lies
/// beyond a tie, or within twice a tie on both sides.
bool is_decided(std::span<const std::vector<double>> us, std::span<const RankedContender> placed);

}  // namespace hotgemm
