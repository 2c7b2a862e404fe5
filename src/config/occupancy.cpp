#include "config/occupancy.hpp"

#include "shared/fragment.hpp"
#include "shared/tile_layout.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::array<std::string_view, 4> kLimitWords = {"shared memory", "registers", "threads", "blocks"};
constexpr int kPartitions = 4;      // quarters of an SM, each with a quarter of its registers
constexpr int kRegisterUnit = 256;  // registers that a warp gets at a time
constexpr int kUnlimited = std::numeric_limits<int>::max();

// The most blocks per SM by compute capability, from the technical specifications in the CUDA C++ Programming Guide.
constexpr std::pair<int, int> kMostBlocks[] = {
    {75, 16}, {80, 32}, {86, 16}, {87, 16}, {89, 24}, {90, 32}, {100, 32}, {103, 32}, {110, 24}, {120, 24}, {121, 24},
};

constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

int warps_of(const BlockResources& block) { return div_up(block.threads, kWarpSize); }
int registers_of_a_warp(const BlockResources& block) { return round_up(block.registers * kWarpSize, kRegisterUnit); }

/// The registers that must be free for a launch wherever its warps go: as if each quarter got the same number of warps.
int registers_of(const BlockResources& block) {
  return registers_of_a_warp(block) * round_up(warps_of(block), kPartitions);
}

int smem_of(const BlockResources& block, const ArchLimits& arch) {
  const bool is_turing = arch.sm == 75;
  return round_up(block.smem_bytes + (is_turing ? 0 : kReservedSmemPerBlockBytes), is_turing ? 256 : 128);
}

int blocks_by_registers(const BlockResources& block, const ArchLimits& arch) {
  if (block.registers == 0) return kUnlimited;
  if (registers_of(block) > arch.registers_per_sm) return 0;
  const int warps = arch.registers_per_sm / kPartitions / registers_of_a_warp(block) * kPartitions;
  return warps / warps_of(block);
}

int blocks_by_smem(const BlockResources& block, const ArchLimits& arch) {
  const int bytes = smem_of(block, arch);
  return bytes == 0 ? kUnlimited : arch.smem_per_sm_bytes / bytes;
}

}  // namespace

std::string_view to_string(OccupancyLimit limit) { return kLimitWords[static_cast<std::size_t>(limit)]; }

int most_blocks_per_sm(int sm) { return std::ranges::find(kMostBlocks, sm, &std::pair<int, int>::first)->second; }

Occupancy occupancy(const BlockResources& block, const ArchLimits& arch) {
  const std::array<int, 4> by_limit = {blocks_by_smem(block, arch), blocks_by_registers(block, arch),
                                       arch.threads_per_sm / kWarpSize / warps_of(block), most_blocks_per_sm(arch.sm)};
  const auto* const least = std::ranges::min_element(by_limit);
  return {.blocks_per_sm = *least,
          .warps_per_sm = *least * warps_of(block),
          .most_warps = arch.threads_per_sm / kWarpSize,
          .limit = static_cast<OccupancyLimit>(least - by_limit.begin())};
}

std::string exceeded_limit(const BlockResources& block, const ArchLimits& arch) {
  const auto beyond = [](const std::string& what, int wanted, const std::string& of, int most) {
    return what + ": " + std::to_string(wanted) + " " + of + ", " + std::to_string(most) + " at most";
  };
  if (block.threads > kMaxThreadsPerBlock) return beyond("threads", block.threads, "per block", kMaxThreadsPerBlock);
  if (block.smem_bytes > arch.smem_per_block_bytes)
    return beyond("shared memory", block.smem_bytes, "bytes per block", arch.smem_per_block_bytes);
  if (block.registers > kMaxRegistersPerThread)
    return beyond("registers", block.registers, "per thread", kMaxRegistersPerThread);
  if (registers_of(block) > arch.registers_per_sm) {
    return "registers: " + std::to_string(block.registers) + " for each of " + std::to_string(block.threads) +
           " threads take " + std::to_string(registers_of(block)) + ", an SM has " +
           std::to_string(arch.registers_per_sm);
  }
  return {};
}

}  // namespace hotgemm
