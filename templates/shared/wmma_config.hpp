#pragma once

#include "shared/arch_limits.hpp"
#include "shared/config_field.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"
#include "shared/wmma_shape.hpp"

namespace hotgemm {

inline constexpr int kRegistersPerSm = 65536;  // on every architecture that has cp.async

/// A variant of the `wmma` family (templates/wmma.cuh). visit_fields says what the fields mean.
struct WmmaConfig {
  int block_m = 128;
  int block_n = 128;
  int block_k = 16;
  int warps_m = 4;
  int warps_n = 2;
  int fragment_m = 16;
  int stages = 1;
  bool async_copy = true;
  bool padded = true;
  int blocks_per_sm = 1;

  /// The one list of fields, with their meanings (config_field.hpp).
  template <class Config, class Visit>
  static constexpr void visit_fields(Config& config, Visit&& visit) {
    visit(ConfigField{"block_m", "m", FieldKind::tile, "rows of D that a block computes"}, config.block_m);
    visit(ConfigField{"block_n", "n", FieldKind::tile, "columns of D that a block computes"}, config.block_n);
    visit(ConfigField{"block_k", "k", FieldKind::pipeline, "length along k of the tiles in shared memory"},
          config.block_k);
    visit(ConfigField{"warps_m", "wm", FieldKind::tile, "warps that share the block's rows"}, config.warps_m);
    visit(ConfigField{"warps_n", "wn", FieldKind::tile, "warps that share the block's columns"}, config.warps_n);
    visit(ConfigField{"fragment_m", "fm", FieldKind::tile,
                      "rows of a product: 16, 32 or 8, of as many columns as make 256 sums"},
          config.fragment_m);
    visit(ConfigField{"stages", "s", FieldKind::depth,
                      "tiles of A and B in shared memory; 1: copies and products take turns, 0: fragments are loaded "
                      "from global memory, but for tiles that cross an edge",
                      0},
          config.stages);
    visit(ConfigField{"async_copy", "a", FieldKind::pipeline,
                      "1: operands are copied by cp.async, 0: through registers, in one stage"},
          config.async_copy);
    visit(
        ConfigField{
            "padded", "p", FieldKind::pipeline,
            "1: rows that would be a multiple of 32 bytes are 16 bytes longer, against bank conflicts, 0: as they are"},
        config.padded);
    visit(ConfigField{"blocks_per_sm", "b", FieldKind::depth, "resident blocks that the register budget must allow"},
          config.blocks_per_sm);
  }
  friend constexpr bool operator==(const WmmaConfig&, const WmmaConfig&) = default;

  /// The alignment in bytes that both operands have.
  static constexpr int vec_bytes(const GemmTraits& t) { return min_of(t.vec_a, t.vec_b) * size_bytes(t.element); }
  constexpr int threads() const { return warps_m * warps_n * kWarpSize; }
  constexpr int warp_m() const { return block_m / warps_m; }
  constexpr int warp_n() const { return block_n / warps_n; }
  constexpr int fragment_n() const { return kWmmaMn / fragment_m; }

  /// Registers of a thread that the launch bounds allow.
  constexpr int register_budget() const { return hotgemm::register_budget(kRegistersPerSm, threads(), blocks_per_sm); }
  /// 32-bit registers that hold one thread's part of the output tile.
  constexpr int accumulator_registers(const GemmTraits& t) const {
    return warp_m() * warp_n() / kWarpSize / (4 / size_bytes(t.accumulator));
  }
  /// Registers of the fragments of one k-step in the machine code, which holds no element twice.
  constexpr int step_registers() const { return (warp_m() + warp_n()) * kWmmaK / 2 / kWarpSize; }
  /// True if the fragments of the next k-step are loaded during the products of this one. This needs a pipeline to load
  /// from, and room for the registers. It also needs an even number of k-steps; with an odd number the two sets of
  /// registers would change places from tile to tile.
  constexpr bool buffers_fragments(const GemmTraits& t) const {
    return stages >= 2 && block_k / kWmmaK % 2 == 0 &&
           accumulator_registers(t) + 2 * step_registers() + 32 <= register_budget();
  }
  /// Registers of the fragments that are live at once.
  constexpr int fragment_registers(const GemmTraits& t) const {
    return step_registers() * (buffers_fragments(t) ? 2 : 1);
  }

  /// The shared-memory tile of an operand: rows along the strided dimension, chunks along the contiguous one.
  constexpr TileLayout operand_tile(int outer, bool k_major) const {
    return k_major ? TileLayout{outer, block_k / 8, false, padded} : TileLayout{block_k, outer / 8, false, padded};
  }
  constexpr TileLayout a_tile(const GemmTraits& t) const { return operand_tile(block_m, t.a_is_k_major()); }
  constexpr TileLayout b_tile(const GemmTraits& t) const { return operand_tile(block_n, t.b_is_k_major()); }
  constexpr int stage_bytes(const GemmTraits& t) const { return a_tile(t).bytes() + b_tile(t).bytes(); }

  /// Bytes between the rows of the buffer through which a warp stores fragment_m rows of its sums. As wmma.store.d
  /// requires, rows of f32 begin at multiples of 32 bytes, rows of f16 at multiples of 16. The padding spreads the rows
  /// over banks.
  constexpr int sum_stride_bytes(const GemmTraits& t) const { return (warp_n() + 8) * size_bytes(t.accumulator); }
  constexpr int sum_buffer_bytes(const GemmTraits& t) const { return fragment_m * sum_stride_bytes(t); }

  constexpr int smem_bytes(const GemmTraits& t) const {
    return max_of(max_of(stages, 1) * stage_bytes(t), warps_m * warps_n * sum_buffer_bytes(t));
  }
};

constexpr bool is_legal(const WmmaConfig& c, const GemmTraits& t, const ArchLimits& arch) {
  if (!arch.has_cp_async || arch.registers_per_sm != kRegistersPerSm || t.is_fused()) return false;
  if ((t.element != DType::f16 && t.element != DType::bf16) || !t.is_uniform()) return false;
  // f16 sums of bf16: there is no such instruction.
  if (t.accumulator != DType::f32 && (t.accumulator != DType::f16 || t.element != DType::f16)) return false;
  if (c.warps_m < 1 || c.warps_n < 1 || c.warps_m > 32 || c.warps_n > 32) return false;
  if (c.threads() > kMaxThreadsPerBlock) return false;
  if (c.block_m < 16 || c.block_n < 16 || c.block_m > 512 || c.block_n > 512) return false;
  if (!is_wmma_m(c.fragment_m)) return false;
  if (c.block_m % (c.warps_m * c.fragment_m) != 0) return false;
  if (c.block_n % (c.warps_n * c.fragment_n()) != 0) return false;
  if (c.block_k < kWmmaK || c.block_k > 128 || c.block_k % kWmmaK != 0) return false;
  if (c.stages < 0 || c.stages > 5) return false;
  if (c.async_copy ? c.stages == 0 : c.stages > 1) return false;
  // wmma.load from global memory is for one shape, and for rows that begin at 16 bytes at least.
  if (c.stages == 0 && (c.fragment_m != 16 || c.vec_bytes(t) < 16)) return false;
  if (c.blocks_per_sm < 1 || c.blocks_per_sm > 4) return false;
  const int smem = c.smem_bytes(t);
  if (smem > arch.smem_per_block_bytes) return false;
  if (c.blocks_per_sm * (smem + kReservedSmemPerBlockBytes) > arch.smem_per_sm_bytes) return false;
  if (c.blocks_per_sm * c.threads() > arch.threads_per_sm) return false;
  // Registers that are live at once, as in family mma: accumulators, fragments, addresses and loop state.
  return c.accumulator_registers(t) + c.fragment_registers(t) + 28 <= c.register_budget();
}

}  // namespace hotgemm
