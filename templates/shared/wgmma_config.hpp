#pragma once

#include "shared/arch_limits.hpp"
#include "shared/config_field.hpp"
#include "shared/gemm_args.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/thread_pieces.hpp"
#include "shared/tile_layout.hpp"
#include "shared/wgmma_args.hpp"
#include "shared/wgmma_descriptor.hpp"

namespace hotgemm {

/// Elements of a box: x along the contiguous dimension of the matrix as stored.
struct BoxExtent {
  int x;
  int y;
};

/// A variant of the `wgmma` family (templates/wgmma.cuh). visit_fields says what the fields mean.
struct WgmmaConfig {
  int block_m = 128;
  int block_n = 256;
  int block_k = 64;
  int consumers = 2;
  bool split_n = false;
  bool ping_pong = false;
  bool one_tile = false;
  int stages = 4;
  int cluster_m = 1;
  int cluster_n = 1;
  int blocks_per_sm = 1;
  bool transposed = false;
  bool split_k = false;
  int loaders = 0;
  bool promote = false;

  /// The one list of fields, with their meanings (config_field.hpp).
  template <class Config, class Visit>
  static constexpr void visit_fields(Config& config, Visit&& visit) {
    visit(ConfigField{"block_m", "m", FieldKind::tile, "rows of D that a block computes"}, config.block_m);
    visit(ConfigField{"block_n", "n", FieldKind::tile, "columns of D that a block computes"}, config.block_n);
    visit(ConfigField{"block_k", "k", FieldKind::pipeline, "length along k of the tiles in shared memory"},
          config.block_k);
    visit(ConfigField{"consumers", "c", FieldKind::tile, "warpgroups that compute, each its part of a tile"},
          config.consumers);
    visit(
        ConfigField{"split_n", "sn", FieldKind::tile, "1: consumers divide the tile's columns among them, 0: its rows"},
        config.split_n);
    visit(ConfigField{"ping_pong", "pp", FieldKind::tile,
                      "1: each consumer computes tiles of its own, one stores while another multiplies"},
          config.ping_pong);
    visit(ConfigField{"one_tile", "o", FieldKind::tile,
                      "1: a block for each tile, without a producer, 0: blocks that stay and take tile after tile"},
          config.one_tile);
    visit(ConfigField{"stages", "s", FieldKind::depth, "tiles of A and B in flight in shared memory"}, config.stages);
    visit(ConfigField{"cluster_m", "cm", FieldKind::pipeline, "blocks below each other that share their tiles of B"},
          config.cluster_m);
    visit(ConfigField{"cluster_n", "cn", FieldKind::pipeline, "blocks beside each other that share their tiles of A"},
          config.cluster_n);
    visit(ConfigField{"blocks_per_sm", "b", FieldKind::depth, "resident blocks that the register budget must allow"},
          config.blocks_per_sm);
    visit(AddedField{"transposed", "t", FieldKind::tile,
                     "1: the 64 rows of an instruction are columns of D, and its columns are rows of D", false},
          config.transposed);
    visit(AddedField{"split_k", "sk", FieldKind::tile,
                     "1: blocks divide k among them, and add their sums by way of a workspace", 0, 0},
          config.split_k);
    visit(AddedField{"loaders", "th", FieldKind::pipeline,
                     "warpgroups whose threads load operands with ragged rows, 0: the copy engine loads everything", 0,
                     0},
          config.loaders);
    visit(AddedField{"promote", "pr", FieldKind::pipeline,
                     "1: the sum of each k-tile is added to f32 registers; precise sums of FP8 need this", 0, 0},
          config.promote);
  }
  friend constexpr bool operator==(const WgmmaConfig&, const WgmmaConfig&) = default;

  constexpr int threads() const { return (consumers + producers()) * kWarpgroupThreads; }
  /// The number of warpgroups that bring operands. They come first in a block, before the consumers.
  constexpr int producers() const { return one_tile ? 0 : max_of(loaders, 1); }
  constexpr int loader_warps() const { return loaders * (kWarpgroupThreads / ThreadPieces::kLanes); }
  /// True if threads load the operand, whose accesses are `vec` elements wide. The copy engine loads any other operand.
  constexpr bool loads_by_threads(const GemmTraits& t, int vec) const {
    return loaders > 0 && vec * size_bytes(t.element) != kChunkBytes;
  }
  /// The alignment in bytes that operands need, unless threads load them.
  constexpr int operand_alignment(DType /*element*/) const { return loaders > 0 ? 1 : kChunkBytes; }
  /// True if lanes can load the rows of instructions. ptxas would serialize the products of one-tile blocks (C7518).
  /// Scales of blocks need rows in the places that instructions give them.
  constexpr bool can_load_rows(const Epilogue& e) const { return (!one_tile || promote) && !e.has_block_scales(); }
  constexpr bool needs_k_major(DType element, Operand operand, const Epilogue& e) const {
    const bool is_of_rows = operand == (transposed ? Operand::b : Operand::a);
    return reads_k_major_only(element) && !(is_of_rows && can_load_rows(e));
  }
  constexpr int cluster() const { return cluster_m * cluster_n; }
  constexpr bool is_square() const { return cluster_m > 1 && cluster_n > 1; }
  /// The number of blocks that copy into the stages of one of them: itself, and those that share its A or its B.
  constexpr int peers() const { return cluster_m + cluster_n - 1; }
  /// The part of a tile that one consumer computes.
  constexpr int consumer_m() const { return split_n || ping_pong ? block_m : block_m / consumers; }
  constexpr int consumer_n() const { return split_n ? block_n / consumers : block_n; }
  constexpr int first_row(int consumer) const { return split_n || ping_pong ? 0 : consumer * consumer_m(); }
  constexpr int first_col(int consumer) const { return split_n ? consumer * consumer_n() : 0; }
  /// The number of consumers that read a stage.
  constexpr int readers() const { return ping_pong ? 1 : consumers; }

  // The view of the instruction. The part of a consumer is `instructions()` times 64 rows of `instruction_n()` columns.
  // These are rows and columns of D, or of D^T = B^T A^T if the config is transposed.
  constexpr int instruction_n() const { return transposed ? consumer_m() : consumer_n(); }
  constexpr int instructions() const { return (transposed ? consumer_n() : consumer_m()) / kWgmmaM; }
  /// The operand whose rows, or columns, are the rows of the instruction, and the other operand.
  constexpr WgmmaTile row_tile(const GemmTraits& t) const { return transposed ? b_tile(t) : a_tile(t); }
  constexpr WgmmaTile column_tile(const GemmTraits& t) const { return transposed ? a_tile(t) : b_tile(t); }

  /// True if lanes load the rows of an instruction into registers, because `wgmma` does not read them as they lie.
  constexpr bool loads_rows(const GemmTraits& t) const { return reads_k_major_only(t.element) && !row_tile(t).k_major; }
  /// True if lanes exchange sums, because they load rows in pairs of bytes (templates/wgmma_products.cuh).
  constexpr bool exchanges_sums(const GemmTraits& t) const { return loads_rows(t) && size_bytes(t.element) == 1; }
  /// The registers of a lane for rows: those of four products. Transposed configs with `promote` do not spill if half
  /// of them are counted.
  constexpr int fragment_registers(const GemmTraits& t) const {
    return !loads_rows(t) ? 0 : transposed && promote ? 8 : 16;
  }

  constexpr WgmmaTile a_tile(const GemmTraits& t) const { return tile(t, block_m, t.a_is_k_major(), consumer_m()); }
  constexpr WgmmaTile b_tile(const GemmTraits& t) const {
    return tile(t, block_n, t.b_is_k_major(), gate_half(t) > 0 ? gate_half(t) : consumer_n());
  }
  /// If the gate's columns are the first half of the product's, so are they of a consumer's part of the tile: so many.
  /// Else 0.
  constexpr int gate_half(const GemmTraits& t) const { return t.epilogue.gate == Gate::halves ? consumer_n() / 2 : 0; }
  /// The columns of D that a consumer stores.
  constexpr int stored_n(const GemmTraits& t) const { return t.epilogue.columns_of_d(consumer_n()); }
  constexpr int stage_bytes(const GemmTraits& t) const { return a_tile(t).bytes() + b_tile(t).bytes(); }

  /// The box of one copy: the rows of a slab, but at most the rows that a box may have, and only this block's part of
  /// them if the cluster shares the tile.
  constexpr BoxExtent a_box(const GemmTraits& t) const { return box(a_tile(t), cluster_n); }
  constexpr BoxExtent b_box(const GemmTraits& t) const { return box(b_tile(t), cluster_m, gate_half(t)); }
  /// `sharers` blocks divide the rows of each slab among them. With `half`, a box lies in one half of a gated tile.
  static constexpr BoxExtent box(const WgmmaTile& tile, int sharers, int half = 0) {
    const int rows = tile.rows() / sharers, most = rows / div_up(rows, kMaxBoxRows);
    return {tile.slab_elements(), half > 0 && tile.k_major ? gcd(most, half) : most};
  }

  // A warp stores a piece of D at a time: 128 bytes of each of 16 rows. If the config is transposed, a consumer stores
  // 64 rows at a time, and its warps divide them among them.
  static constexpr int kStoreRows = 16;
  static constexpr int kStoreRowBytes = 128;
  static constexpr int kStoreBytes = kStoreRows * kStoreRowBytes;
  static constexpr int store_cols(const GemmTraits& t) { return kStoreRowBytes / size_bytes(t.element_d); }
  /// The pieces beside each other that a warp stores, and all that it stores of a tile.
  constexpr int row_pieces(const GemmTraits& t) const { return div_up(stored_n(t), store_cols(t)); }
  constexpr int store_pieces(const GemmTraits& t) const { return div_up(consumer_m(), kWgmmaM) * row_pieces(t); }
  /// The pieces beside each other that lanes store together, row by row, if rows of D begin at no multiple of 16 bytes.
  constexpr int strip_pieces(const GemmTraits& t) const { return min_of(store_buffers(t), row_pieces(t)); }
  /// Buffers for the pieces of a warp: for all of a tile if they fit, so that no warp waits for DRAM before it
  /// multiplies again; else two, or one.
  constexpr int store_buffers(const GemmTraits& t) const {
    const int all = store_pieces(t);
    return all > 2 && !split_k && has_room_for(t, all) ? all : has_room_for(t, 2) ? 2 : 1;
  }

  // A producer has warps beside the one that copies. They bring the scales of blocks for a k-tile to a ring of slots:
  // for each row of the tile and each block of columns a factor. One-tile blocks have no producer, and take no scales.
  static constexpr int kScaleWarps = 2;
  constexpr int scale_slots(const GemmTraits& t) const { return t.epilogue.has_block_scales() ? 2 : 0; }
  constexpr int scale_slot_bytes(const GemmTraits& t) const {
    return block_m * halves(t) * touched_scales(t, block_n / halves(t)) * 4;
  }

  // Shared memory: stages, buffers of D, slots of scales, barriers.
  constexpr int store_offset(const GemmTraits& t) const { return stages * stage_bytes(t); }
  /// The number of a consumer's warps that have rows to store.
  constexpr int store_warps() const { return transposed ? min_of(div_up(consumer_m(), kStoreRows), 4) : 4; }
  /// True if the copy engine stores D, in boxes of rows of 128 bytes, with a swizzle of 128 bytes. Of a narrow
  /// part the lanes store D, which takes less time from the first element to the last.
  constexpr bool stores_in_bulk(const GemmTraits& t) const {
    if (has_wide_d(t) && t.epilogue.gate == Gate::interleaved) return false;  // lanes have single elements
    return !split_k && !(transposed && has_wide_d(t)) && !has_byte_d(t) && has_aligned_d(t) &&
           t.epilogue.columns_of_d(instruction_n()) >= store_cols(t);
  }
  /// True if rows of D begin at multiples of 16 bytes.
  static constexpr bool has_aligned_d(const GemmTraits& t) { return t.vec_d * size_bytes(t.element_d) == kChunkBytes; }
  static constexpr bool has_wide_d(const GemmTraits& t) { return size_bytes(t.element_d) == 4; }
  static constexpr bool has_byte_d(const GemmTraits& t) { return size_bytes(t.element_d) == 1; }
  /// True if lanes store D right from their registers, without buffers: four of them have 32 bytes of a row.
  constexpr bool stores_directly(const GemmTraits& t) const {
    return has_byte_d(t) || (has_wide_d(t) && !stores_in_bulk(t));
  }
  /// True if the matrices of an epilogue come by way of the buffers of D, as C does, in coalesced copies. With a second
  /// buffer the copies of the next piece are in flight meanwhile. Strips use all buffers, so their pieces wait; that
  /// was not timed. Without a second buffer a warp waits for each piece, which another consumer or nothing hides
  /// (docs/notebook/epilogues.md, 5 and 11); lanes that load wait less, but need registers and, in a transposed config,
  /// load single elements.
  constexpr bool copies_matrices(const GemmTraits& t) const {
    if (split_k || stores_directly(t) || t.epilogue.gate == Gate::interleaved) return false;
    return store_buffers(t) > 1 || ping_pong || transposed || has_wide_d(t) ||
           accumulator_registers(t) + 80 > consumer_registers();
  }
  constexpr BoxExtent d_box(const GemmTraits& t) const {
    return {store_cols(t), consumer_m() % kStoreRows == 0 ? kStoreRows : 8};
  }
  constexpr int warp_store_bytes(const GemmTraits& t) const { return warp_store_bytes(t, store_buffers(t)); }
  constexpr int scale_offset(const GemmTraits& t) const {
    return store_offset(t) + consumers * store_warps() * warp_store_bytes(t);
  }
  constexpr int barrier_offset(const GemmTraits& t) const {
    return scale_offset(t) + scale_slots(t) * scale_slot_bytes(t);
  }
  constexpr int smem_bytes(const GemmTraits& t) const { return smem_bytes(t, store_buffers(t)); }

  /// With `promote`, the sums of a k-tile have registers besides, for one instruction at a time.
  constexpr int accumulator_registers(const GemmTraits& t) const {
    const int instruction = kWgmmaM * instruction_n() / kWarpgroupThreads * size_bytes(t.accumulator) / kRegisterBytes;
    return instruction * (instructions() + (promote ? 1 : 0));
  }
  /// The ranges of neighbouring columns of B that a tile consists of: of halves one of the gate, and one of the others.
  static constexpr int halves(const GemmTraits& t) { return t.epilogue.gate == Gate::halves ? 2 : 1; }
  /// Columns of a range that lie in one block of scales of B if they begin at a multiple of their number.
  constexpr int scale_grain(const GemmTraits& t) const {
    int grain = kScaleBlock;
    while (consumer_n() / halves(t) % grain != 0 || block_n / halves(t) % grain != 0) grain /= 2;
    return grain;
  }
  /// The most blocks of scales of B that so many columns of a range touch, wherever the tile begins; and those that a
  /// consumer's part of it touches.
  constexpr int touched_scales(const GemmTraits& t, int columns) const {
    return div_up(kScaleBlock - scale_grain(t) + columns, kScaleBlock);
  }
  constexpr int scale_columns(const GemmTraits& t) const { return touched_scales(t, consumer_n() / halves(t)); }

  /// True if the producer gives registers to two or three consumers after the start.
  constexpr bool moves_registers() const { return !one_tile && consumers > 1 && loaders == 0; }
  /// True if two consumers need so many registers that the producer keeps only 24.
  constexpr bool has_wide_parts() const { return consumer_m() * consumer_n() > 64 * 352; }
  /// The registers that each of two consumers of small parts leaves to a producer that brings scales of blocks.
  constexpr int spare_registers(const GemmTraits& t) const {
    return t.epilogue.has_block_scales() && consumers == 2 && accumulator_registers(t) <= 128 ? 16 : 0;
  }
  constexpr int producer_registers(const GemmTraits& t) const {
    const int kept = consumers == 3 ? 32 : has_wide_parts() ? 24 : 40;
    return moves_registers() ? kept + 2 * spare_registers(t) : consumer_registers(t);
  }
  constexpr int consumer_registers(const GemmTraits& t) const { return consumer_registers() - spare_registers(t); }
  constexpr int consumer_registers() const {
    if (moves_registers()) return consumers == 3 ? 160 : has_wide_parts() ? 240 : 232;
    return min_of(kMaxRegistersPerThread, kRegistersPerSm / (threads() * blocks_per_sm) / 8 * 8);
  }
  /// The registers of a loading thread that hold its elements of a k-tile between load and store.
  constexpr int loader_registers(const GemmTraits& t) const {
    const auto of = [&](const WgmmaTile& tile, int vec) {
      return loads_by_threads(t, vec) ? ThreadPieces{tile, vec, loader_warps()}.registers() : 0;
    };
    return of(a_tile(t), t.vec_a) + of(b_tile(t), t.vec_b);
  }

 private:
  // Limits of sm_90, the only architecture with this family.
  static constexpr int kMaxSmemBytes = 227 * 1024;
  static constexpr int kSmemPerSmBytes = 228 * 1024;
  static constexpr int kRegistersPerSm = 65536;
  static constexpr int kMaxBoxRows = 256;
  static constexpr int kRegisterBytes = 4;

  /// Uses the widest swizzle for which each consumer's part of the tile begins at a slab.
  constexpr WgmmaTile tile(const GemmTraits& t, int outer, bool k_major, int part) const {
    const int bytes = part * size_bytes(t.element);
    const int swizzle_bytes = k_major || bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : 32;
    return {outer, block_k, k_major, swizzle_bytes, size_bytes(t.element)};
  }
  /// Blocks that divide k use the buffers for sums.
  constexpr int warp_store_bytes(const GemmTraits& t, int buffers) const {
    return split_k || !stores_directly(t) ? buffers * kStoreBytes : 0;
  }
  constexpr bool has_room_for(const GemmTraits& t, int buffers) const {
    const int bytes = smem_bytes(t, buffers);
    return bytes <= kMaxSmemBytes && blocks_per_sm * (bytes + kReservedSmemPerBlockBytes) <= kSmemPerSmBytes;
  }
  constexpr int smem_bytes(const GemmTraits& t, int buffers) const {
    const int stored = consumers * store_warps() * warp_store_bytes(t, buffers);
    const int barriers = 2 * (stages + scale_slots(t)) + (ping_pong ? consumers : 0);
    return store_offset(t) + stored + scale_slots(t) * scale_slot_bytes(t) + barriers * 8;
  }
};

/// True if each of `sharers` blocks can copy its part of a tile in boxes that begin where the swizzle pattern begins.
constexpr bool can_share(const WgmmaTile& tile, int sharers, int half = 0) {
  const BoxExtent box = WgmmaConfig::box(tile, sharers, half);
  return tile.rows() % (box.y * sharers) == 0 && box.y % 8 == 0;
}

/// True if rows of A and B begin at multiples of 16 bytes, as tensor maps need it.
constexpr bool has_aligned_rows(const GemmTraits& t) {
  return min_of(t.vec_a, t.vec_b) * size_bytes(t.element) == kChunkBytes;
}

/// The products of FP8 after which tensor cores of Hopper must give up their sum, so that it is precise.
inline constexpr int kPromotedK = 128;

/// True if the family computes with these types.
constexpr bool has_wgmma_types(const GemmTraits& t) {
  if (reads_k_major_only(t.element)) return has_word_types(t) && (t.a_is_k_major() || t.b_is_k_major());
  if ((t.element != DType::f16 && t.element != DType::bf16) || t.element_b != t.element) return false;
  if (t.element_d != t.element && t.element_d != DType::f32) return false;
  return t.accumulator == DType::f32 || (t.accumulator == DType::f16 && t.element == DType::f16 && t.is_uniform());
}

/// True if sums of FP8 are as exact as the traits want them: an instruction keeps 14 bits of each product. They are
/// promoted after the 128 products of a k-tile.
constexpr bool has_legal_promotion(const WgmmaConfig& c, const GemmTraits& t) {
  if (!c.promote) return !is_fp8(t.element) || t.fast_sums;
  return is_fp8(t.element) && c.block_k == kPromotedK;
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
/// True if a producer brings the scales of blocks, and they cost few registers and instructions: those of two blocks
/// beside each other, or of a transposed config one for each of few rows.
constexpr bool has_legal_scales(const WgmmaConfig& c, const GemmTraits& t) {
  if (!t.epilogue.has_block_scales()) return true;
  return c.promote && !c.one_tile && (c.transposed ? c.instruction_n() <= 64 : c.scale_columns(t) <= 2);
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
  // The sums of a k-tile have left their registers when D is stored.
  const int multiplying = c.accumulator_registers(t) + 32 + scale_registers(c, t) + c.fragment_registers(t);
  const int storing = c.accumulator_registers(t) - (c.promote ? instruction : 0) + others;
  return max_of(multiplying, storing) <= c.consumer_registers(t);
}

}  // namespace hotgemm
