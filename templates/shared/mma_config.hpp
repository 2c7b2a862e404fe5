#pragma once

#include "shared/arch_limits.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"

namespace hotgemm {

/// A variant of the `mma` family (templates/mma.cuh).
struct MmaConfig {
  int block_m = 128;
  int block_n = 128;
  int block_k = 32;
  int warps_m = 2;
  int warps_n = 2;
  int stages = 3;            ///< shared-memory tiles in flight
  bool swizzle = true;       ///< XOR swizzle of chunks, or padded rows
  int fragment_buffers = 2;  ///< 2: fragments of the next k-step are loaded while this one's products run
  bool staged_store = true;  ///< D goes through shared memory to 16-byte stores, or directly from registers
  int blocks_per_sm = 1;     ///< resident blocks that the register budget must allow

  /// The one list of fields: equality, name, database text and rendering all come from it.
  template <class Config, class Visit>
  static constexpr void visit_fields(Config& config, Visit&& visit) {
    visit("block_m", "m", config.block_m);
    visit("block_n", "n", config.block_n);
    visit("block_k", "k", config.block_k);
    visit("warps_m", "wm", config.warps_m);
    visit("warps_n", "wn", config.warps_n);
    visit("stages", "s", config.stages);
    visit("swizzle", "x", config.swizzle);
    visit("fragment_buffers", "f", config.fragment_buffers);
    visit("staged_store", "e", config.staged_store);
    visit("blocks_per_sm", "b", config.blocks_per_sm);
  }
  friend constexpr bool operator==(const MmaConfig&, const MmaConfig&) = default;

  constexpr int threads() const { return warps_m * warps_n * kWarpSize; }
  constexpr int warp_m() const { return block_m / warps_m; }
  constexpr int warp_n() const { return block_n / warps_n; }

  /// The shared-memory tile of an operand: rows along the strided dimension, chunks along the contiguous one.
  constexpr TileLayout operand_tile(int outer, bool k_major) const {
    return k_major ? TileLayout{outer, block_k / 8, swizzle} : TileLayout{block_k, outer / 8, swizzle};
  }
  constexpr TileLayout a_tile(const GemmTraits& t) const { return operand_tile(block_m, t.a_is_k_major()); }
  constexpr TileLayout b_tile(const GemmTraits& t) const { return operand_tile(block_n, t.b_is_k_major()); }
  constexpr int stage_bytes(const GemmTraits& t) const { return a_tile(t).bytes() + b_tile(t).bytes(); }

  /// The output tile on its way to 16-byte stores: padded rows, reusing the pipeline's memory.
  constexpr TileLayout d_tile() const { return TileLayout{block_m, block_n / 8, false}; }

  constexpr int smem_bytes(const GemmTraits& t) const {
    return max_of(stages * stage_bytes(t), staged_store ? d_tile().bytes() : 0);
  }
  /// 32-bit registers that hold one thread's part of the output tile.
  constexpr int accumulator_registers(const GemmTraits& t) const {
    return warp_m() * warp_n() / kWarpSize / (t.accumulator == DType::f16 ? 2 : 1);
  }
  /// Registers of the fragments that live at once: two k-steps' worth, or A's and two loads of B's.
  constexpr int fragment_registers() const {
    const int a = warp_m() / kMmaM * 4, b = warp_n() / kMmaN * 2;
    return fragment_buffers == 2 ? 2 * (a + b) : a + 8;
  }
};

constexpr bool is_legal(const MmaConfig& c, const GemmTraits& t, const ArchLimits& arch) {
  if (!arch.has_cp_async) return false;
  if (t.element != DType::f16 && t.element != DType::bf16) return false;
  if (t.accumulator == DType::bf16) return false;
  if (t.accumulator == DType::f16 && t.element != DType::f16) return false;  // no such instruction
  if (c.warps_m < 1 || c.warps_n < 1 || c.threads() > kMaxThreadsPerBlock) return false;
  if (c.block_m < 16 || c.block_n < 16 || c.block_m > 512 || c.block_n > 512) return false;
  if (c.block_m % (c.warps_m * kMmaM) != 0) return false;
  if (c.block_n % (c.warps_n * 2 * kMmaN) != 0) return false;  // ldmatrix.x4 reads B for two instructions
  if (c.block_k < 2 * kMmaK || c.block_k > 128 || c.block_k % kMmaK != 0) return false;
  if (c.stages < 2 || c.stages > 5) return false;
  if (c.fragment_buffers < 1 || c.fragment_buffers > 2) return false;
  if (c.blocks_per_sm < 1 || c.blocks_per_sm > 4) return false;
  if (c.smem_bytes(t) > arch.smem_per_block_bytes) return false;
  if (c.blocks_per_sm * (c.smem_bytes(t) + kReservedSmemPerBlockBytes) > arch.smem_per_sm_bytes) return false;
  if (c.blocks_per_sm * c.threads() > arch.threads_per_sm) return false;
  // What must live at once: accumulators, fragments, and addresses and loop state. Of the configs with fewer than 28
  // registers for the latter nineteen in twenty spill; of the others one in fifteen.
  // Each of an SM's four partitions has a quarter of its registers, so warps count in fours.
  const int warps = div_up(c.warps_m * c.warps_n, 4) * 4 * c.blocks_per_sm;
  const int budget = min_of(kMaxRegistersPerThread, arch.registers_per_sm / (warps * kWarpSize) / 8 * 8);
  return c.accumulator_registers(t) + c.fragment_registers() + 28 <= budget;
}

}  // namespace hotgemm
