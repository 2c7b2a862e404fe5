#pragma once

#include "shared/arch_limits.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/rung_tag.hpp"
#include "shared/tile_layout.hpp"

namespace hotgemm {

// The ways of storing a block's results to D (MmaConfig::store).
inline constexpr int kDirectStore = 0;    // each pair directly from registers
inline constexpr int kStagedStore = 1;    // through shared memory, then in 16-byte stores
inline constexpr int kShuffledStore = 2;  // lanes exchange pairs until each has 16 bytes of a row, then store

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
  int store = kStagedStore;
  int blocks_per_sm = 1;  ///< resident blocks that the register budget must allow

  bool async_copy = true;  ///< operands are copied by cp.async, or through registers
  bool padded = true;      ///< rows that are not swizzled are padded, or plain
  int b_matrices = 4;      ///< 8×8 matrices that one ldmatrix of B loads: 4, or 2, which are one product's columns
  bool serpentine = true;  ///< products walk the columns back and forth, or always forward

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
    visit("store", "e", config.store);
    visit("blocks_per_sm", "b", config.blocks_per_sm);
    visit("async_copy", RungTag{"a", 1}, config.async_copy);
    visit("padded", RungTag{"p", 1}, config.padded);
    visit("b_matrices", RungTag{"l", 4}, config.b_matrices);
    visit("serpentine", RungTag{"z", 1}, config.serpentine);
  }
  friend constexpr bool operator==(const MmaConfig&, const MmaConfig&) = default;

  constexpr int threads() const { return warps_m * warps_n * kWarpSize; }
  constexpr int warp_m() const { return block_m / warps_m; }
  constexpr int warp_n() const { return block_n / warps_n; }
  /// Columns that one ldmatrix of B loads.
  constexpr int load_n() const { return b_matrices / 2 * kMmaN; }
  /// b_warp_step: columns from a warp's first to the next warp's first. b_load_step: columns from one load to the next
  /// of the same warp. With four matrices, warps take 16 columns in turn. With two, the columns of each warp are side
  /// by side.
  constexpr int b_warp_step() const { return b_matrices == 4 ? load_n() : warp_n(); }
  constexpr int b_load_step() const { return b_matrices == 4 ? load_n() * warps_n : load_n(); }

  /// The shared-memory tile of an operand: rows along the strided dimension, chunks along the contiguous one.
  constexpr TileLayout operand_tile(int outer, bool k_major) const {
    return k_major ? TileLayout{outer, block_k / 8, swizzle, padded} : TileLayout{block_k, outer / 8, swizzle, padded};
  }
  constexpr TileLayout a_tile(const GemmTraits& t) const { return operand_tile(block_m, t.a_is_k_major()); }
  constexpr TileLayout b_tile(const GemmTraits& t) const { return operand_tile(block_n, t.b_is_k_major()); }
  constexpr int stage_bytes(const GemmTraits& t) const { return a_tile(t).bytes() + b_tile(t).bytes(); }

  /// The output tile in shared memory before its 16-byte stores: padded rows, in the memory of the pipeline.
  constexpr TileLayout d_tile() const { return TileLayout{block_m, block_n / 8, false}; }

  constexpr int smem_bytes(const GemmTraits& t) const {
    return max_of(stages * stage_bytes(t), store == kStagedStore ? d_tile().bytes() : 0);
  }
  /// 32-bit registers that hold one thread's part of the output tile.
  constexpr int accumulator_registers(const GemmTraits& t) const {
    return warp_m() * warp_n() / kWarpSize / (t.accumulator == DType::f16 ? 2 : 1);
  }
  /// True if B's fragments are loaded one ldmatrix ahead of their use, instead of all at once for a k-step.
  constexpr bool streams_b() const { return fragment_buffers == 1 && serpentine; }
  /// Registers of the fragments that are live at once: those of one or two k-steps, or those of A and of two loads of
  /// B.
  constexpr int fragment_registers() const {
    const int a = warp_m() / kMmaM * 4, b = warp_n() / kMmaN * 2;
    return streams_b() ? a + 2 * b_matrices : fragment_buffers * (a + b);
  }
};

constexpr bool is_legal(const MmaConfig& c, const GemmTraits& t, const ArchLimits& arch) {
  if (!arch.has_cp_async) return false;
  if (t.element != DType::f16 && t.element != DType::bf16) return false;
  if (t.accumulator == DType::bf16) return false;
  if (t.accumulator == DType::f16 && t.element != DType::f16) return false;  // no such instruction
  if (c.warps_m < 1 || c.warps_n < 1 || c.threads() > kMaxThreadsPerBlock) return false;
  if (c.b_matrices != 2 && c.b_matrices != 4) return false;
  if (c.block_m < 16 || c.block_n < 8 || c.block_m > 512 || c.block_n > 512) return false;
  if (c.block_m % (c.warps_m * kMmaM) != 0) return false;
  if (c.block_n % (c.warps_n * c.load_n()) != 0) return false;  // ldmatrix.x4 reads B for two instructions
  if (c.fragment_buffers < 1 || c.fragment_buffers > 2) return false;
  // The fragments of the next k-step belong to this k-tile, or to the next k-tile behind its barrier.
  if (c.block_k < c.fragment_buffers * kMmaK || c.block_k > 128 || c.block_k % kMmaK != 0) return false;
  if (c.stages < c.fragment_buffers || c.stages > 5) return false;
  if (!c.async_copy && c.stages != 1) return false;  // registers are stored at once, so nothing would be in flight
  if (c.swizzle && !c.padded) return false;          // this combination has no meaning
  if (c.store < kDirectStore || c.store > kShuffledStore) return false;
  if (c.blocks_per_sm < 1 || c.blocks_per_sm > 4) return false;
  if (c.smem_bytes(t) > arch.smem_per_block_bytes) return false;
  if (c.blocks_per_sm * (c.smem_bytes(t) + kReservedSmemPerBlockBytes) > arch.smem_per_sm_bytes) return false;
  if (c.blocks_per_sm * c.threads() > arch.threads_per_sm) return false;
  // Registers that are live at once: accumulators, fragments, addresses and loop state. With fewer than 28 registers
  // for addresses and loop state, nineteen in twenty configs spill; with more, one in fifteen.
  return c.accumulator_registers(t) + c.fragment_registers() + 28 <=
         register_budget(arch.registers_per_sm, c.threads(), c.blocks_per_sm);
}

}  // namespace hotgemm
