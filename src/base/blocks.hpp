#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// Blocks: a contender runs alone for a while, and only the end of that while counts. The decisions about blocks, from
// times. Pure and deterministic.

namespace hotgemm {

/// The measure of a speed (docs/measuring.md).
enum class Measure {
  rounds,     ///< all contenders side by side, in rounds of milliseconds; they share one clock
  behind,     ///< the same, each launch behind a kernel that is not a contender's, whose time is taken off
  modelled,   ///< rounds, whose times a model of the power cap weighs by the energy of each contender
  sustained,  ///< each contender alone, in blocks; each has the clock that it leaves itself
};
constexpr std::string_view to_string(Measure measure) {
  switch (measure) {
    case Measure::rounds: return "rounds";
    case Measure::behind: return "rounds behind a kernel";
    case Measure::modelled: return "rounds and the power model";
    case Measure::sustained: break;
  }
  return "sustained";
}

/// The time constant of the loop by which the GPU adapts its clock to the power cap.
inline constexpr double kClockTimeConstantS = 0.05;

/// The time at the start of a block that does not count: five time constants, but at least a quarter of a second.
constexpr double settle_seconds(double time_constant_s = kClockTimeConstantS) {
  return std::max(0.25, 5 * time_constant_s);
}

/// The part of a block that counts. At the power cap of an H200 the clock dips every 0.85 to 0.9 s, for 0.2 to 0.3 s
/// (docs/notebook/search.md, 3): one period and a little. Shorter parts are off by several percent, as they happen to
/// meet a dip or not.
inline constexpr double kCountedS = 1.0;

/// The lengths of blocks.
struct BlockLengths {
  double load_s = 0;                   ///< work before the first block, which does not count
  double settle_s = settle_seconds();  ///< at the start of each block, does not count
  double counted_s = kCountedS;
  friend bool operator==(const BlockLengths&, const BlockLengths&) = default;
};

/// The time of a block, without load.
constexpr double block_seconds(const BlockLengths& lengths) { return lengths.settle_s + lengths.counted_s; }

/// The order of `sides` blocks in pass `pass`: forwards in even passes, backwards in odd ones, as in AB BA AB. A drift
/// that is linear in time then favours no side.
std::vector<std::size_t> block_order(std::size_t sides, int pass);

/// The part of a block that counts.
struct CountedPart {
  double us = 0;              ///< per launch
  double first_half_us = 0;   ///< per launch
  double second_half_us = 0;  ///< per launch
};

/// The part of a block that counts, or nothing while the block is too short. `ends_us` are the times at which the
/// batches of the block ended, from the start of the block; each batch has `launches` launches. The part begins at the
/// first end after the settling time. It has at least two batches.
std::optional<CountedPart> counted_part(std::span<const double> ends_us, int launches, const BlockLengths& lengths);

/// True if the halves differ by more than 10 %: the clock had not settled, or other work disturbed the block. A dip of
/// the power loop in one of the halves makes them differ by several percent.
bool is_drifting(const CountedPart& part);

/// Decides which blocks are repeated. A block that drifts or was throttled is repeated up to `per_block` times, and all
/// blocks together up to `in_all` times; then the last one is kept.
class BlockRepeats {
 public:
  BlockRepeats(int per_block, int in_all) : per_block_(per_block), left_(in_all) {}

  enum class Answer { keep, keep_unsteady, repeat };
  Answer judge(const CountedPart& part, bool is_throttled);

 private:
  int per_block_;
  int left_;
  int tries_ = 0;  // of the current block
};

/// The lengths of blocks that narrow a choice down. They settle for three time constants: what is left of the fast loop
/// changes the mean over a second by less than the slow loop does.
constexpr BlockLengths choice_lengths(double time_constant_s = kClockTimeConstantS) {
  return {.settle_s = 3 * time_constant_s};
}

/// The blocks of a final: each contender has one, then each leader has another one.
struct BlockFinal {
  std::size_t contenders = 0;
  std::size_t leaders = 0;
  friend bool operator==(const BlockFinal&, const BlockFinal&) = default;
};

/// The final over at most `contenders` that takes about `seconds`. A leader is counted with `per_leader` blocks. Little
/// time makes contenders fewer, down to three, and not blocks shorter (docs/notebook/search.md, 5).
BlockFinal block_final(std::size_t contenders, std::size_t per_leader, double seconds);

}  // namespace hotgemm
