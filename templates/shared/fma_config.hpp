#pragma once

#include "shared/arch_limits.hpp"
#include "shared/config_field.hpp"
#include "shared/fma_layout.hpp"
#include "shared/gemm_traits.hpp"

namespace hotgemm {

/// A variant of the `fma` family (templates/fma.cuh). visit_fields says what the fields mean.
struct FmaConfig {
  int block_m = 128;
  int block_n = 128;
  int block_k = 8;
  int thread_m = 8;
  int thread_n = 8;
  int stages = 1;
  int access = 8;
  bool packed = true;
  bool padded = true;
  bool async_copy = false;
  int blocks_per_sm = 1;

  bool transposed = true;
  int group = 0;
  int slices = 1;
  bool quads = false;

  /// The one list of fields, with their meanings (config_field.hpp).
  template <class Config, class Visit>
  static constexpr void visit_fields(Config& config, Visit&& visit) {
    visit(ConfigField{"block_m", "m", FieldKind::tile, "rows of D that a block computes"}, config.block_m);
    visit(ConfigField{"block_n", "n", FieldKind::tile, "columns of D that a block computes"}, config.block_n);
    visit(ConfigField{"block_k", "k", FieldKind::pipeline, "length along k of the tiles in shared memory"},
          config.block_k);
    visit(ConfigField{"thread_m", "tm", FieldKind::tile, "rows of D that a thread computes"}, config.thread_m);
    visit(ConfigField{"thread_n", "tn", FieldKind::tile, "columns of D that a thread computes"}, config.thread_n);
    visit(
        ConfigField{
            "stages", "s", FieldKind::depth,
            "tiles of A and B in shared memory; 0: none, threads read global memory, 3 and 4: by async_copy alone", 0},
        config.stages);
    visit(
        ConfigField{
            "access", "v", FieldKind::pipeline,
            "elements of one access to global memory: 16 bytes at most, and what the operands' alignment allows"},
        config.access);
    visit(ConfigField{"packed", "p", FieldKind::tile,
                      "1: shared memory is read 16 bytes at a time, f16 multiplied in pairs, 0: by elements, or quads"},
          config.packed);
    visit(ConfigField{"padded", "x", FieldKind::pipeline,
                      "1: rows of shared memory are 16 bytes longer, against bank conflicts, 0: as they are"},
          config.padded);
    // To the shortlist, kernels with cp.async and without are as different as two tiles.
    visit(
        ConfigField{
            "async_copy", "a", FieldKind::tile,
            "1: cp.async copies what needs no transposition, and words one by one, 0: all goes through registers"},
        config.async_copy);
    visit(ConfigField{"blocks_per_sm", "b", FieldKind::depth, "resident blocks that the register budget must allow"},
          config.blocks_per_sm);
    visit(AddedField{"transposed", "t", FieldKind::tile,
                     "1: operands whose rows run along k are transposed in shared memory, 0: they lie as they are", 1},
          config.transposed);
    visit(AddedField{"group", "g", FieldKind::rung,
                     "rows, or columns, of a thread that are neighbours; 0: as many as 16 bytes hold", 0, 0},
          config.group);
    visit(
        AddedField{"slices", "sl", FieldKind::tile,
                   "groups of threads that divide the steps of each k-tile; the first adds the sums of the others", 1},
        config.slices);
    visit(
        AddedField{"quads", "q", FieldKind::tile,
                   "1: four f32 that are neighbours along k are read from shared memory at once, 0: one after another",
                   0},
        config.quads);
  }
  friend constexpr bool operator==(const FmaConfig&, const FmaConfig&) = default;

  /// The elements in a factor: dp4a multiplies four s8, which lie in a word of shared memory. Without shared memory a
  /// word has one s8, and zeros.
  constexpr int factor_elements(DType element) const { return element == DType::s8 && stages > 0 ? 4 : 1; }
  /// The factors along k that one step reads and multiplies.
  constexpr int step_factors() const { return quads ? 4 : 1; }
  constexpr int step_k(DType element) const { return step_factors() * factor_elements(element); }
  /// Steps of k in a k-tile.
  constexpr int steps(DType element) const { return block_k / step_k(element); }
  /// The type of what is multiplied, in shared memory and in fragments: a word with s8 in it, and a rounded TF32.
  static constexpr DType factor_type(DType element) {
    return element == DType::s8 ? DType::s32 : element == DType::tf32 ? DType::f32 : element;
  }
  /// Bytes of a row, or a column, that one step of k multiplies.
  constexpr int step_bytes(DType element) const { return step_factors() * size_bytes(factor_type(element)); }
  /// The alignment in bytes that operands need: that of a word of four s8.
  constexpr int operand_alignment(DType element) const { return factor_elements(element); }
  /// True if a launch copies operands whose rows do not run along k. It does not for quads: the copy costs more than
  /// they gain.
  constexpr bool needs_k_major(DType element, Operand /*operand*/, const Epilogue& /*e*/) const {
    return factor_elements(element) > 1;
  }

  /// Threads of a slice: together they have all elements of the tile.
  constexpr int slice_threads() const { return (block_m / thread_m) * (block_n / thread_n); }
  constexpr int threads() const { return slice_threads() * slices; }
  /// Steps of a slice in a k-tile.
  constexpr int slice_steps(DType element) const { return steps(element) / slices; }
  constexpr int group_size(DType element) const { return group > 0 ? group : 16 / step_bytes(element); }
  constexpr ThreadTile thread_tile(DType element) const {
    return make_thread_tile(block_m, block_n, thread_m, thread_n, group_size(element), !packed);
  }

  /// Steps of k in the body of the main loop. The body has at most a thousand products, which compile in less than a
  /// second. With f16 sums it has half as many, because each product of pairs also names their halves.
  constexpr int unrolled_steps(const GemmTraits& t) const {
    const int most = 256 * size_bytes(t.accumulator);
    const int all = slice_steps(t.element);
    const int products = step_factors() * accumulator_registers(t);
    int unrolled = all;
    while (unrolled > 1 && (all % unrolled != 0 || unrolled * products > most)) --unrolled;
    return unrolled;
  }

  /// True if an operand is copied by cp.async. cp.async cannot transpose, so an operand that is to be transposed must
  /// have factors of 4 bytes, which are copied one by one.
  constexpr bool copies_async(bool k_major, DType element) const {
    return async_copy && (!k_major || !transposed || size_bytes(factor_type(element)) == 4);
  }
  constexpr FmaTile operand_tile(int outer, bool k_major, DType element) const {
    const bool along_k = k_major && !transposed;
    const bool single = k_major && !along_k && copies_async(k_major, element);
    const int in_factor = factor_elements(element), factor_bytes = size_bytes(factor_type(element));
    const int tile_access = single ? 1 : max_of(access / in_factor, 1);
    return {outer, block_k / in_factor, factor_bytes, k_major, tile_access, threads(), padded, along_k};
  }
  constexpr FmaTile a_tile(const GemmTraits& t) const { return operand_tile(block_m, t.a_is_k_major(), t.element); }
  constexpr FmaTile b_tile(const GemmTraits& t) const { return operand_tile(block_n, t.b_is_k_major(), t.element); }
  constexpr int stage_bytes(const GemmTraits& t) const { return a_tile(t).bytes() + b_tile(t).bytes(); }
  /// The sums of all slices but the first: words, in place of the stages.
  constexpr int slice_sum_bytes() const { return (slices - 1) * block_m * block_n * 4; }
  constexpr int smem_bytes(const GemmTraits& t) const { return max_of(stages * stage_bytes(t), slice_sum_bytes()); }

  /// 32-bit registers that hold one thread's part of the output tile.
  constexpr int accumulator_registers(const GemmTraits& t) const {
    return thread_m * thread_n / (packed ? 4 / size_bytes(t.accumulator) : 1);
  }
  /// Registers of the fragments of two steps of k.
  constexpr int fragment_registers(const GemmTraits& t) const {
    const int per_register = packed ? 4 / size_bytes(factor_type(t.element)) : 1;
    return 2 * step_factors() * (thread_m / (a_tile(t).along_k ? 1 : per_register) + thread_n / per_register);
  }
  /// Registers for values that a copy has loaded and not yet stored.
  static constexpr int staging_registers(const FmaTile& tile) {
    return tile.accesses() * div_up(tile.access * tile.element_bytes, 4);
  }
  /// With one stage, values are stored before the fragments of the next step are loaded, and have their registers.
  constexpr int staging_registers(const GemmTraits& t) const {
    const int all = (copies_async(t.a_is_k_major(), t.element) ? 0 : staging_registers(a_tile(t))) +
                    (copies_async(t.b_is_k_major(), t.element) ? 0 : staging_registers(b_tile(t)));
    return stages == 1 ? max_of(all - fragment_registers(t) / 2, 0) : all;
  }
};

/// True if the family computes with these types. Four s8 are read as a word, so k must be contiguous.
constexpr bool has_fma_types(const FmaConfig& c, const GemmTraits& t) {
  if (t.element == DType::s8) {
    const bool has_words = c.step_k(t.element) == 1 || (t.a_is_k_major() && t.b_is_k_major());
    return has_word_types(t) && size_bytes(t.element_d) > 1 && has_words;
  }
  // cp.async rounds nothing.
  if (t.element == DType::tf32) return has_word_types(t) && !c.async_copy;
  if (!is_wide_float(t.element) || !t.is_uniform()) return false;
  return t.accumulator == DType::f32 || (t.accumulator == DType::f16 && t.element == DType::f16);
}

/// True if the rows of both tiles, as they are stored, are whole accesses.
constexpr bool has_whole_accesses(const FmaConfig& c, const GemmTraits& t) {
  const FmaTile a = c.a_tile(t), b = c.b_tile(t);
  return a.row_elements() % a.access == 0 && b.row_elements() % b.access == 0;
}

/// True if slices divide the steps of a k-tile, and their sums are words.
constexpr bool has_legal_slices(const FmaConfig& c, const GemmTraits& t) {
  if (c.slices == 1) return true;
  const int threads = c.slice_threads();
  const bool has_lanes = threads == 8 || threads == 16 || threads % 32 == 0;
  return c.stages > 0 && has_lanes && c.steps(t.element) % c.slices == 0 && size_bytes(t.accumulator) == 4;
}

/// True if a thread reads four f32 along k at once, from rows of shared memory that run along k.
constexpr bool has_legal_quads(const FmaConfig& c, const GemmTraits& t) {
  if (!c.quads) return true;
  return t.element == DType::f32 && t.a_is_k_major() && t.b_is_k_major() && !c.transposed && c.group == 0;
}

/// True if a thread's rows and columns are whole groups, which packed kernels read 8 or 16 bytes at a time.
constexpr bool is_legal_group(const FmaConfig& c, int factor_bytes) {
  if (c.group == 0) return true;
  const int bytes = c.group * factor_bytes;
  const bool is_access = bytes == 16 || bytes == 8 || (!c.packed && (bytes == 4 || bytes == 2));
  return is_access && c.thread_m % c.group == 0 && c.thread_n % c.group == 0;
}

constexpr bool is_legal(const FmaConfig& c, const GemmTraits& t, const ArchLimits& arch) {
  if (c.block_m < 1 || c.block_n < 1 || c.block_k < 2 || c.thread_m < 1 || c.thread_n < 1) return false;
  if (c.block_m > 512 || c.block_n > 512 || c.thread_m > 16 || c.thread_n > 16) return false;
  if (c.block_m % c.thread_m != 0 || c.block_n % c.thread_n != 0 || c.thread_m * c.thread_n > 128) return false;
  if (c.slices < 1 || c.slices > 32) return false;  // before threads(), which multiplies by it
  if (c.threads() < 32 || c.threads() > kMaxThreadsPerBlock || c.threads() % 32 != 0) return false;
  if (!has_fma_types(c, t) || t.epilogue.is_gated() || !has_legal_slices(c, t)) return false;
  if (!has_legal_quads(c, t)) return false;
  const int step_k = c.step_k(t.element);
  if (c.block_k % step_k != 0 || c.slice_steps(t.element) < 2 || c.slice_steps(t.element) > 64) return false;

  const int bytes = size_bytes(t.element), factor_bytes = size_bytes(FmaConfig::factor_type(t.element));
  if (c.access != 1 && c.access != 2 && c.access != 4 && c.access != 8 && c.access != 16) return false;
  if (c.access * bytes > 16 || c.access > t.vec_a || c.access > t.vec_b || c.access % c.factor_elements(t.element) != 0)
    return false;
  if (c.packed && (c.thread_m * factor_bytes % 16 != 0 || c.thread_n * factor_bytes % 16 != 0)) return false;
  // Packed reads take neighbours along m and n; elements of A may also be read one by one.
  if (c.packed && !c.transposed && t.b_is_k_major()) return false;
  if (!is_legal_group(c, factor_bytes)) return false;
  if (c.async_copy && (!arch.has_cp_async || c.access * bytes < 4)) return false;
  if (c.stages < 0 || c.stages > (c.async_copy ? 4 : 2)) return false;
  if (c.blocks_per_sm < 1 || c.blocks_per_sm > 8) return false;
  if (c.stages == 0 && (c.access != 1 || c.packed || c.padded || c.async_copy || !c.transposed || c.group != 0))
    return false;

  if (!has_whole_accesses(c, t)) return false;
  if (c.a_tile(t).accesses() > 32 || c.b_tile(t).accesses() > 32) return false;
  const int smem = c.smem_bytes(t);
  if (smem > arch.smem_per_block_bytes) return false;
  if (c.blocks_per_sm * (smem + kReservedSmemPerBlockBytes) > arch.smem_per_sm_bytes) return false;
  if (c.blocks_per_sm * c.threads() > arch.threads_per_sm) return false;
  // Registers that a thread needs at once; addresses and loop state take about 24.
  return c.accumulator_registers(t) + c.fragment_registers(t) + c.staging_registers(t) + 24 <=
         register_budget(arch.registers_per_sm, c.threads(), c.blocks_per_sm);
}

}  // namespace hotgemm
