#pragma once

#include "gpu/stopwatch.hpp"

namespace hotgemm {

/// Times each of `contenders` alone, in blocks (base/blocks.hpp): what race() does if its options have blocks. It uses
/// mode, sets, rounds, max_launches, deadline, is_cancelled, on_step and blocks of the options. A round is a pass: a
/// block of each contender, in the order given or, in every second pass, in the opposite order.
///
/// Before the first block the GPU works for blocks->load_s, and from then on it is never idle: batches of launches are
/// queued ahead, and the next block's batches before the last block's have run. In graph mode a batch is a replay.
///
/// A block that drifts, or that something other than the power cap slowed, is repeated at most twice, and in all at
/// most once for each pass. After the deadline no block starts; a block that would end after it does not start either,
/// except in the first pass.
RaceResult run_blocks(const Driver& driver, CUstream stream, std::span<const Contender> contenders,
                      const RaceOptions& options);

}  // namespace hotgemm
