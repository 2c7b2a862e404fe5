#pragma once

// Which configs of family `wgmma` are legal for which kernels.

#include "shared/arch_limits.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/thread_pieces.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// True if each of `sharers` blocks can copy its part of a tile in boxes that begin where the swizzle pattern begins.
constexpr bool can_share(const WgmmaTile& tile, int sharers, int half = 0) {
  const BoxExtent box = WgmmaConfig::box(tile, sharers, half);
  return tile.rows() % (box.y * sharers) == 0 && box.y % 8 == 0;
}

/// True if rows of A and B begin at multiples of 16 bytes, as tensor maps need it.
constexpr bool has_aligned_rows(const GemmTraits& t) {
  return min_of(t.vec_a, t.vec_b) * size_bytes(t.element) == kChunkBytes;
}

/// True if the family computes with these types.
constexpr bool has_wgmma_types(const GemmTraits& t) {
  if (reads_k_major_only(t.element)) return has_word_types(t) && (t.a_is_k_major() || t.b_is_k_major());
  if ((t.element != DType::f16 && t.element != DType::bf16) || t.element_b != t.element) return false;
  if (t.element_d != t.element && t.element_d != DType::f32) return false;
  return t.accumulator == DType::f32 || (t.accumulator == DType::f16 && t.element == DType::f16 && t.is_uniform());
}

/// True if sums of FP8 are as exact as the traits want them: an instruction keeps 14 bits of each product. Sums are
/// promoted after 128 products.
constexpr bool has_legal_promotion(const WgmmaConfig& c, const GemmTraits& t) {
  if (!c.promote) return !is_fp8(t.element) || t.fast_sums;
  return is_fp8(t.element) && (c.has_one_interval(t) ? c.block_k == kPromotedK : c.block_k % kPromotedK == 0);
}
/// True if `wgmma` reads the columns of its instructions as they lie, and `wgmma` or lanes read their rows. A copy of a
/// matrix at any address may leave out a slab, and lanes must not read what was left out.
constexpr bool has_legal_operands(const WgmmaConfig& c, const GemmTraits& t) {
  if (reads_k_major_only(t.element) && !c.column_tile(t).k_major) return false;
  if (!c.loads_rows(t)) return true;
  // ptxas would serialize the products of large parts (C7512).
  if (c.split_k && c.moves_registers() && c.accumulator_registers(t) >= 128) return false;
  return c.can_load_rows(t.epilogue) && !t.pointers;
}
/// True if a producer brings the scales of blocks, those of a whole k-tile at once, and they cost few registers and
/// instructions: those of two blocks beside each other, or of a transposed config one for each of few rows.
constexpr bool has_legal_scales(const WgmmaConfig& c, const GemmTraits& t) {
  if (!t.epilogue.has_block_scales()) return true;
  if (!c.promote || c.one_tile || c.scales_ahead(t) < 1) return false;
  return c.transposed ? c.instruction_n() <= 64 : c.scale_columns(t) <= 2;
}
/// The registers of the factors for an instruction, besides two that the bare product leaves unused.
constexpr int scale_registers(const WgmmaConfig& c, const GemmTraits& t) {
  const int factors = c.transposed ? c.instruction_n() / 4 : 2 * c.halves(t) * c.scale_columns(t);
  return t.epilogue.has_block_scales() ? factors - 2 : 0;
}
/// The registers for the operations of an epilogue, besides those of the bare product. Of matrices that come by way of
/// the buffers of D, the last one stays there until its elements are used (MatrixPieces).
constexpr int fused_registers(const WgmmaConfig& c, const GemmTraits& t) {
  if (!t.is_fused() || c.split_k || c.stores_directly(t)) return epilogue_registers(t);
  const int matrices = t.epilogue.matrices_read();
  const int of_matrices = c.copies_matrices(t) ? 16 * max_of(matrices - 1, 0) : 8 * matrices;
  return of_matrices + (t.epilogue.aux ? (t.epilogue.is_gated() ? 16 : 8) : 0) + (t.epilogue.has_function() ? 16 : 0) +
         (t.epilogue.bias_gradient != Bias::none ? 8 : 0);
}
/// The registers that lanes need to exchange sums in front of an epilogue. With fewer, kernels spilled.
constexpr int exchange_registers(const WgmmaConfig& c, const GemmTraits& t) {
  if (!c.exchanges_sums(t)) return 0;
  return !t.reads_c ? 32 : t.accumulator == DType::s32 ? 64 : 40;
}
/// True if there is such an instruction: that for s8 has fewer widths.
constexpr bool has_instruction(const WgmmaConfig& c, const GemmTraits& t) {
  const int n = c.instruction_n();
  if (n % 8 != 0 || n > 256) return false;
  return t.element != DType::s8 || n % 16 == 0 || n == 8 || n == 24;
}

/// True if the threads of `c` can load the operand with tile `tile`, or the copy engine does.
constexpr bool can_load(const WgmmaConfig& c, const GemmTraits& t, const WgmmaTile& tile, int vec) {
  return !c.loads_by_threads(t, vec) || ThreadPieces{tile, vec, c.loader_warps()}.is_sound();
}
constexpr bool has_legal_loaders(const WgmmaConfig& c, const GemmTraits& t) {
  if (c.loaders == 0) return true;
  if (c.loaders < 0 || c.loaders > 2 || size_bytes(t.element) != 2 || WgmmaConfig::has_wide_d(t) || c.block_k != 64 ||
      c.one_tile || c.split_k || c.ping_pong || c.cluster() > 1)
    return false;
  if (!c.loads_by_threads(t, t.vec_a) && !c.loads_by_threads(t, t.vec_b)) return false;  // nothing to do for threads
  if (!can_load(c, t, c.a_tile(t), t.vec_a) || !can_load(c, t, c.b_tile(t), t.vec_b)) return false;
  if (c.loader_registers(t) > 64) return false;                      // longer k-tiles of a lane spill
  constexpr int kOthers = 76;                                        // addresses, and what the compiler computes ahead
  return c.loader_registers(t) + kOthers <= c.consumer_registers();  // all threads have the same share
}

/// True if a lane can have both sums of an element of D. The copy engine alone brings halves beside each other, by maps
/// of B that groups along k have not, and a slab of columns lies in one of them.
constexpr bool has_legal_gate(const WgmmaConfig& c, const GemmTraits& t) {
  if (!t.epilogue.is_gated()) return true;
  if (c.split_k || c.transposed || c.consumer_n() % 16 != 0) return false;
  if (t.epilogue.gate != Gate::halves) return true;
  return c.loaders == 0 && !t.along_k && (t.b_is_k_major() || c.gate_half(t) % c.b_tile(t).slab_elements() == 0);
}

/// True if no box of an operand that the copy engine loads lies wholly outside a matrix at any address. On an H100 such
/// a copy touches the first byte that its map describes, which for all of memory is none (docs/notebook/batches.md, 4).
/// A slab of k, or a share of its rows, may lie behind the last k; columns of B may be left out.
constexpr bool has_legal_places(const WgmmaConfig& c, const GemmTraits& t) {
  if (!t.pointers) return true;
  const auto is_legal = [&](const WgmmaTile& tile, int sharers, int half, int vec) {
    return c.loads_by_threads(t, vec) || (tile.k_major ? tile.slabs() == 1 : sharers == 1 && half == 0);
  };
  return is_legal(c.a_tile(t), c.cluster_n, 0, t.vec_a) && is_legal(c.b_tile(t), c.cluster_m, c.gate_half(t), t.vec_b);
}

/// Boxes of a square may lie outside a matrix. RaggedLoad, for groups along k, knows clusters in one direction alone.
constexpr bool is_legal_cluster(const WgmmaConfig& c, const GemmTraits& t) {
  if (c.cluster_m < 1 || c.cluster_n < 1 || c.cluster() > 4 || c.cluster() == 3) return false;
  const int extent = max_of(c.block_m * c.cluster_m, c.block_n * c.cluster_n);  // config/max_size.hpp
  return extent <= 1024 && (!c.is_square() || !(t.along_k || t.pointers));
}

constexpr bool is_legal(const WgmmaConfig& c, const GemmTraits& t, const ArchLimits& arch) {
  if (!arch.has_wgmma || !has_wgmma_types(t) || !has_legal_promotion(c, t) || !has_legal_operands(c, t)) return false;
  if (!has_legal_gate(c, t) || !has_legal_scales(c, t)) return false;
  // Only blocks that stay learn how many tiles there are. Of groups the copy engine loads rows of A from any one on, if
  // k runs along them.
  if (t.grouped && (c.one_tile || c.split_k || c.loaders > 0)) return false;
  if (t.divides_rows() && !t.a_is_k_major()) return false;
  // Groups along k divide rows as stored. Consumers that take turns count on products in each of them.
  if (t.along_k && (c.ping_pong || t.a_is_k_major() || t.b_is_k_major())) return false;
  if (c.loaders == 0 && !has_aligned_rows(t)) return false;
  if (c.consumers < 1 || c.consumers > 3 || c.stages < 2 || c.stages > 16) return false;
  if (c.consumers == 1 && (c.split_n || c.ping_pong)) return false;
  if ((c.ping_pong && (c.split_n || c.one_tile)) || (c.split_k && (c.ping_pong || c.transposed))) return false;
  // ptxas would serialize the products (C7518).
  if ((c.split_k || c.one_tile) && t.accumulator != DType::f32) return false;
  if (c.split_k && c.promote && c.accumulator_registers(t) > 128) return false;  // the loads of sums would spill
  if (!is_legal_cluster(c, t)) return false;
  if (c.blocks_per_sm < 1 || c.blocks_per_sm > 4 || (c.blocks_per_sm > 1 && c.moves_registers())) return false;
  if (c.block_m < 8 || c.block_m > 320 || c.block_n < 8 || c.block_n > 320) return false;
  if (c.instructions() < 1 || c.instruction_n() < 8 || c.block_m % c.consumer_m() != 0) return false;
  if (c.block_n % c.consumer_n() != 0) return false;
  const int rows = c.transposed ? c.consumer_n() : c.consumer_m();
  if (rows % kWgmmaM != 0 || !has_instruction(c, t)) return false;
  const int k_bytes = c.block_k * size_bytes(t.element);
  if (k_bytes != 128 && k_bytes != 256) return false;
  const WgmmaTile a = c.a_tile(t), b = c.b_tile(t), columns = c.column_tile(t);
  if (!columns.k_major && c.instruction_n() % columns.slab_elements() != 0) return false;
  if (!a.is_sound() || !b.is_sound() || !can_share(a, c.cluster_n)) return false;
  if (!can_share(b, c.cluster_m, c.gate_half(t))) return false;
  if (c.moves_registers() && c.has_wide_parts() && c.cluster_m > 1) return false;  // the producer would spill
  if (!has_legal_loaders(c, t) || !has_legal_places(c, t)) return false;
  const int smem = c.smem_bytes(t);
  const int of_sm = c.blocks_per_sm * (smem + kReservedSmemPerBlockBytes);
  if (smem > arch.smem_per_block_bytes || of_sm > arch.smem_per_sm_bytes) return false;
  // ptxas gives one instruction no more registers than a thread has before setmaxnreg (C7602).
  const int instruction = c.accumulator_registers(t) / (c.instructions() + (c.promote ? 1 : 0));
  if (instruction + 28 > arch.registers_per_sm / (c.threads() * c.blocks_per_sm)) return false;
  if (c.transposed && t.reads_c && c.accumulator_registers(t) > 160) return false;  // more than 1.2 s to compile
  // Registers that are live beside the accumulators: with fewer, kernels spill.
  const int of_integers = t.accumulator == DType::s32 && !c.has_wide_d(t) ? (t.reads_c ? 28 : 12) : 0;
  const int of_conversions = max_of(of_integers, c.has_byte_d(t) ? 8 : 0);
  const int others = (c.stores_in_bulk(t) ? (t.reads_c ? 48 : 32) : (t.reads_c ? 72 : 40)) +
                     (c.transposed && t.reads_c ? 8 : 0) + exchange_registers(c, t) + of_conversions +
                     fused_registers(c, t);
  // Parts have left their registers when D is stored.
  const int multiplying = c.accumulator_registers(t) + 32 + scale_registers(c, t) + c.fragment_registers(t);
  const int storing = c.accumulator_registers(t) - (c.promote ? instruction : 0) + others;
  return max_of(multiplying, storing) <= c.consumer_registers(t);
}

}  // namespace hotgemm
