#pragma once

#include "shared/arch_limits.hpp"

#include <string>
#include <string_view>

namespace hotgemm {

/// The resources of an SM that a block uses.
struct BlockResources {
  int threads = 0;
  int registers = 0;   ///< per thread, as compiled; 0 if not known yet: registers are then no limit
  int smem_bytes = 0;  ///< dynamic and static, without the bytes that the driver reserves
};

/// The resource that limits the number of resident blocks: with slightly less use of it, more blocks would fit. The
/// order is that in which resources are named if several are limits.
enum class OccupancyLimit { shared_memory, registers, threads, blocks };
/// The name of the limit: "shared memory", "registers", "threads" or "blocks".
std::string_view to_string(OccupancyLimit limit);

struct Occupancy {
  int blocks_per_sm = 0;  ///< resident blocks at once; 0: the block cannot be launched
  int warps_per_sm = 0;
  int most_warps = 0;  ///< the most warps that an SM can hold
  OccupancyLimit limit = OccupancyLimit::blocks;

  friend bool operator==(const Occupancy&, const Occupancy&) = default;
};

/// The number of blocks that an SM of `arch` holds at once, by the rules of NVIDIA's occupancy calculator. Warps get
/// registers in units of 256, and each quarter of the SM has its own registers. Blocks get shared memory in units of
/// 128 bytes (256 on sm_75), from sm_80 on plus 1 KiB for the driver. The SM is assumed to be configured for the most
/// shared memory.
Occupancy occupancy(const BlockResources& block, const ArchLimits& arch);

/// The most blocks, of any size, that an SM of compute capability `sm` holds. `sm` must be an architecture of
/// kArchTable.
int most_blocks_per_sm(int sm);

/// The limit that one block alone exceeds, with both numbers; empty if an SM of `arch` can hold the block.
std::string exceeded_limit(const BlockResources& block, const ArchLimits& arch);

}  // namespace hotgemm
