#pragma once

#include "shared/arch_limits.hpp"

#include <string>
#include <string_view>

namespace hotgemm {

/// What a block takes of an SM.
struct BlockResources {
  int threads = 0;
  int registers = 0;   ///< per thread, as compiled; 0 where that is not known yet: they then bind nothing
  int smem_bytes = 0;  ///< dynamic and static, without what the driver reserves
};

/// What binds: with a little less of it, more blocks would be resident. In the order in which they are named when
/// several bind alike.
enum class OccupancyLimit { shared_memory, registers, threads, blocks };
/// "shared memory", "registers", "threads", "blocks".
std::string_view to_string(OccupancyLimit limit);

struct Occupancy {
  int blocks_per_sm = 0;  ///< resident at once; 0: the block cannot be launched
  int warps_per_sm = 0;
  int most_warps = 0;  ///< that an SM has room for
  OccupancyLimit limit = OccupancyLimit::blocks;

  friend bool operator==(const Occupancy&, const Occupancy&) = default;
};

/// How many blocks an SM of `arch` holds at once, by the rules of NVIDIA's occupancy calculator: registers are given to
/// warps in units of 256, to each quarter of the SM its own; shared memory to blocks in units of 128 bytes (256 on
/// sm_75), and from sm_80 on with 1 KiB for the driver. The SM is taken to give shared memory all that it can.
Occupancy occupancy(const BlockResources& block, const ArchLimits& arch);

/// Blocks of whatever size that an SM of compute capability `sm` holds at most. Of an architecture in kArchTable.
int most_blocks_per_sm(int sm);

/// The limit that a block exceeds by itself, with both numbers; empty if an SM of `arch` has room for it.
std::string exceeded_limit(const BlockResources& block, const ArchLimits& arch);

}  // namespace hotgemm
