#pragma once

#include "shared/arch_limits.hpp"
#include "shared/config_field.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"

namespace hotgemm {

// The ways of storing a block's results to D (MmaConfig::store).
inline constexpr int kDirectStore = 0;    // each pair directly from registers
inline constexpr int kStagedStore = 1;    // through shared memory, then in 16-byte stores
inline constexpr int kShuffledStore = 2;  // lanes exchange pairs until each has 16 bytes of a row, then store

/// The least width, in bytes, of the accesses to operands of other than 16 bits.
inline constexpr int kLeastWordBytes = 4;

/// A variant of the `mma` family (templates/mma.cuh). visit_fields says what the fields mean.
struct MmaConfig {
  int block_m = 128;
  int block_n = 128;
  int block_k = 32;
  int warps_m = 2;
  int warps_n = 2;
  int stages = 3;
  bool swizzle = true;
  int fragment_buffers = 2;
  int store = kStagedStore;
  int blocks_per_sm = 1;

  bool async_copy = true;
  bool padded = true;
  int b_matrices = 4;
  bool serpentine = true;
  bool recomputes = false;

  /// The one list of fields, with their meanings (config_field.hpp).
  template <class Config, class Visit>
  static constexpr void visit_fields(Config& config, Visit&& visit) {
    visit(ConfigField{"block_m", "m", FieldKind::tile, "rows of D that a block computes"}, config.block_m);
    visit(ConfigField{"block_n", "n", FieldKind::tile, "columns of D that a block computes"}, config.block_n);
    visit(ConfigField{"block_k", "k", FieldKind::pipeline, "length along k of the tiles in shared memory"},
          config.block_k);
    visit(ConfigField{"warps_m", "wm", FieldKind::tile, "warps that share the block's rows"}, config.warps_m);
    visit(ConfigField{"warps_n", "wn", FieldKind::tile, "warps that share the block's columns"}, config.warps_n);
    visit(ConfigField{"stages", "s", FieldKind::depth, "tiles of A and B in flight in shared memory"}, config.stages);
    visit(ConfigField{"swizzle", "x", FieldKind::pipeline,
                      "1: 16-byte chunks are permuted against bank conflicts, 0: rows are padded, or plain"},
          config.swizzle);
    visit(ConfigField{"fragment_buffers", "f", FieldKind::pipeline,
                      "2: the next step's fragments load while this step's products run"},
          config.fragment_buffers);
    visit(ConfigField{"store", "e", FieldKind::pipeline,
                      "1: D goes through shared memory to 16-byte stores, 0: straight from registers, 2: between lanes",
                      0},
          config.store);
    visit(ConfigField{"blocks_per_sm", "b", FieldKind::depth, "resident blocks that the register budget must allow"},
          config.blocks_per_sm);
    visit(AddedField{"async_copy", "a", FieldKind::rung, "1: operands are copied by cp.async, 0: through registers", 1},
          config.async_copy);
    visit(AddedField{"padded", "p", FieldKind::rung, "1: rows that are not swizzled are padded, 0: as they are", 1},
          config.padded);
    visit(AddedField{"b_matrices", "l", FieldKind::rung, "8x8 matrices that one ldmatrix of B loads", 4},
          config.b_matrices);
    visit(AddedField{"serpentine", "z", FieldKind::rung,
                     "1: products walk the columns back and forth, 0: always forward, all fragments loaded before", 1},
          config.serpentine);
    visit(AddedField{"recomputes", "rr", FieldKind::rung,
                     "1: addresses of copies are computed anew for each k-tile, to save registers, 0: they are kept", 0,
                     0},
          config.recomputes);
  }
  friend constexpr bool operator==(const MmaConfig&, const MmaConfig&) = default;

  /// The alignment in bytes that operands need: that of the least access by cp.async, but rows of 16-bit elements may
  /// also pass through registers.
  constexpr int operand_alignment(DType element) const { return size_bytes(element) == 2 ? 1 : kLeastWordBytes; }
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

  /// The length along k of one instruction.
  static constexpr int instruction_k(const GemmTraits& t) { return kMmaKBytes / size_bytes(t.element); }

  /// The shared-memory tile of an operand: rows along the strided dimension, chunks along the contiguous one.
  constexpr TileLayout operand_tile(const GemmTraits& t, int outer, bool k_major) const {
    const int elements = kChunkBytes / size_bytes(t.element);  // of a chunk
    return k_major ? TileLayout{outer, block_k / elements, swizzle, padded}
                   : TileLayout{block_k, outer / elements, swizzle, padded, read_along_rows(t.element)};
  }
  /// The way of reading a tile whose rows do not run along k.
  static constexpr TileRead read_along_rows(DType element) {
    const int bytes = size_bytes(element);
    return bytes == 1 ? TileRead::byte_pairs : bytes == 4 ? TileRead::words : TileRead::rows;
  }
  constexpr TileLayout a_tile(const GemmTraits& t) const { return operand_tile(t, block_m, t.a_is_k_major()); }
  constexpr TileLayout b_tile(const GemmTraits& t) const { return operand_tile(t, block_n, t.b_is_k_major()); }
  constexpr int stage_bytes(const GemmTraits& t) const { return a_tile(t).bytes() + b_tile(t).bytes(); }

  /// The output tile in shared memory before its 16-byte stores: padded rows, in the memory of the pipeline.
  constexpr TileLayout d_tile(const GemmTraits& t) const {
    return TileLayout{block_m, t.epilogue.columns_of_d(block_n) / 8, false};
  }

  constexpr int smem_bytes(const GemmTraits& t) const {
    return max_of(stages * stage_bytes(t), store == kStagedStore ? d_tile(t).bytes() : 0);
  }
  /// 32-bit registers that hold one thread's part of the output tile.
  constexpr int accumulator_registers(const GemmTraits& t) const {
    return warp_m() * warp_n() / kWarpSize / (4 / size_bytes(t.accumulator));
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

/// True if mma.sync of FP8 is made of instructions for f16, as precise as these and as slow. Other GPUs keep few bits
/// of a sum (docs/kernels/mma.md).
constexpr bool unpacks_fp8(const ArchLimits& arch) { return arch.sm >= 90 && arch.sm < 120; }

/// True if the family computes with these types. Tiles of other than 16 bits are filled by cp.async, at least four
/// bytes at a time.
constexpr bool has_mma_types(const GemmTraits& t, const ArchLimits& arch) {
  if (size_bytes(t.element) == 2) {
    // f16 sums of bf16: there is no such instruction.
    const bool has_sums = t.accumulator == DType::f32 || (t.accumulator == DType::f16 && t.element == DType::f16);
    return (t.element == DType::f16 || t.element == DType::bf16) && t.is_uniform() && has_sums;
  }
  if (!has_word_types(t)) return false;
  if (min_of(t.vec_a * size_bytes(t.element), t.vec_b * size_bytes(t.element_b)) < kLeastWordBytes) return false;
  // With scales of blocks, sums are promoted.
  return !is_fp8(t.element) || (arch.sm >= 89 && (t.fast_sums || unpacks_fp8(arch) || t.epilogue.has_block_scales()));
}

/// True if a thread can have both sums of an element of D. Of halves, the loads of B by a warp are in pairs.
constexpr bool has_legal_gate(const MmaConfig& c, Gate gate) {
  if (gate == Gate::none) return true;
  if (c.b_matrices != 4 || c.recomputes) return false;  // rungs
  return gate == Gate::halves ? c.warp_n() / c.load_n() % 2 == 0 : c.store != kShuffledStore;
}

constexpr bool is_legal(const MmaConfig& c, const GemmTraits& t, const ArchLimits& arch) {
  if (!arch.has_cp_async || !has_mma_types(t, arch)) return false;
  const bool has_scales = t.epilogue.has_block_scales();
  if (has_scales && kScaleBlock % c.block_k != 0) return false;  // k-tiles end where blocks do
  // The other ways to copy and to store are for 16 bits.
  if (size_bytes(t.element) != 2 && (!c.async_copy || c.store != kDirectStore)) return false;
  if (c.warps_m < 1 || c.warps_n < 1 || c.threads() > kMaxThreadsPerBlock) return false;
  if (c.b_matrices != 2 && c.b_matrices != 4) return false;
  // A chunk of bytes along n has the columns of two instructions.
  if (c.b_matrices == 2 && size_bytes(t.element) == 1 && !t.b_is_k_major()) return false;
  if (c.block_m < 16 || c.block_n < 8 || c.block_m > 512 || c.block_n > 512) return false;
  if (c.block_m % (c.warps_m * kMmaM) != 0) return false;
  if (c.block_n % (c.warps_n * c.load_n()) != 0) return false;  // ldmatrix.x4 reads B for two instructions
  if (c.fragment_buffers < 1 || c.fragment_buffers > 2) return false;
  // The fragments of the next k-step belong to this k-tile, or to the next k-tile behind its barrier.
  const int k_bytes = c.block_k * size_bytes(t.element);
  if (k_bytes < c.fragment_buffers * kMmaKBytes || k_bytes > 256 || k_bytes % kMmaKBytes != 0) return false;
  if (c.stages < c.fragment_buffers || c.stages > 5) return false;
  if (!c.async_copy && c.stages != 1) return false;  // registers are stored at once, so nothing would be in flight
  if (c.swizzle && !c.padded) return false;          // this combination has no meaning
  if (c.store < kDirectStore || c.store > kShuffledStore) return false;
  if (c.blocks_per_sm < 1 || c.blocks_per_sm > 4) return false;
  if (!has_legal_gate(c, t.epilogue.gate)) return false;
  const int smem = c.smem_bytes(t);
  if (smem > arch.smem_per_block_bytes) return false;
  if (c.blocks_per_sm * (smem + kReservedSmemPerBlockBytes) > arch.smem_per_sm_bytes) return false;
  if (c.blocks_per_sm * c.threads() > arch.threads_per_sm) return false;
  // FP8 is unpacked to fragments of f16, for all k-steps at once: kernels with more sums spill.
  if (is_fp8(t.element) && unpacks_fp8(arch) && c.accumulator_registers(t) > 32) return false;
  // Registers that are live at once: accumulators, fragments, addresses and loop state. With fewer than 28 registers
  // for addresses and loop state, nineteen in twenty configs spill; with more, one in fifteen.
  const int sums = c.accumulator_registers(t) * (has_scales ? 2 : 1);
  return sums + c.fragment_registers() + 28 + epilogue_registers(t) / 2 <=
         register_budget(arch.registers_per_sm, c.threads(), c.blocks_per_sm);
}

}  // namespace hotgemm
