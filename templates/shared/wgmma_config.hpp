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

/// The products of FP8 after which tensor cores of Hopper must give up their sum, so that it is precise.
inline constexpr int kPromotedK = 128;

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
                     "1: the sum of 128 products is added to f32 registers; precise sums of FP8 need this", 0, 0},
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

  // A producer has warps beside the one that copies. They bring the scales of blocks for a k-tile to the slot of its
  // stage: in each block of k, for each row of the tile and each block of columns a factor. One-tile blocks have no
  // producer, and take no scales.
  static constexpr int kScaleWarps = 2;
  constexpr int scale_slot_bytes(const GemmTraits& t) const {
    if (!t.epilogue.has_block_scales()) return 0;
    return intervals() * block_m * halves(t) * touched_scales(t, block_n / halves(t)) * 4;
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
  constexpr int barrier_offset(const GemmTraits& t) const { return scale_offset(t) + stages * scale_slot_bytes(t); }
  constexpr int smem_bytes(const GemmTraits& t) const { return smem_bytes(t, store_buffers(t)); }

  /// With `promote`, the sums of kPromotedK products are parts. True if there are two parts, and one is added while the
  /// products of the other are in flight. Three consumers lose by that (docs/notebook/types.md, 12), and two that take
  /// scales (docs/notebook/epilogues.md, 20). One-tile blocks also copy, and need registers for that. Kernels that
  /// divide k, and transposed ones with C, have limits of their own.
  constexpr bool adds_late(const GemmTraits& t) const {
    if (!promote || instructions() > 1 || consumers > 2 || loads_rows(t)) return false;
    if (t.epilogue.has_block_scales() && (consumers > 1 || blocks_per_sm > 1)) return false;
    const int registers = 3 * kWgmmaM * instruction_n() / kWarpgroupThreads;  // of the sums and both parts
    if ((split_k && registers > 128) || (transposed && t.reads_c && registers > 160)) return false;
    return registers + (one_tile ? 64 : 32) <= consumer_registers();
  }
  /// With `promote`, the number of times that products of a k-tile are promoted.
  constexpr int intervals() const { return block_k / kPromotedK; }
  /// True if a k-tile may have one interval only: lanes have registers for the rows of one.
  constexpr bool has_one_interval(const GemmTraits& t) const { return promote && loads_rows(t); }
  /// With `promote`, one part has registers besides the sums. Where there is another one, adds_late counts it.
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
  /// The blocks of k, those of whole k-tiles, whose scales a producer has registers for: they are on their way at once.
  constexpr int scales_ahead(const GemmTraits& t) const {
    constexpr int kOthers = 32;        // addresses, and what the compiler computes ahead
    const int most = 6 * intervals();  // a load takes no longer than six k-tiles of the smallest tile
    const int of_block = div_up(block_m, kScaleWarps * 32) + halves(t) * touched_scales(t, block_n / halves(t));
    return clamp((producer_registers(t) - kOthers) / of_block, 1, most) / intervals() * intervals();
  }
  constexpr int consumer_registers() const {
    if (moves_registers()) return consumers == 3 ? 160 : has_wide_parts() ? 240 : 232;
    return min_of(kMaxRegistersPerThread, kHopper.registers_per_sm / (threads() * blocks_per_sm) / 8 * 8);
  }
  /// The registers of a loading thread that hold its elements of a k-tile between load and store.
  constexpr int loader_registers(const GemmTraits& t) const {
    const auto of = [&](const WgmmaTile& tile, int vec) {
      return loads_by_threads(t, vec) ? ThreadPieces{tile, vec, loader_warps()}.registers() : 0;
    };
    return of(a_tile(t), t.vec_a) + of(b_tile(t), t.vec_b);
  }

 private:
  static constexpr ArchLimits kHopper = *find_arch_limits(90);  // the only architecture with this family
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
    return bytes <= kHopper.smem_per_block_bytes &&
           blocks_per_sm * (bytes + kReservedSmemPerBlockBytes) <= kHopper.smem_per_sm_bytes;
  }
  constexpr int smem_bytes(const GemmTraits& t, int buffers) const {
    const int stored = consumers * store_warps() * warp_store_bytes(t, buffers);
    const int barriers = 2 * stages + (ping_pong ? consumers : 0);
    return store_offset(t) + stored + stages * scale_slot_bytes(t) + barriers * 8;
  }
};

}  // namespace hotgemm
