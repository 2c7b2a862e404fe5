#!/usr/bin/env python3
"""Bugs, planted in copies of the templates, that the emulated device must find.

mutants.py list                             their names
mutants.py write NAME TEMPLATES TWINS OUT   OUT becomes TEMPLATES as the emulated device sees them, with one bug
mutants.py run TEMPLATES PROGRAMS BUILD     builds PROGRAMS/mutant_NAME in BUILD for a sample of them, runs these, prints
                                            the list and the score
mutants.py self-test TEMPLATES              checks how the sample is drawn, and that each bug's text is there

HOTGEMM_TEST_FULL=1 runs all. Else HOTGEMM_TEST_SEED draws the sample, and HOTGEMM_TEST_CHANGED names the templates that
changed last ("wgmma.cuh shared/fragment.hpp"): the sample holds more of the bugs that are planted there.
A bug consists of a file, a text that occurs in it once, and the replacement of the text. The name of a bug begins with
the family whose kernels run with it. Names such as `simt_none` mean no bug: their programs must find nothing. All other
programs must find something. `self-test` fails if a text does not occur exactly once.
"""

import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys

# name: (file, text, replacement)
MUTANTS = {
    # ---- family mma: the pipeline ----
    "mma_no_barrier_behind_wait": (
        "mma.cuh",
        "    ptx::cp_async_wait_group<kStages - 2>();\n    ptx::bar_sync();\n",
        "    ptx::cp_async_wait_group<kStages - 2>();\n"),
    "mma_barrier_before_wait": (
        "mma.cuh",
        "    ptx::cp_async_wait_group<kStages - 2>();\n    ptx::bar_sync();\n",
        "    ptx::bar_sync();\n    ptx::cp_async_wait_group<kStages - 2>();\n"),
    "mma_wait_one_group_short": (
        "mma.cuh", "cp_async_wait_group<kStages - 2>", "cp_async_wait_group<kStages - 1>"),
    "mma_copies_in_no_group": (
        "mma.cuh", "    copy_b.advance();\n    if constexpr (kConfig.async_copy) ptx::cp_async_commit_group();\n", "    copy_b.advance();\n"),
    "mma_wrong_first_stage_to_write": (
        "mma.cuh", "u32 write = shared_ + (kStages - 1) * kStageBytes;", "u32 write = shared_;"),
    "mma_ring_one_stage_long": (
        "mma.cuh", "next == shared_ + kStages * kStageBytes", "next == shared_ + (kStages + 1) * kStageBytes"),
    "mma_prologue_one_tile_short": ("mma.cuh", "stage < kStages - 1; ++stage", "stage < kStages - 2; ++stage"),
    "mma_no_wait_before_epilogue": (
        "mma.cuh", "    ptx::cp_async_wait_group<0>();\n", ""),
    "mma_no_barrier_before_epilogue": (
        "mma.cuh", "    ptx::bar_sync();  // the epilogue reuses the stages\n", ""),
    "mma_no_barrier_in_staged_store": (
        "mma.cuh", "    ptx::bar_sync();\n    constexpr int kChunks", "    constexpr int kChunks"),
    "mma_b_does_not_advance": ("mma.cuh", "    copy_a.advance();\n    copy_b.advance();\n", "    copy_a.advance();\n"),
    # ---- family mma: edges ----
    "mma_last_k_tile_taken_for_whole": (
        "mma.cuh", "is_inside ? args_.k / kConfig.block_k : 0",
        "is_inside ? (args_.k + kConfig.block_k - 1) / kConfig.block_k : 0"),
    "mma_inside_off_by_one": ("operand_tile.cuh", "return outers - outer >=", "return outers - outer + 1 >="),
    "mma_copy_clipped_late": (
        "operand_tile.cuh", "clamp(left, 0, kVec)", "clamp(left + 1, 0, kVec)"),
    "mma_rows_off_by_one": (
        "operand_tile.cuh", "pass * kRowsPerPass - before < rows_left_", "pass * kRowsPerPass - before <= rows_left_"),
    "mma_c_read_off_by_one": (
        "mma_result.cuh", "if (row < args.m && col + 1 < args.n && kTraits.vec_d >= 2)",
        "if (row < args.m && col < args.n && kTraits.vec_d >= 2)"),
    "mma_direct_store_off_by_one": (
        "mma_result.cuh", "u32 pair, int row, int col) {\n    if (row >= args.m)",
        "u32 pair, int row, int col) {\n    if (row > args.m)"),
    "mma_staged_rows_off_by_one": ("mma.cuh", "if (block_m_ + row < args_.m)", "if (block_m_ + row <= args_.m)"),
    "mma_chunk_stored_too_wide": (
        "mma_result.cuh", "col + 8 <= args.n) {\n      store_global_aligned<kWidestStore>(d, ptx::", "col + 7 <= args.n) {\n      store_global_aligned<kWidestStore>(d, ptx::"),
    "mma_row_stored_too_wide": (
        "mma_result.cuh", "col + 8 <= args.n) {\n      store_global_aligned<kWidestStore>(d, {", "col + 7 <= args.n) {\n      store_global_aligned<kWidestStore>(d, {"),
    # ---- family mma: one stage, and the shuffled store ----
    "mma_copies_not_awaited": (
        "mma.cuh", "      if constexpr (kConfig.async_copy) ptx::cp_async_wait_group<0>();\n", ""),
    "mma_no_barrier_behind_copies": ("mma.cuh", "      ptx::bar_sync();  // the tile is there for every thread\n", ""),
    "mma_no_barrier_before_next_copies": ("mma.cuh", "      ptx::bar_sync();  // and no longer read\n", ""),
    "mma_shuffled_with_another_lane": (
        "word_exchange.cuh", "shfl_sync_bfly_b32(given, kDistance,", "shfl_sync_bfly_b32(given, kDistance ^ 3,"),
    "mma_wrong_word_exchanged": (
        "shared/fragment.hpp", "(lane & distance) != 0 ? word : word + distance",
        "(lane & distance) == 0 ? word : word + distance"),
    "mma_missing_rows_stored": ("mma.cuh", "      if (first + 4 > kRows && index >= kRows) continue;\n", ""),
    # ---- family mma: copies that keep no addresses ----
    "mma_recomputed_tile_does_not_advance": ("recomputed_copy.cuh", "advance() { k0_ += Copy::kBlockK; }", "advance() {}"),
    "mma_recomputed_edge_of_the_first_tile": (
        "operand_tile.cuh", "(kKMajor ? k - k0 : outers - outer)", "(kKMajor ? k : outers - outer)"),
    "mma_recomputed_rows_of_the_first_tile": (
        "operand_tile.cuh", "first_row = (kKMajor ? outer : k0)", "first_row = (kKMajor ? outer : 0)"),
    # ---- family mma: places ----
    "mma_fragments_of_a_transposed": (
        "shared/fragment.hpp", "k_major ? LdmatrixLane{r + 8 * low, high} : LdmatrixLane{r + 8 * high, low}",
        "k_major ? LdmatrixLane{r + 8 * high, low} : LdmatrixLane{r + 8 * low, high}"),
    "mma_halves_of_b_exchanged": (
        "mma.cuh", "b[j % kLoadColumns * 2], b[j % kLoadColumns * 2 + 1]",
        "b[j % kLoadColumns * 2 + 1], b[j % kLoadColumns * 2]"),
    "mma_x2_reads_one_matrix_twice": (
        "shared/fragment.hpp", "ldmatrix_b_lane(lane % 16, k_major)", "ldmatrix_b_lane(lane % 8, k_major)"),
    "mma_accumulators_transposed": (
        "shared/fragment.hpp", "{lane / 4 + (i / 2) * 8, (lane % 4) * 2 + i % 2}",
        "{(lane % 4) * 2 + i % 2, lane / 4 + (i / 2) * 8}"),
    "mma_swizzle_added": (
        "operand_tile.cuh", "(base_ ^ (low * kChunkBytes))", "(base_ + (low * kChunkBytes))"),
    "mma_swizzle_does_not_spread": (
        "shared/tile_layout.hpp", "static_cast<int>(r / (kBankGroups / span) % span)", "static_cast<int>(r % span)"),
    # ---- family mma: elements of 8 and 32 bits ----
    "mma_words_tile_of_16_bits": (
        "operand_tile.cuh", "class TileCopy {\n public:\n  static constexpr int kChunkElements = kChunkBytes / kElementBytes;",
        "class TileCopy {\n public:\n  static constexpr int kChunkElements = kChunkBytes / 2;"),
    "mma_words_copied_beyond_the_edge": (
        "operand_tile.cuh", "clamp(left, 0, kVec) * kElementBytes", "clamp(left, 0, kVec) * 4"),
    "mma_words_steps_of_16_bits": (
        "shared/mma_config.hpp", "return kMmaKBytes / size_bytes(t.element);", "return kMmaK / size_bytes(t.element);"),
    "mma_tf32_not_rounded": ("mma.cuh", "bits = ptx::cvt_rna_tf32(bits);", "bits = bits + 0;"),
    "mma_tf32_a_rounded_alone": (
        "mma.cuh", "load_fragment(source_b, b[0], stage", "source_b.load(b[0], stage"),
    "mma_bytes_of_the_second_row_first": (
        "operand_tile.cuh", "ptx::prmt_b32(low, high, 0x6420)", "ptx::prmt_b32(low, high, 0x4620)"),
    "mma_bytes_even_columns_twice": (
        "operand_tile.cuh", "ptx::prmt_b32(low, high, 0x7531)", "ptx::prmt_b32(low, high, 0x6420)"),
    "mma_bytes_of_consecutive_rows": (
        "shared/fragment.hpp", "r % 2 + r / 2 * 4 + 2 * high + 16 * k_half", "r + 8 * high + 16 * k_half"),
    "mma_bytes_rows_in_natural_order": (
        "mma.cuh", "(kOddRows ? half + 2 * first : half * 8 + first)", "half * 8 + first"),
    "mma_block_of_k_at_the_end_left_out": ("mma.cuh", "if ((tile + 1) % kTiles != 0 && tile + 1 < k_tiles) return;", "if ((tile + 1) % kTiles != 0) return;"),
    "mma_sums_of_the_block_before_added_again": ("mma_totals.cuh", "            sums[i][j].d[e] = 0;\n", ""),
    "mma_bytes_columns_in_natural_order": (
        "mma.cuh", "accumulator_col(even) + 2 * first.col + j % 2 * 2", "accumulator_col(even) + first.col + j % 2 * 8"),
    "mma_bytes_sums_of_one_column_twice": (
        "mma.cuh", "this->sum(i, even + 1, sum)", "this->sum(i, even, sum)"),
    "mma_bytes_steps_of_words": (
        "operand_tile.cuh", "kMmaKBytes / kElementBytes * k_step", "16 * k_step"),
    "mma_words_halves_of_a_as_of_b": (
        "shared/fragment.hpp", "is_a ? half + 2 * k_half : 2 * half + k_half", "2 * half + k_half"),
    "mma_words_at_the_chunk": (
        "shared/fragment.hpp", "{lane % 4, lane / 16, lane / 4 % 4 * 4}", "{lane % 4, lane / 16, 0}"),
    "mma_words_of_the_next_k_step": (
        "operand_tile.cuh", "k_half * 4 * kTile.row_stride_bytes()", "k_half * 8 * kTile.row_stride_bytes()"),
    "mma_words_low_result_twice": (
        "mma.cuh", "{block_m_ + row, first_col_of_d() + col}, low, high);", "{block_m_ + row, first_col_of_d() + col}, low, low);"),
    # ---- family simt ----
    "simt_no_barrier_before_products": (
        "simt.cuh", "      ptx::bar_sync();\n      multiply_tile();\n", "      multiply_tile();\n"),
    "simt_no_barrier_behind_products": (
        "simt.cuh", "      multiply_tile();\n      ptx::bar_sync();\n", "      multiply_tile();\n"),
    "simt_early_return_before_barrier": (
        "simt.cuh", "for (int k0 = 0; k0 < args_.k; k0 += kConfig.block_k) {\n",
        "for (int k0 = 0; k0 < args_.k; k0 += kConfig.block_k) {\n      if (block_m_ + thread_m_ >= args_.m) return;\n"),
    "simt_load_off_by_one": ("simt.cuh", "place < outers", "place <= outers"),
    "simt_load_beyond_k": ("simt.cuh", "if (place < outers && k0 + k < args_.k)", "if (place < outers)"),
    "simt_store_off_by_one": ("simt.cuh", "if (row >= args.m ||", "if (row > args.m ||"),
    "simt_b_read_as_a": (
        "simt.cuh", "load_tile<false, kTraits.element_b, kRowB,", "load_tile<false, kTraits.element, kRowB,"),
    "simt_c_read_as_a": (
        "simt.cuh", "load_result<kTraits.element_d>(args.c,", "load_element<kTraits.element>(args.c,"),
    "simt_tf32_not_rounded": (
        "element_access.cuh", "ptx::float_of(ptx::round_tf32(ptx::ld_global_b32(address)))",
        "ptx::float_of(ptx::ld_global_b32(address))"),
    "simt_s8_without_sign": (
        "element_access.cuh", "return static_cast<signed char>(code);", "return static_cast<int>(code);"),
    # ---- gates ----
    "simt_gate_columns_exchanged": ("shared/gate.hpp", "GateColumns{2 * col, 2 * col + 1}", "GateColumns{2 * col + 1, 2 * col}"),
    "simt_gate_goes_through_no_activation": (
        "fused_sum.cuh", "shaped(values.gate, elements, vectors, at), values.other)",
        "values.gate, shaped(values.other, elements, vectors, at))"),
    "simt_gate_with_the_bias_of_d": (
        "epilogue_vectors.cuh", "of_column(source, columns.other,", "of_column(source, columns.gate,"),
    "simt_gate_second_half_of_the_tile": ("simt.cuh", "outer0 / 2 + outer % kHalf", "outer0 / 2 + outer"),
    "mma_gate_halves_beside_each_other": ("operand_tile.cuh", "(outers - kHalf) * kElementBytes", "outers * kElementBytes"),
    "mma_gate_second_half_clipped_with_the_first": (
        "operand_tile.cuh", "left - step + (is_second_column(col) ? kHalf : 0)", "left - step"),
    "mma_gate_rows_of_the_second_half_left_out": ("operand_tile.cuh", "is_second_row(row) ? kHalf : 0", "0"),
    "mma_gate_elements_of_the_pair": ("mma.cuh", "first_col_of_d() + col / 2}, low, high)", "first_col_of_d() + col / 2}, high, low)"),
    "wgmma_gate_of_the_next_part": ("shared/gate.hpp", "first / 2 + part * half", "first / 2"),
    "wgmma_gate_halves_of_the_tile": ("wgmma_load.cuh", "place(part, row) : k + row", "part.outer + row : k + row"),
    "wgmma_gate_slabs_of_the_tile": ("wgmma_load.cuh", "k + column : place(part, column)", "k + column : part.outer + column"),
    "wgmma_gate_neighbours_exchanged": ("wgmma_epilogue.cuh", "t < 2 ? 0x5410 : 0x7632", "t < 2 ? 0x7632 : 0x5410"),
    "wgmma_gate_operands_beyond_d": ("epilogue_vectors.cuh", "bool is_there = col < gemm.n;", "bool is_there = true;"),
    "wgmma_gate_holds_one_half_twice": ("epilogue_vectors.cuh", "first.col + along, gemm.n, gemm.n", "first.col + along, 0, gemm.n"),
    "wgmma_held_gate_beyond_d": ("epilogue_vectors.cuh", "first.col + along, gemm.n, gemm.n", "first.col + along, gemm.n, 2 * gemm.n"),
    "wgmma_gate_columns_of_the_product": ("gated_sums.cuh", "of_d.n /= 2;", ""),
    # ---- epilogues ----
    "simt_bias_of_the_next_column": ("epilogue_vectors.cuh", "bias(source.args.bias, col, is_there)", "bias(source.args.bias, col + 1, is_there)"),
    "simt_vectors_of_rows_by_column": (
        "epilogue_vectors.cuh", "elements.row = of_row(source, at.row, at.row < gemm.m);",
        "elements.row = of_row(source, at.col, at.col < gemm.n);"),
    "mma_pair_at_one_column": ("epilogue_vectors.cuh", "set_columns(pair.second, source, gemm, next.col);", ""),
    # ---- vectors that a warp holds ----
    "wgmma_vectors_of_another_lane": ("shared/fragment.hpp", "group * 8 + number / 2 * 4 +", "group * 8 + number % 2 * 4 +"),
    "wgmma_vectors_of_the_first_lanes": ("shared/fragment.hpp", "group * 8 + number / 2 * 4 +", "number / 2 * 4 +"),
    "wgmma_vectors_of_the_first_group": ("fused_sum.cuh", "    group_ = group;\n", "    group_ = 0;\n"),
    "wgmma_vectors_of_rows_exchanged": ("epilogue_vectors.cuh", "own_[number % 2];", "own_[1 - number % 2];"),
    "wgmma_vectors_of_the_first_part": (
        "wgmma_epilogue.cuh", "op.hold_vectors(args_, at);", "op.hold_vectors(args_, {at.row, col});"),
    "wgmma_transposed_vectors_of_the_stored_rows": (
        "wgmma_transposed.cuh", "op.hold_vectors(args_, first_pair(here));", "op.hold_vectors(args_, at);"),
    "wgmma_transposed_rows_of_the_storing_warp": (
        "wgmma_transposed.cuh", "piece.row - Staging::warp() * WgmmaConfig::kStoreRows,", "piece.row,"),
    "wgmma_transposed_columns_of_the_first_warp": (
        "wgmma_transposed.cuh", "piece.col + Staging::warp() * 16", "piece.col"),
    "wgmma_held_rows_of_one_half": ("epilogue_vectors.cuh", "first.row + across + 8 * half", "first.row + across"),
    "wgmma_held_columns_of_one_half": ("epilogue_vectors.cuh", "first.col + across + 8 * half", "first.col + across"),
    "wgmma_held_rows_below_d": ("epilogue_vectors.cuh", "of_row(source, row, row < gemm.m)", "of_row(source, row, true)"),
    "wgmma_held_columns_beyond_d": (
        "epilogue_vectors.cuh", "of_column(source, col, col, col < gemm.n)", "of_column(source, col, col, true)"),
    "wgmma_vectors_of_rows_below_d": (
        "epilogue_vectors.cuh", "adjacent<true>(source, first.row + along, 0, gemm.m)",
        "adjacent<true>(source, first.row + along, 0, gemm.m + 1)"),
    "wgmma_vectors_of_rows_by_column": (
        "epilogue_vectors.cuh", "adjacent<true>(source, first.row + along, 0, gemm.m)",
        "adjacent<true>(source, first.col + along, 0, gemm.n)"),
    "wgmma_second_of_a_pair_beyond_d": ("epilogue_vectors.cuh", "has_second = index + 1 < end", "has_second = index < end"),
    "wgmma_second_scale_of_the_first": ("epilogue_vectors.cuh", "number(vector, at + 1, has_second)", "number(vector, at, has_second)"),
    "wgmma_first_scale_twice": ("epilogue_vectors.cuh", "second.scale = number(held.scale[1]);", "second.scale = number(held.scale[0]);"),
    "wgmma_first_bias_twice": (
        "epilogue_vectors.cuh", "ptx::widen_upper<kBias>(both)", "ptx::widen<kBias>(static_cast<u16>(both))"),
    "wgmma_second_operand_of_the_first": (
        "epilogue_vectors.cuh", "operands[i], index + 1, has_second)", "operands[i], index, has_second)"),
    "wgmma_bit_of_a_pair_at_one_column": ("epilogue_vectors.cuh", "pair.second.bit = bit(source, gemm, next);", ""),
    "wgmma_prefetches_beyond_a_vector": ("epilogue_vectors.cuh", "first + min_of(at, count - 1)", "first + at"),
    "wgmma_prefetches_rows_below_d": ("epilogue_vectors.cuh", "min_of(extent.row, gemm.m - tile.row)", "extent.row"),
    "wgmma_prefetches_columns_beyond_d": ("epilogue_vectors.cuh", "min_of(extent.col, gemm.n - tile.col)", "extent.col"),
    # ---- matrices that a warp copies ----
    "wgmma_matrix_rows_below_d": ("wgmma_staging.cuh", "row + at.row < args_.m ? max_of", "true ? max_of"),
    "wgmma_matrix_columns_beyond_d": (
        "wgmma_staging.cuh", "max_of(0, min_of(kVector, args_.n - col - at.col))", "kVector"),
    "wgmma_matrix_steps_by_one_row": ("wgmma_staging.cuh", "pass * (kWarpSize * kVector / cols) * ld", "pass * ld"),
    "wgmma_matrix_steps_within_a_row": ("wgmma_staging.cuh", "return kWarpSize * kVector % cols == 0;", "return true;"),
    "simt_auxiliary_behind_the_activation": (
        "fused_sum.cuh", "if (is_inside) store_auxiliary(gemm, at, value);",
        "if (is_inside) store_auxiliary(gemm, at, activated<kEpilogue.activation>(value));"),
    "simt_residual_in_rows_of_d": ("fused_sum.cuh", "(matrix, at.row * ld + at.col)", "(matrix, at.row * gemm.ldd + at.col)"),
    "simt_residual_not_scaled": (
        "fused_sum.cuh", "if constexpr (kEpilogue.residual) value = ptx::add_rn(value, elements.residual);",
        "if constexpr (kEpilogue.residual) return ptx::add_rn(ptx::mul_rn(value, scale_d_), elements.residual);"),
    # ---- ReLU's bits, and gradients of biases ----
    "simt_bits_that_are_only_set": ("relu_bits.cuh", "ptx::red_global_and_b32(word, ~mask);", ""),
    "simt_bit_of_zero": ("relu_bits.cuh", "return value >= 0;", "return value > 0;"),
    "simt_bits_in_words_of_bytes": ("relu_bits.cuh", "at.col / 32 * 4", "at.col / 32"),
    "simt_bits_of_the_first_product": (
        "batch.cuh", "moved(args.auxiliary, batch.stride_auxiliary / 8, product, 1)", "args.auxiliary"),
    "simt_bits_read_without_a_shift": ("relu_bits.cuh", ">> (at.col % 32) & 1) != 0", "& 1) != 0"),
    "wgmma_held_bits_of_one_word": ("held_relu_bits.cuh", "words_[number % 2][group / 2]", "words_[number % 2][0]"),
    "wgmma_held_bits_below_the_last_row": ("held_relu_bits.cuh", "row < end.row && col < end.col", "col < end.col"),
    "wgmma_held_bits_behind_the_last_word": ("held_relu_bits.cuh", "row < end.row && col < end.col", "row < end.row"),
    "wgmma_held_bits_of_the_upper_rows": ("held_relu_bits.cuh", "(lane / 4 + 8 * half) * 2 + side", "(lane / 4) * 2 + side"),
    "wgmma_held_bits_of_one_side": ("held_relu_bits.cuh", ") * 2 + side)", ") * 2)"),
    "wgmma_held_bits_of_the_first_lane": ("held_relu_bits.cuh", " >> (lane % 4 * 2)", ""),
    "wgmma_held_bits_of_even_groups": ("held_relu_bits.cuh", "group % 2 * 16 + number / 2 * 8", "number / 2 * 8"),
    "wgmma_held_bits_at_the_word": ("held_relu_bits.cuh", "shift = col % 32;", "shift = 0;"),
    "wgmma_held_bit_of_a_pair_twice": ("held_relu_bits.cuh", "both & 2u", "both & 1u"),
    "wgmma_held_bits_down_at_the_word": ("held_relu_bits.cuh", "shift = first.col % 32;", "shift = 0;"),
    "wgmma_held_bits_down_not_cut": ("held_relu_bits.cuh", " >> shift & 0xffffu)", " >> shift)"),
    "wgmma_held_bits_of_one_row_twice": ("held_relu_bits.cuh", "word(row + 1, first.col)", "word(row, first.col)"),
    "wgmma_held_bit_of_the_upper_row": ("held_relu_bits.cuh", "both & 0x10000u", "both & 1u"),
    "wgmma_held_bits_of_the_first_columns": ("held_relu_bits.cuh", "(lane / 4 + number % 2 * 8)", "(lane / 4)"),
    "wgmma_held_bits_of_a_word_alone": ("held_relu_bits.cuh", "funnel(word(row, col), word(row, col - shift + 32),", "funnel(word(row, col), 0,"),
    "simt_gradient_of_rows_by_column": ("bias_gradient.cuh", "? at.row : at.col;", "? at.col : at.col;"),
    "simt_gradient_behind_the_scale": ("fused_sum.cuh", "(extras_.bias_gradient, value, at,", "(extras_.bias_gradient, value * scale_d_, at,"),
    "mma_bits_of_half_a_quad": ("relu_bits.cuh", "    byte |= ptx::shfl_sync_bfly_b32(byte, 2, 0x1f, quad);\n", ""),
    "mma_bits_beyond_the_last_row": ("relu_bits.cuh", "at.col % 8 == 0 && at.row < end.row && at.col", "at.col % 8 == 0 && at.col"),
    "mma_gradient_of_rows_that_are_not_there": ("bias_gradient.cuh", "  if (!is_there) value = 0;\n", ""),
    "mma_gradient_of_half_the_lanes": ("bias_gradient.cuh", "added_across(added_across(value, 8, column), 16, column)", "added_across(value, 8, column)"),
    "mma_gradient_of_half_a_quad": ("bias_gradient.cuh", "added_across(added_across(value, 1, quad), 2, quad)", "added_across(value, 1, quad)"),
    "wgmma_bits_of_rows_exchanged": ("relu_bits.cuh", "row % 2 == 0 ? first : second", "row % 2 == 0 ? second : first"),
    "wgmma_bits_of_another_lane": ("relu_bits.cuh", " >> (row % 8 / 2)", ""),
    "wgmma_bits_of_odd_columns_first": ("relu_bits.cuh", "return (both | both >> 7) & 0xffu;", "return (both << 1 | both >> 8) & 0xffu;"),
    "wgmma_bits_of_the_rows_above": ("relu_bits.cuh", "const bool is_below = row >= 8;", "const bool is_below = false;"),
    "wgmma_bits_of_rows_of_the_next_tile": ("relu_bits.cuh", "if (row >= extent.row || first", "if (row >= 16 || first"),
    "wgmma_gradient_of_half_the_rows": ("bias_gradient.cuh", "added_across(exchanged(kept[0], kept[1], 8, lane), 4, ~0u)", "exchanged(kept[0], kept[1], 8, lane)"),
    "wgmma_gradient_given_and_kept": ("bias_gradient.cuh", "is_high ? low : high)", "is_high ? high : low)"),
    "wgmma_gradient_beyond_its_end": ("bias_gradient.cuh", "lane / 4 % 2 == 0 && index < end", "lane / 4 % 2 == 0"),
    "wgmma_gradient_of_the_group_before": ("fused_sum.cuh", "begin_group() const { sums_ = {}; }", "begin_group() const {}"),
    "wgmma_gradient_of_columns_twice": ("wgmma_epilogue.cuh", "!Op::kOnceOnly && kColumns", "!Op::kMayReadD && kColumns"),
    "wgmma_split_neighbours_that_leave": ("pair_access.cuh", "if (!Op::kNeedsNeighbours && (at.row", "if ((at.row"),
    "wgmma_direct_neighbours_that_leave": ("wgmma_direct.cuh", "if (!Op::kNeedsNeighbours && !is_inside) return;", "if (!is_inside) return;"),
    "simt_alpha_of_the_host": ("fused_sum.cuh", "if (epilogue_.alpha != 0)", "if (epilogue_.alpha == 0)"),
    "simt_beta_of_the_host": ("fused_sum.cuh", "if (kReadsC && epilogue_.beta != 0)", "if (kReadsC && epilogue_.beta == 0)"),
    "simt_row_of_a_function_by_column": (
        "fused_sum.cuh", "vectors.row.operands[kIndex]", "vectors.column.operands[kIndex]"),
    "simt_function_of_exchanged_indices": (
        "fused_sum.cuh", "value, at.row, at.col, static_cast<int>(", "value, at.col, at.row, static_cast<int>("),
    "simt_function_of_the_first_product": ("batch.cuh", "args.product = number_of(product);", "args.product = 0;"),
    "mma_function_of_a_pair_at_one_column": (
        "fused_sum.cuh", "return upper(both); }), vectors.second, next, 1));", "return upper(both); }), vectors.second, at, 1));"),
    "wgmma_function_of_the_first_product": ("batch.cuh", "args.product = number_of(product);", "args.product = 0;"),
    "wgmma_operand_of_a_function_beyond_d": (
        "epilogue_vectors.cuh", "operands[i], index, has_first)", "operands[i], index)"),
    "mma_amax_beyond_d": (
        "fused_sum.cuh", "kEpilogue.amax && at.row < gemm.m && at.col < gemm.n", "kEpilogue.amax"),
    "simt_amax_behind_the_scale": (
        "fused_sum.cuh", "at.col < gemm.n) largest_.add(value);", "at.col < gemm.n) largest_.add(value * scale_d_);"),
    "simt_amax_of_the_first_tile": ("largest.cuh", "bits_ > ptx::ld_relaxed_gpu_b32(address_)", "0 == ptx::ld_relaxed_gpu_b32(address_)"),
    "simt_amax_with_its_sign": ("largest.cuh", "ptx::bits_of(value) & 0x7fffffffu", "value < 0 ? 0 : ptx::bits_of(value)"),
    "simt_derivative_at_the_value": ("activation.cuh", "return x <= 0 ? 0.0f : value;", "return value <= 0 ? 0.0f : value;"),
    "simt_matrix_of_the_first_product": ("batch.cuh", "args.stride[i], number_of(product),", "args.stride[i], 0,"),
    "mma_matrix_of_a_pair_at_one_column": ("fused_sum.cuh", "return upper(both); }), vectors", "return lower(both); }), vectors"),
    "simt_clamp_below_only": ("activation.cuh", "x > high ? high : x", "x"),
    "simt_negative_of_relu": ("activation.cuh", "ptx::at_least(x, 0.0f)", "ptx::at_least(x, -x)"),
    "wgmma_epilogue_read_beyond_d": (
        "epilogue_vectors.cuh", "has_first = index < end", "has_first = true"),
    "wgmma_residual_of_a_pair_beyond_d": (
        "fused_sum.cuh", "(place(matrix, ld, at), is_inside, has_both)", "(place(matrix, ld, at), is_inside, true)"),
    "mma_auxiliary_pair_beyond_d": (
        "fused_sum.cuh", "store_auxiliary_pair(gemm, at, first, second, next.col < gemm.n);",
        "store_auxiliary_pair(gemm, at, first, second, true);"),
    "mma_auxiliary_pair_of_a_gate_twice": ("fused_sum.cuh", "other, first.other, second.other, has_both", "other, first.gate, second.gate, has_both"),
    "mma_auxiliary_pair_at_an_odd_column": ("fused_sum.cuh", "if (gemm.n % 2 == 0) return store_auxiliary_pair", "return store_auxiliary_pair"),
    "mma_auxiliary_columns_of_a_gate_exchanged": (
        "fused_sum.cuh", "store_auxiliary(gemm, {at.row, columns.gate}, values.gate);", "store_auxiliary(gemm, {at.row, columns.gate}, values.other);"),
    "wgmma_pairs_down_taken_for_pairs_beside": (
        "fused_sum.cuh", "{at.row + (kPairsDown ? 1 : 0), at.col + (kPairsDown ? 0 : 1)}", "{at.row, at.col + 1}"),
    "wgmma_residual_read_where_it_is_overwritten": (
        "wgmma_epilogue.cuh", "!Op::kOnceOnly && kColumns", "!Op::kReadsC && kColumns"),
    "wgmma_residual_read_while_bytes_are_stored": (
        "wgmma_direct.cuh", "if constexpr (Op::kMayReadD) ptx::bar_warp_sync", "if constexpr (Op::kReadsC) ptx::bar_warp_sync"),
    "mma_residual_read_while_rows_are_stored": (
        "mma.cuh", "if constexpr (Op::kMayReadD) ptx::bar_warp_sync", "if constexpr (Op::kReadsC) ptx::bar_warp_sync"),
    "mma_c_of_a_fused_kernel_beyond_d": (
        "mma_result.cuh", "if (row < args.m && col < args.n) c = load_pair_bits", "c = load_pair_bits"),
    "mma_scales_of_the_place_in_the_tile": (
        "mma.cuh", "product_column(kEpilogue.gate,", "product_column(Gate::none,"),
    # ---- batches ----
    "simt_c_of_the_first_product": ("batch.cuh", "moved(args.c, batch.stride_c, product,", "moved(args.c, 0, product,"),
    "simt_residual_of_the_first_product": (
        "batch.cuh", "moved(args.residual, batch.stride_residual, product,", "moved(args.residual, 0, product,"),
    "simt_tiles_of_a_product_twice": (
        "batch.cuh", "ptx::block_index() - index * tiles", "(ptx::block_index() - index * tiles) / 2"),
    "wgmma_a_of_the_first_product": (
        "wgmma_load.cuh", "== 0 ? 0 : static_cast<int>(product)", "== 0 ? 0 : static_cast<int>(product - product)"),
    "wgmma_shared_matrix_beyond_its_map": (
        "wgmma_load.cuh", "== 0 ? 0 : static_cast<int>(product)", "== 1 ? 0 : static_cast<int>(product)"),
    "wgmma_d_of_the_first_product": ("wgmma_sink.cuh", "3d_store(map_, x, y, static_cast<int>(number_of(product_)),",
        "3d_store(map_, x, y, 0 * static_cast<int>(number_of(product_)),"),
    "wgmma_product_of_the_next_tile": ("wgmma_schedule.cuh", "cluster_tile / of_product : 0", "(cluster_tile + 1) / of_product : 0"),
    "wgmma_last_product_left_out": (
        "wgmma_batch.cuh", "return batch_of(args).count;", "return batch_of(args).count - 1;"),
    "wgmma_loads_of_the_first_product": (
        "wgmma_thread_load.cuh", "moved(first_matrix(), stride, product,", "moved(first_matrix(), stride, product - product,"),
    "wgmma_products_share_slots": (
        "wgmma_split.cuh", ".tile = group * kCluster + rank_", ".tile = (group - product * (groups_m * groups_n)) * kCluster + rank_"),
    "simt_pointer_of_the_first_product": (
        "batch.cuh", "u64{product} * sizeof(u64)", "u64{product - product} * sizeof(u64)"),
    "wgmma_pointer_in_another_window": ("shared/address_place.hpp", "(offset / kWindow)", "(offset / kWindow + 1)"),
    "wgmma_stores_to_the_first_chunk": (
        "wgmma_sink.cuh", "4d_store(map_, x, y, matrix.chunk,", "4d_store(map_, x, y, 0 * matrix.chunk,"),
    "wgmma_loads_by_the_first_pointer": (
        "wgmma_thread_load.cuh", "address_in(first_matrix(), product)", "address_in(first_matrix(), product - product)"),
    # ---- groups ----
    "simt_groups_begin_at_the_first_row": ("batch.cuh", "ld * group.begin", "ld * 0"),
    "simt_rows_of_the_next_group": ("batch.cuh", "args.m = group.rows;", "args.m = args.m;"),
    "simt_weights_of_the_first_group": ("batch.cuh", "static_cast<u32>(group.number), size_bytes", "0u, size_bytes"),
    "simt_scales_of_the_first_group": (
        "batch.cuh", "moved_rows(args.scale_a, 1, group", "moved_rows(args.scale_a, 0, group"),
    "simt_block_scales_of_the_first_rows": (
        "batch.cuh", "moved_rows(args.scale_a, 1, product", "moved_rows(args.scale_a, 0, product"),
    "simt_block_scales_of_the_first_a": (
        "batch.cuh", "extras.stride_scale_a, number_of", "0 * extras.stride_scale_a, number_of"),
    "simt_block_scales_of_the_first_k": ("batch.cuh", "product.begin / kScaleBlock", "0 * product.begin / kScaleBlock"),
    "simt_block_scales_of_the_first_group": (
        "batch.cuh", "extras.stride_scale_b, number_of", "0 * extras.stride_scale_b, number_of"),
    "simt_block_scales_of_the_place_in_the_tile": (
        "simt.cuh", "scales.of_columns(place / kScaleBlock", "scales.of_columns((outer0 + outer) / kScaleBlock"),
    "simt_last_group_left_out": ("row_groups.cuh", "if (first + lane < count) {", "if (first + lane + 1 < count) {"),
    "simt_scan_one_step_short": (
        "row_groups.cuh", "distance < kWarpSize; distance *= 2", "distance < kWarpSize / 16; distance *= 2"),
    "simt_last_tile_of_a_group_left_out": ("shared/row_groups.hpp", "(rows - 1) / tile + 1) : 0", "(rows - 1) / tile) : 0"),
    "simt_rows_beyond_the_offsets": ("shared/row_groups.hpp", "behind - first}", "m - first}"),
    "wgmma_group_loads_the_first_rows": (
        "wgmma_schedule.cuh", "return item.group.begin + item.m;", "return item.m;"),
    "wgmma_group_boxes_end_with_a": (
        "wgmma_load.cuh", "kTile.k_major && !kAnyRows &&", "kTile.k_major &&"),
    "wgmma_group_stores_at_the_first_row": (
        "wgmma_sink.cuh", "2d_store(map_, x, product_.begin + y", "2d_store(map_, x, y"),
    "wgmma_group_stores_rows_of_the_next": (
        "wgmma_sink.cuh", "kTraits.counts_rows() ? piece.row + rows <= args_.m : piece.row < args_.m", "piece.row < args_.m"),
    "wgmma_passed_stage_given_back_by_the_first_warp": (
        "wgmma.cuh", "      ptx::bar_sync(1 + thread_ / kWarpgroupThreads, kWarpgroupThreads);  // or a late", "      // a late"),
    "wgmma_group_tiles_taken_twice": (
        "wgmma_schedule.cuh", "ptx::block_index() / kConfig.cluster(), ptx::grid_size()", "0u, ptx::grid_size()"),
    "simt_masked_vectors_of_the_first_group": (
        "shared/row_groups.hpp", "return {number, number * m, count", "return {number, 0 * m, count"),
    "simt_masked_rows_behind_the_count": ("shared/row_groups.hpp", "count > m ? m : count};", "m};"),
    "simt_bias_of_the_first_group": (
        "batch.cuh", "groups_of(parameter).stride_bias, number_of(group)", "groups_of(parameter).stride_bias, 0u"),
    "simt_operands_of_a_function_of_the_first_group": (
        "batch.cuh", "moved_rows(args.operands[i], 1,", "moved_rows(args.operands[i], 0,"),
    "simt_k_groups_begin_at_the_first_row": ("batch.cuh", "args.lda * group.begin", "args.lda * 0 * group.begin"),
    "simt_k_of_the_next_group": ("batch.cuh", "args.k = group.k;", "args.k = args.k - group.begin;"),
    "simt_k_groups_share_d": ("batch.cuh", "moved(args.d, batch.stride_d, number_of(group)", "moved(args.d, 0, number_of(group)"),
    "wgmma_k_group_ends_a_row_late": (
        "wgmma_ragged_load.cuh", "kRaggedRows - group.k, group.begin + group.k,",
        "kRaggedRows - group.k - 1, group.begin + group.k + 1,"),
    "wgmma_empty_k_group_has_the_sums_of_the_tile_before": (
        "wgmma.cuh", "item.k_tiles == 0) clear(accumulators);", "item.k_tiles < 0) clear(accumulators);"),
    "simt_tile_transposed": ("simt.cuh", "shared + (k * kRow + outer) * 4", "shared + (outer * kRow + k) * 4"),
    "simt_row_without_padding": ("simt.cuh", "kRowB = kConfig.block_n + 1;", "kRowB = kConfig.block_n - 1;"),
    # ---- family fma ----
    "fma_no_barrier_behind_wait": (
        "fma.cuh", "cp_async_wait_group<kAhead - 1>();\n    ptx::bar_sync();\n", "cp_async_wait_group<kAhead - 1>();\n"),
    "fma_wait_one_group_short": ("fma.cuh", "cp_async_wait_group<kAhead - 1>", "cp_async_wait_group<kAhead>"),
    "fma_copies_in_no_group": ("fma.cuh", "    if constexpr (kConfig.async_copy) ptx::cp_async_commit_group();\n", ""),
    "fma_stage_copied_over_while_read": (
        "fma.cuh", "    if constexpr (kStages == 1) {\n      ptx::bar_sync();\n", "    if constexpr (kStages == 1) {\n"),
    "fma_write_does_not_move": ("fma.cuh", "    write_ = next_stage(write_);\n", ""),
    "fma_read_does_not_move": ("fma.cuh", "    read_ = next_stage(read_);\n", ""),
    "fma_prologue_one_tile_short": ("fma.cuh", "stage < kAhead; ++stage", "stage < kAhead - 1; ++stage"),
    "fma_last_k_tile_taken_for_whole": (
        "fma.cuh", "is_inside ? args_.k / kConfig.block_k : 0",
        "is_inside ? (args_.k + kConfig.block_k - 1) / kConfig.block_k : 0"),
    "fma_inside_off_by_one": (
        "fma.cuh", "args_.n - block_n_ >= kConfig.block_n;", "args_.n - block_n_ >= kConfig.block_n - 1;"),
    "fma_same_fragment_twice": ("fma.cuh", "kLast ? 0 : kStep + 1);", "kLast ? 0 : kStep);"),
    "fma_rows_off_by_one": ("fma.cuh", "if (row(i) >= args_.m) continue;", "if (row(i) > args_.m) continue;"),
    "fma_results_stored_too_wide": (
        "fma.cuh", "col(j) + kWidth <= args_.n", "col(j) + kWidth - 1 <= args_.n"),
    "fma_load_clipped_late": (
        "fma_copy.cuh", "if (e >= left) continue;", "if (e > left) continue;"),
    "fma_b_does_not_advance": (
        "fma_copy.cuh", "source_ += static_cast<u64>(tile_stride_);",
        "source_ += kTile.k_major ? static_cast<u64>(tile_stride_) : 0;"),
    "fma_rows_without_padding": (
        "shared/fma_layout.hpp", "return (along_k ? outer : block_k) * row_bytes();",
        "return (along_k ? outer : block_k) * (row_bytes() - 16);"),
    "fma_lanes_exchanged": ("shared/fma_layout.hpp", "lane / pair % lanes_n", "lane / pair % lanes_m"),
    "fma_halves_exchanged": ("fma_fragment.cuh", "return i % 2 == 0 ? static_cast<u16>", "return i % 2 != 0 ? static_cast<u16>"),
    "fma_untransposed_elements_beside": (
        "shared/fma_layout.hpp", "return along_k ? row_bytes() : element_bytes;", "return element_bytes;"),
    "fma_untransposed_steps_of_rows": (
        "shared/fma_layout.hpp", "k * (along_k ? element_bytes : row_bytes())", "k * row_bytes()"),
    "fma_slices_sum_over_read_stages": (
        "fma.cuh", "    ptx::bar_sync();\n    if (slice_ > 0) {\n", "    if (slice_ > 0) {\n"),
    "fma_slices_summed_before_stored": (
        "fma.cuh", "    ptx::bar_sync();\n    if (slice_ > 0) return;\n", "    if (slice_ > 0) return;\n"),
    "fma_last_slice_left_out": ("fma.cuh", "slice < kConfig.slices; ++slice", "slice < kConfig.slices - 1; ++slice"),
    "fma_slices_read_the_same_steps": ("fma.cuh", "slice_ * kConfig.slice_steps(kElement) *", "0 *"),
    "fma_slices_share_a_place": ("fma.cuh", "(((slice - 1) * kRows + i)", "((kRows + i)"),
    "fma_quads_end_early": ("fma_fragment.cuh", "k == 2 ? q.z : q.w", "q.z"),
    "fma_quads_side_by_side": ("fma_fragment.cuh", "shared + i * kStrideBytes", "shared + i * 16"),
    "fma_quads_overlap": (
        "fma.cuh", "f.b.load(rows.b + kTileB.offset_bytes(0, step * kStepFactors))", "f.b.load(rows.b + kTileB.offset_bytes(0, step))"),
    "fma_slices_of_quads_overlap": ("fma.cuh", "kConfig.slice_steps(kElement) * kStepFactors;", "kConfig.slice_steps(kElement);"),
    "fma_chunks_of_quads_overlap": (
        "fma.cuh", "rows.b + kTileB.offset_bytes(0, kSteps * kStepFactors)", "rows.b + kTileB.offset_bytes(0, kSteps)"),
    "fma_half_of_a_group_twice": ("fma_fragment.cuh", "words_[group * 2 + 1] = v.y;", "words_[group * 2 + 1] = v.x;"),
    # ---- family fma: words of four s8, and TF32 ----
    "fma_words_loaded_beyond_the_edge": (
        "fma_copy.cuh", "left < kAccessBytes ? left - whole * 4 : 0", "left < kAccessBytes ? 4 : 0"),
    "fma_last_word_left_out": ("fma_copy.cuh", "      if (w == whole) words[w] = last;\n", ""),
    "fma_words_copied_beyond_the_edge": (
        "fma_copy.cuh", "clamp(left, 0, kAccess * kPack) * kMatrixBytes", "(clamp(left, 0, kAccess * kPack) + kPack - 1) / kPack * kElementBytes"),
    "fma_k_tiles_counted_in_words": (
        "fma_copy.cuh", "-= kTile.block_k * kPack;", "-= kTile.block_k;"),
    "fma_words_of_another_column": (
        "fma_fragment.cuh", "dp4a_s32_s32(a.word(i), b.word(j),", "dp4a_s32_s32(a.word(i), b.word(kCols - 1 - j),"),
    "fma_tf32_not_rounded": (
        "fma_copy.cuh", "words[w] = multiplied_bits<kElement>(loaded[w]);", "words[w] = loaded[w];"),
    # ---- family wgmma: stages and their barriers ----
    "wgmma_producer_awaits_wrong_parity": (
        "wgmma.cuh", "await(empty(cursor.stage), cursor.parity ^ 1);", "await(empty(cursor.stage), cursor.parity);"),
    "wgmma_consumer_awaits_wrong_parity": (
        "wgmma.cuh", "await(full(cursor.stage), cursor.parity);", "await(full(cursor.stage), cursor.parity ^ 1);"),
    "wgmma_consumer_does_not_wait": (
        "wgmma.cuh", "{ await(full(cursor.stage), cursor.parity); }", "{ static_cast<void>(cursor); }"),
    "wgmma_parity_does_not_turn": ("wgmma_cursor.cuh", "      parity ^= 1;\n", ""),
    "wgmma_last_stage_not_released": (
        "wgmma.cuh", "    if (!kConfig.promote && item.k_tiles > 0 && is_given_back(item, item.k_tiles - 1)) release(previous.stage);\n", ""),
    "wgmma_stage_released_a_step_early": (
        "wgmma.cuh", "if (tile > 0) give_back(previous, tile - 1);", "give_back(cursor, tile);"),
    "wgmma_wrong_number_of_bytes": (
        "wgmma.cuh", "copies.a.bytes + copies.b.bytes", "copies.a.bytes"),
    "wgmma_whole_warp_copies": (
        "wgmma.cuh", "if (ptx::elect_sync()) copy_stage(cursor.stage, copies, tile);\n        cursor",
        "copy_stage(cursor.stage, copies, tile);\n        cursor"),
    "wgmma_last_rows_by_whole_boxes": ("wgmma_load.cuh", "left < kRows ? rest : whole", "left < 0 ? rest : whole"),
    "wgmma_last_rows_left_out": ("wgmma_load.cuh", "if (left <= 0 ||", "if (left < kRows ||"),
    "wgmma_slab_behind_the_last_column_at_any_address": ("wgmma_load.cuh", "(kCutsSlabs && column >= part.left)", "false"),
    "wgmma_awaits_less_than_nothing": ("wgmma_load.cuh", "max_of(min_of(left, kTile.rows()), 0)", "min_of(left, kTile.rows())"),
    "wgmma_prefetches_a_map_that_is_not_there": (
        "wgmma_load.cuh", "if (kCutsBoxes && extent % kRows != 0)", "if (kCutsBoxes)"),
    "wgmma_first_consumer_frees_a_stage": (
        "wgmma.cuh", "kConfig.readers() * kConfig.peers() * (kWarpgroupThreads / kReleasers)",
        "kCluster * (kWarpgroupThreads / kReleasers)"),
    "wgmma_no_fence_of_barriers": ("wgmma.cuh", "    ptx::fence_mbarrier_init();\n", ""),
    "wgmma_no_meeting_at_start": (
        "wgmma.cuh", "      ptx::bar_sync();\n", ""),
    "wgmma_cluster_does_not_meet_at_start": (
        "wgmma.cuh", "      ptx::barrier_cluster_wait();\n    } else", "    } else"),
    "wgmma_producer_does_not_await_kernel_ahead": (
        "wgmma.cuh", "    ptx::griddepcontrol_wait();  //",
        "    if (thread_ >= kWarpgroupThreads) ptx::griddepcontrol_wait();  //"),
    "wgmma_one_tile_copies_over_what_is_read": (
        "wgmma.cuh", "        await(empty(place.stage), place.parity);\n", ""),
    # ---- family wgmma: products ----
    "wgmma_no_fence_of_registers": (
        "wgmma_products.cuh", "    ptx::wgmma_fence();\n#pragma unroll\n    for (int step = 0; step < Base::kKSteps; ++step) {",
        "#pragma unroll\n    for (int step = 0; step < Base::kKSteps; ++step) {"),
    "wgmma_products_in_no_group": (
        "wgmma_products.cuh", "    ptx::wgmma_commit_group();\n    ptx::wgmma_wait_group<1>();\n  }\n  /// Begins the products",
        "    ptx::wgmma_wait_group<1>();\n  }\n  /// Begins the products"),
    "wgmma_two_groups_in_flight": (
        "wgmma_products.cuh", "ptx::wgmma_wait_group<1>();\n  }\n  /// Begins the products", "ptx::wgmma_wait_group<2>();\n  }\n  /// Begins the products"),
    "wgmma_no_wait_for_the_last_group": (
        "wgmma.cuh", "    ptx::wgmma_wait_group<0>();\n    pin(accumulators);\n", "    ptx::wgmma_wait_group<1>();\n    pin(accumulators);\n"),
    "wgmma_sum_begins_at_every_k_tile": (
        "wgmma_products.cuh", "column(distance, step), continues || step > 0);", "column(distance, step), step > 0);"),
    "wgmma_descriptor_fields_swapped": (
        "shared/wgmma_descriptor.hpp", "wgmma_descriptor(address, slab_bytes(), 8 * swizzle_bytes, swizzle_bytes)",
        "wgmma_descriptor(address, 8 * swizzle_bytes, slab_bytes(), swizzle_bytes)"),
    "wgmma_swizzles_exchanged": (
        "shared/wgmma_descriptor.hpp", "swizzle_bytes == 128 ? 1 : swizzle_bytes == 64 ? 2 : 3",
        "swizzle_bytes == 128 ? 1 : swizzle_bytes == 64 ? 3 : 2"),
    "wgmma_k_steps_too_far_apart": (
        "shared/wgmma_descriptor.hpp", "k % slab_elements() * element_bytes;", "k % slab_elements() * 2 * element_bytes;"),
    "wgmma_box_at_first_row": (
        "wgmma_load.cuh", "slab * kTile.slab_bytes() + row * kTile.swizzle_bytes", "slab * kTile.slab_bytes()"),
    "wgmma_consumers_share_columns": (
        "shared/wgmma_config.hpp", "return split_n ? consumer * consumer_n() : 0;", "return split_n ? consumer * 8 : 0;"),
    # ---- family wgmma: clusters ----
    "wgmma_mask_without_first_block": ("wgmma_load.cuh", "(1 << kSharers) - 1", "(1 << kSharers) - 2"),
    "wgmma_both_blocks_copy_the_same_part": ("wgmma_load.cuh", "static_cast<int>(sharing_.share()) * kBoxes * kRows,", "0,"),
    "wgmma_releases_own_block_only": ("wgmma.cuh", "if (block < kCluster) ptx", "if (block < 1) ptx"),
    "wgmma_first_blocks_of_a_four_get_all_copies": (
        "wgmma_load.cuh", "kFirst << (rank - share_ * kStride)", "kFirst"),
    "wgmma_four_share_a_in_the_order_of_blocks": ("wgmma_load.cuh", "share_(rank / kStride % kSharers)", "share_(rank % kSharers)"),
    "wgmma_sharers_of_a_four_are_neighbours": ("wgmma_load.cuh", "1u << (i * kStride)", "1u << i"),
    "wgmma_square_cuts_boxes": ("wgmma_load.cuh", " && !kInSquare;", ";"),
    "wgmma_releases_all_of_a_four": ("wgmma.cuh", "block < kCluster && is_peer(block)", "block < kCluster"),
    "wgmma_producer_does_not_await_neighbours": (
        "wgmma.cuh", "    if constexpr (kCluster > 1) await_neighbours(cursor);\n", ""),
    "wgmma_prefetches_beyond_operand": (
        "shared/byte_share.hpp", "left < share ? left : share};", "share};"),
    "wgmma_arrives_at_block_that_may_have_ended": (
        "wgmma.cuh", "    if (!kConfig.promote && item.k_tiles > 0 && is_given_back(item, item.k_tiles - 1)) release(previous.stage);\n",
        "    if (item.k_tiles > 0) release(previous.stage);\n"),
    "wgmma_gives_back_a_stage_too_many": ("wgmma.cuh", "tile + kStages < item.k_tiles;", "tile + kStages <= item.k_tiles;"),
    # ---- family wgmma: ping-pong ----
    "wgmma_skipped_tiles_not_counted": ("wgmma.cuh", "        cursor.advance(static_cast<u32>(item.k_tiles));\n", ""),
    "wgmma_skipped_passes_not_counted": ("wgmma_cursor.cuh", "    parity ^= stage / kStages & 1;\n", ""),
    "wgmma_consumers_in_no_turn": (
        "wgmma.cuh", "      if constexpr (kConfig.ping_pong) await_turn(consumer, item);\n", ""),
    "wgmma_one_warp_ends_the_turn_for_all": (
        "wgmma.cuh", "kTurnThreads = kWarpSize;", "kTurnThreads = kWarpgroupThreads;"),
    "wgmma_turn_not_given_on": ("wgmma.cuh", "    if constexpr (kConfig.ping_pong) end_turn(consumer, item);\n", ""),
    # ---- family wgmma: epilogue ----
    "wgmma_no_barrier_before_store": (
        "wgmma_sink.cuh",
        "    staging_.sync();  // the lanes have written the buffers of the strip, and have read those of the one before\n", ""),
    "wgmma_no_barrier_before_bulk_store": (
        "wgmma_sink.cuh", "    staging_.sync();  // the lanes have written the buffer\n", ""),
    "wgmma_no_barrier_before_stage": (
        "wgmma_sink.cuh", "    staging_.sync();  // the copy engine has read the buffer\n", ""),
    "wgmma_no_proxy_fence": ("wgmma_sink.cuh", "    ptx::fence_proxy_async();\n", ""),
    "wgmma_one_store_too_many_in_flight": (
        "wgmma_sink.cuh", "cp_async_bulk_wait_group_read<kBuffers - 1>", "cp_async_bulk_wait_group_read<kBuffers>"),
    "wgmma_block_ends_before_its_stores": (
        "wgmma_sink.cuh", "drain() { ptx::cp_async_bulk_wait_group_read<0>(); }", "drain() {}"),
    "wgmma_transposed_strips_downwards": (
        "wgmma_transposed.cuh", "below(int number) { return kAlongRows ? number / kPiecesBeside", "below(int number) { return kAlongRows ? number % kPiecesBelow"),
    "wgmma_bulk_store_cut_within_a_chunk": (
        "wgmma_sink.cuh", "args_.n % kChunkElements == 0", "args_.n > 0"),
    "wgmma_c_not_waited_for": ("wgmma_staging.cuh", "    if constexpr (kVector > 1) ptx::cp_async_wait_group<0>();\n", ""),
    "wgmma_matrix_copied_over_the_one_before": (
        "wgmma_epilogue.cuh", "        Sink::sync();  // the lanes that share the buffer have loaded the matrix before\n", ""),
    "wgmma_matrix_overwritten_while_it_is_read": (
        "wgmma_staging.cuh", "    ptx::bar_warp_sync(~0u);  // put overwrites what all lanes have loaded\n", ""),
    "wgmma_two_matrices_from_one": (
        "wgmma_epilogue.cuh", "if (is_last(number)) return;", "return;"),
    "wgmma_matrix_requested_into_a_buffer_in_use": (
        "wgmma_sink.cuh", "cp_async_bulk_wait_group_read<max_of(kBuffers - 2, 0)>", "cp_async_bulk_wait_group_read<kBuffers - 1>"),
    "wgmma_matrix_of_the_piece_before": ("wgmma_epilogue.cuh", "piece(i + 1, row, col), true)", "piece(i, row, col), true)"),
    "wgmma_transposed_matrix_of_the_piece_before": (
        "wgmma_transposed.cuh", "piece(i + 1, row, col), true)", "piece(i, row, col), true)"),
    "wgmma_first_matrix_of_other_columns": (
        "wgmma.cuh", "kStoreRows), col());\n        if constexpr (kConfig.ping_pong)", "kStoreRows), col() + 8);\n        if constexpr (kConfig.ping_pong)"),
    "wgmma_last_rows_taken_for_whole": (
        "wgmma_sink.cuh", "if (piece.row + WgmmaConfig::kStoreRows <= args_.m &&", "if (piece.row < args_.m &&"),
    "wgmma_rows_off_by_one": (
        "wgmma_staging.cuh", "row + at.row >= args_.m ||", "row + at.row > args_.m ||"),
    "wgmma_columns_off_by_one": (
        "wgmma_staging.cuh", "col + at.col + e < args_.n;", "col + at.col + e <= args_.n;"),
    # ---- family wgmma: rows of D that begin at odd elements ----
    "wgmma_words_not_shifted": ("wgmma_words.cuh", "kElementBits = 8 * kElementBytes", "kElementBits = 0 * kElementBytes"),
    "wgmma_word_before_the_tile_stored": ("wgmma_words.cuh", "begin >= 0 && begin + 2 <= end", "begin + 2 <= end"),
    "wgmma_word_beyond_the_edge_stored": (
        "wgmma_words.cuh", "begin + 2 <= end", "begin + 1 <= end"),
    "wgmma_word_of_two_pieces_from_one": (
        "wgmma_words.cuh", "strip.buffer_of(piece - 1) + left", "strip.buffer_of(piece) + left"),
    "wgmma_strip_overwritten_while_it_is_stored": (
        "wgmma_sink.cuh", "|| copies || (kJoinsPieces && Words::begins_strip(piece)))", "|| copies)"),
    "wgmma_short_strip_not_stored": (
        "wgmma_words.cuh", " || piece.begin + piece.cols >= kConfig.stored_n(kTraits)", ""),
    "wgmma_last_element_of_the_first_piece": (
        "wgmma_words.cuh", "      if (piece < strip.pieces && col >= piece * kPieceColumns) buffer = strip.buffer_of(piece);\n", ""),
    "wgmma_last_element_left_out": ("wgmma_words.cuh", "(end + offset) % 2 != 0", "(end + offset) % 2 == 2"),
    "wgmma_words_of_rows_of_the_next_tile": (
        "wgmma_words.cuh", "kConfig.transposed ? min_of(last.rows, kRows) : kRows", "kRows"),
    "wgmma_words_of_rows_below_the_matrix": (
        "wgmma_words.cuh", ", args_.m - strip.row);", ", args_.m - strip.row + 1);"),
    # ---- family wgmma: transposed products ----
    "wgmma_operands_of_the_transposed_exchanged": (
        "wgmma_products.cuh", "rows_(kConfig.transposed ? b : a)", "rows_(a)"),
    "wgmma_warps_of_a_consumer_do_not_meet": (
        "wgmma_transposed.cuh", "    ptx::bar_sync(1 + ptx::thread_index() / kWarpgroupThreads, kWarpgroupThreads);",
        "    ptx::bar_warp_sync(~0u);"),
    "wgmma_consumers_meet_at_one_barrier": (
        "wgmma_transposed.cuh", "ptx::bar_sync(1 + ptx::thread_index() / kWarpgroupThreads,", "ptx::bar_sync(1,"),
    "wgmma_c_used_before_all_warps_have_copied": (
        "wgmma_transposed.cuh", "    sync();  // all warps have copied their rows\n", ""),
    "wgmma_stored_without_transposing": ("wgmma_transposed.cuh", "ptx::stmatrix_x4_trans(", "ptx::stmatrix_x4("),
    "wgmma_c_loaded_without_transposing": ("wgmma_transposed.cuh", "ptx::ldmatrix_x4_trans(", "ptx::ldmatrix_x4("),
    "wgmma_columns_of_another_warp": ("wgmma_transposed.cuh", "warp() * 16 + this->lane()", "this->lane()"),
    "wgmma_every_warp_stores_rows": (
        "wgmma_transposed.cuh", ".rows = Staging::rows(number) - Staging::warp() * WgmmaConfig::kStoreRows,",
        ".rows = WgmmaConfig::kStoreRows,"),
    "wgmma_lanes_store_rows_of_the_next_tile": (
        "wgmma_staging.cuh",
        "at.col < piece.stored) continue;\n      if (kConfig.transposed && at.row >= piece.rows) continue;\n",
        "at.col < piece.stored) continue;\n"),
    "wgmma_box_of_the_next_tile": ("wgmma_sink.cuh", "in_bulk && row < rows &&", "in_bulk &&"),
    "wgmma_eight_rows_of_c_read_as_sixteen": (
        "wgmma_transposed.cuh", "is_half ? 0 : this->lane() / 16 * 8", "this->lane() / 16 * 8"),
    "wgmma_no_buffer_for_the_last_rows": (
        "shared/wgmma_config.hpp", "min_of(div_up(consumer_m(), kStoreRows), 4)", "min_of(max_of(consumer_m() / kStoreRows, 1), 4)"),
    # ---- family wgmma: sums of FP8 that are promoted ----
    "wgmma_promoted_sums_go_on_in_the_next_tile": (
        "wgmma_promoted_sums.cuh", "for (Accumulator& sum : sums) sum = {};", "for (Accumulator& sum : sums) pin(sum);"),
    "wgmma_part_of_the_interval_before_added_again": (
        "wgmma_products.cuh", "column(distance, step), step > first);", "column(distance, step), true);"),
    "wgmma_part_added_before_its_products_end": (
        "wgmma_promoted_sums.cuh", "          ptx::wgmma_wait_group<0>();\n", ""),
    "wgmma_part_multiplied_into_before_it_is_added": (
        "wgmma_products.cuh", "    ptx::wgmma_fence();  // before, `part` was read\n", ""),
    "wgmma_promoted_stage_given_back_unread": (
        "wgmma_promoted_sums.cuh", "          ptx::wgmma_wait_group<0>();\n          promote(part, i);\n        }\n      }\n      products_.meet();\n      give_back(cursor, tile);\n",
        "          if (interval == kIntervals - 1 && i == kInstructions - 1) give_back(cursor, tile);\n          ptx::wgmma_wait_group<0>();\n          promote(part, i);\n        }\n      }\n"),
    "wgmma_first_interval_of_a_k_tile_multiplied_again": (
        "wgmma_products.cuh", "const int first = interval * Base::kPromotedSteps;", "const int first = 0 * interval;"),
    "wgmma_late_part_added_before_its_products_end": (
        "wgmma_promoted_sums.cuh", "      ptx::wgmma_wait_group<1>();\n", ""),
    "wgmma_last_late_part_added_before_its_products_end": (
        "wgmma_promoted_sums.cuh", "      ptx::wgmma_wait_group<0>();\n      promote(part, 0);", "      promote(part, 0);"),
    "wgmma_late_part_overwritten": (
        "wgmma_promoted_sums.cuh", "step(parts[0], parts[1], 1 % kIntervals);", "step(parts[0], parts[0], 1 % kIntervals);"),
    "wgmma_late_stage_given_back_in_flight": (
        "wgmma_promoted_sums.cuh", "      ptx::wgmma_wait_group<1>();\n      promote(part, 0);\n      if (!ends_k_tile) return;\n      products_.meet();\n      give_back(place, tile++);\n",
        "      if (ends_k_tile) give_back(place, tile++);\n      ptx::wgmma_wait_group<1>();\n      promote(part, 0);\n      products_.meet();\n"),
    "wgmma_late_stage_not_awaited": (
        "wgmma_promoted_sums.cuh", "      if (interval == 0) await_full(cursor);\n", ""),
    "wgmma_last_late_part_left_out": (
        "wgmma_promoted_sums.cuh", "      if (tile == k_tiles - 1) return finish(parts[1]);\n      step(parts[1]",
        "      if (tile == k_tiles - 1) return finish(parts[0]);\n      step(parts[1]"),
    "wgmma_scales_of_rows_of_the_first_block_of_k": (
        "wgmma_scale_ring.cuh", "    rows_ += static_cast<u64>(block_bytes_);\n", ""),
    "wgmma_scales_of_columns_of_the_first_block_of_k": ("wgmma_scale_ring.cuh", "    columns_ += sizeof(float);\n", ""),
    "wgmma_scales_of_the_k_tile_that_is_loaded_first": (
        "wgmma_scale_ring.cuh", "const Scales& scales = scales_[i];", "const Scales& scales = scales_[0 * i];"),
    "wgmma_scales_not_loaded_again": ("wgmma_scale_ring.cuh", "writer.load(i + interval);", ";"),
    "wgmma_scales_read_behind_the_last_block_of_k": (
        "wgmma_scale_ring.cuh", "const bool is_there = --blocks_ >= 0;", "const bool is_there = --blocks_ >= -1000;"),
    "wgmma_scales_of_columns_read_behind_the_last": (
        "wgmma_scale_ring.cuh", "is_there && behind <= columns_behind_", "is_there"),
    "wgmma_slot_filled_before_it_is_read": (
        "wgmma_scale_ring.cuh", "            await_empty(cursor);\n", ""),
    "wgmma_slot_filled_by_the_first_lane": (
        "wgmma_scale_ring.cuh", "            ptx::bar_warp_sync(~0u);  // all lanes have stored\n", ""),
    "wgmma_stage_full_before_its_slot_is_filled": (
        "wgmma_scale_ring.cuh", "              writer.store(i + interval, factors(cursor.stage, interval));\n            ptx::bar_warp_sync(~0u);  // all lanes have stored\n            if (thread % kWarpSize == 0) arrive(cursor.stage);\n",
        "              if (thread % kWarpSize == 0 && interval == 0) arrive(cursor.stage);\n            for (int interval = 0; interval < kIntervals; ++interval) writer.store(i + interval, factors(cursor.stage, interval));\n            ptx::bar_warp_sync(~0u);\n"),
    "wgmma_stage_full_before_its_second_factors_are_there": (
        "wgmma_scale_ring.cuh", "            if (thread % kWarpSize == 0) arrive(cursor.stage);\n#pragma unroll\n",
        "            if (thread % kWarpSize == 0) arrive(cursor.stage);\n            if (kIntervals == 2) writer.store(i + 1, factors(cursor.stage, 1));\n#pragma unroll\n"),
    "wgmma_factors_of_one_interval": (
        "wgmma_scale_ring.cuh", "interval * (kSlotBytes / kIntervals)", "0 * interval * (kSlotBytes / kIntervals)"),
    "wgmma_factors_of_the_first_interval_for_the_last": (
        "wgmma_promoted_sums.cuh", "ends_k_tile ? kIntervals - 1 : next_interval - 1", "ends_k_tile ? 0 : next_interval - 1"),
    "wgmma_scales_of_split_k_counted_in_k_tiles": (
        "wgmma_scale_ring.cuh", "item.first_k_tile * kIntervals", "item.first_k_tile"),
    "wgmma_scales_read_in_the_second_half_of_the_last_k_tile": (
        "wgmma_scale_ring.cuh", "scales.last_block() + 1 - first_block", "1000"),
    "wgmma_stage_full_without_its_slot": ("wgmma.cuh", " + Scales::kWriters);", ");"),
    "wgmma_slot_given_back_for_all_warps": (
        "wgmma.cuh", "kConfig.loads_rows(kTraits) || Scales::kExists;", "kConfig.loads_rows(kTraits);"),
    "wgmma_factors_of_the_next_stage": (
        "wgmma_promoted_sums.cuh", "scales_.factors(place.stage, ends", "scales_.factors(cursor.stage, ends"),
    "wgmma_slot_given_back_by_the_first_lane": (
        "wgmma_products.cuh", "if constexpr (kTraits.epilogue.has_block_scales()) ptx::bar_warp_sync(~0u);", ""),
    "wgmma_scales_of_the_gate_for_both_halves": (
        "wgmma_scale_ring.cuh", "half * blocks_of_half_ + block;", "block;"),
    "wgmma_factors_of_the_gate_for_both_halves": (
        "wgmma_promotion.cuh", "((half * kBlocks + block) * kConfig.block_m + row)", "(block * kConfig.block_m + row)"),
    "wgmma_block_scales_read_beyond_the_rows": (
        "wgmma_scale_ring.cuh", "is_there && j * kLanes <= rows_below_", "is_there"),
    "wgmma_scales_of_the_first_block_of_columns": (
        "wgmma_promotion.cuh", "last = factors_[half][kBlocks - 1][row]", "last = first"),
    "wgmma_scales_of_the_upper_rows": (
        "wgmma_promotion.cuh", "i * kWgmmaM + row * 8", "i * kWgmmaM"),
    "wgmma_scales_of_the_first_columns_in_a_transposed_part": (
        "wgmma_promotion.cuh", "(col_ + (kTransposed ? i * kWgmmaM : 0)) / kScaleBlock", "col_ / kScaleBlock"),
    # ---- family wgmma: rows that lanes load ----
    "wgmma_rows_without_a_fence": (
        "wgmma_products.cuh", "    ptx::wgmma_fence();\n    Instruction::mma_async(sums[product", "    Instruction::mma_async(sums[product"),
    "wgmma_rows_of_a_part_without_a_fence": (
        "wgmma_products.cuh", "      ptx::wgmma_fence();\n      Instruction::mma_async(part.d, fragments_", "      Instruction::mma_async(part.d, fragments_"),
    "wgmma_rows_overwritten_in_flight": (
        "wgmma_products.cuh", "    ptx::wgmma_wait_group<1>();\n  }\n  HOTGEMM_DEVICE void load_product",
        "    ptx::wgmma_wait_group<4>();\n  }\n  HOTGEMM_DEVICE void load_product"),
    "wgmma_rows_of_the_same_k_step": ("wgmma_products.cuh", "load_product(product + 1, stage);", "load_product(product, stage);"),
    "wgmma_stage_given_back_before_its_last_product": (
        "wgmma_products.cuh", "load_product(product + 1, stage);\n    ptx::wgmma_wait_group<1>();",
        "load_product(product + 1, stage);\n    if (product > 0) ptx::wgmma_wait_group<1>();"),
    "wgmma_stage_given_back_while_lanes_read_it": (
        "wgmma_products.cuh", "    meet();  // the stage", "    // the stage"),
    "wgmma_last_stage_given_back_while_lanes_read_it": (
        "wgmma.cuh", "    products.meet();\n    if (!kConfig.promote", "    if (!kConfig.promote"),
    "wgmma_promoted_stage_given_back_while_lanes_read_it": (
        "wgmma_promoted_sums.cuh", "      products_.meet();\n      give_back(cursor, tile);\n      cursor.advance();\n    }\n",
        "      give_back(cursor, tile);\n      cursor.advance();\n    }\n"),
    "wgmma_rows_of_the_first_k_step": ("wgmma_products.cuh", "step * kStepBytes;", "0 * step * kStepBytes;"),
    "wgmma_rows_of_the_first_slab": (
        "wgmma_products.cuh", "first / kRowTile.slab_elements() * kRowTile.slab_bytes()", "0 * kRowTile.slab_bytes()"),
    "wgmma_rows_of_the_first_half_of_a_slab": (
        "wgmma_products.cuh", "first % kRowTile.slab_elements() * kRowTile.element_bytes", "0 * kRowTile.element_bytes"),
    "wgmma_rows_not_swizzled": (
        "wgmma_products.cuh", "swizzled_offset(place, kRowTile.swizzle_bytes)", "place"),
    "wgmma_pairs_of_bytes_not_exchanged": ("wgmma_products.cuh", "is_exchanged ? 0x2064 : 0x6420", "0x6420"),
    "wgmma_words_not_exchanged": ("wgmma_products.cuh", "= is_exchanged ? second : first;", "= first;"),
    "wgmma_sums_of_pairs_stay": (
        "wgmma_products.cuh", "          exchange(sum.d[pair + 1], sum.d[pair + 3]);\n", ""),
    "wgmma_sums_of_odd_rows_not_exchanged": ("wgmma_products.cuh", "low = is_odd ? other : one;", "low = one;"),
    "wgmma_sums_of_the_upper_rows_from_the_lower": ("wgmma_products.cuh", "from_upper = from + 16;", "from_upper = from;"),
    "wgmma_sums_without_products_left": ("wgmma_products.cuh", "    for (Accumulator& sum : sums) sum = {};\n", ""),
    "wgmma_loaded_stage_released_by_one_warp": (
        "wgmma.cuh", "kConfig.loads_rows(kTraits) || Scales::kExists;", "Scales::kExists;"),
    # ---- family wgmma: elements of D of 32 bits ----
    "wgmma_wide_columns_of_other_sums": ("wgmma_epilogue.cuh", "return goes_ahead ? goes : stays;", "return goes_ahead ? stays : goes;"),
    "wgmma_wide_odd_rows_do_not_go_back": (
        "wgmma_wide.cuh", "return step ^ (goes_ahead() ? 2 : 0);", "return step + (goes_ahead() && step < 2 ? 2 : 0);"),
    "wgmma_wide_c_read_before_it_is_copied": (
        "wgmma_staging.cuh", "    await_own_copy();\n    sync();\n", "    await_own_copy();\n"),
    "wgmma_wide_last_columns_of_half_elements": (
        "wgmma_staging.cuh", "          if constexpr (kElementBytes == 4) {", "          if constexpr (kElementBytes == 8) {"),
    "wgmma_direct_row_beyond_the_edge": (
        "wgmma_direct.cuh", "const bool is_inside = at.row < args_.m && at.col < args_.n;", "const bool is_inside = at.col < args_.n;"),
    "wgmma_direct_right_neighbour_beyond_the_edge": (
        "wgmma_direct.cuh", "values, next.col < args_.n);", "values, true);"),
    "wgmma_direct_neighbour_below_beyond_the_edge": (
        "wgmma_direct.cuh", "if (next.row < args_.m) store_element", "store_element"),
    "wgmma_direct_columns_of_another_warp": (
        "wgmma_direct.cuh", "kTraits.epilogue.columns_of_d(col) + warp * WgmmaConfig::kStoreRows};", "col};"),
    "wgmma_split_wide_neighbour_beyond_the_edge": (
        "pair_access.cuh", "    if (has_both) store_element<kTraits.element_d>(address, 1, pair.high);",
        "    store_element<kTraits.element_d>(address, 1, pair.high);"),
    "wgmma_bytes_of_a_quad_in_another_order": (
        "wgmma_direct.cuh", "return {halves(even, odd, 0), halves(even, odd, 16)};",
        "return {halves(even, odd, 16), halves(even, odd, 0)};"),
    "wgmma_bytes_exchanged_with_another_lane": (
        "wgmma_direct.cuh", "is_upper ? low : high, 2, 0x1f", "is_upper ? low : high, 3, 0x1f"),
    "wgmma_bytes_stored_while_c_is_read": (
        "wgmma_direct.cuh", "      if constexpr (Op::kMayReadD) ptx::bar_warp_sync(~0u);  // other", "      // other"),
    "wgmma_bytes_c_of_another_row": (
        "wgmma_direct.cuh", "c[q] = load_c(place(origin, i, (part * 4 + q) * 2 + half));",
        "c[q] = load_c(place(origin, i, (part * 4 + q) * 2));"),
    "wgmma_eight_bytes_beyond_the_right_edge": (
        "wgmma_direct.cuh", "if (at.col + 8 <= args_.n) return", "if (at.col + 7 <= args_.n) return"),
    "wgmma_eight_bytes_below_the_edge": (
        "wgmma_direct.cuh", "    if (at.row >= args_.m) return;\n    const u64 address", "    const u64 address"),
    "wgmma_byte_beyond_the_edge": (
        "pair_access.cuh", "if (has_both) ptx::st_global_u8(address + 1,", "ptx::st_global_u8(address + 1,"),
    "wgmma_pair_of_bytes_of_one_result": (
        "element_access.cuh", "byte_of<kType>(low) | byte_of<kType>(high) << 8", "byte_of<kType>(low) | byte_of<kType>(high) << 7"),
    # ---- the kernel that repacks operands ----
    "repack_shifts_no_odd_element": ("repack.cuh", "(bytes & 3) * 8", "(bytes & 1) * 8"),
    "repack_shifts_no_odd_byte": ("repack.cuh", "(bytes & 3) * 8", "(bytes & 2) * 8"),
    "repack_shifts_no_half_granule": ("repack.cuh", "(bytes & 8) != 0 ? w[i + 2] : w[i]", "(bytes & 16) != 0 ? w[i + 2] : w[i]"),
    "repack_second_granule_left_out": ("repack.cuh", "if (reads && spans)", "if (reads && !spans)"),
    "repack_second_granule_where_the_row_has_ended": ("repack.cuh", "if (reads && spans)", "if (reads)"),
    "repack_padding_of_a_chunk_not_zero": (
        "repack.cuh", "      if (left[i] < kRepackChunkBytes) {", "      if (left[i] < 1) {"),
    "repack_ends_left_out": ("repack.cuh", "if (chunk >= chunks_) return;", "if (chunk >= 1) return;"),
    "repack_whole_granules_at_the_beginning": (
        "shared/repack_args.hpp", "return chunk >= kRepackFirstChunks &&", "return chunk + 1 >= 1 &&"),
    "repack_whole_granules_at_the_end": (
        "shared/repack_args.hpp", "chunk + kRepackLastChunks < chunks();", "chunk < chunks();"),
    "repack_prefetches_beyond_the_end": (
        "shared/repack_args.hpp", "last = end / 16 * 16;", "last = end / 16 * 16 + 16;"),
    "repack_second_matrix_left_out": (
        "repack.cuh", "Repack(args.second).copy(Repack(args.first).copy(part, step), step);",
        "Repack(args.first).copy(part, step);"),
    "repack_second_matrix_begins_where_the_first_did": (
        "repack.cuh", "return part - all;", "return part;"),
    "repack_copies_the_first_matrix_of_a_batch_again": (
        "repack.cuh", "matrix_.from + product_ * static_cast<u64>(matrix_.stride) +", "matrix_.from +"),
    "repack_copies_a_batch_to_one_place": (
        "repack.cuh", "(product_ * chunks_ + chunk)", "chunk"),
    "repack_parts_of_a_batch_without_its_ends": (
        "repack.cuh", "return part - product_ * parts;", "return part - product_ * parts + 1;"),
    "repack_transposes_a_batch_to_one_place": (
        "shared/repack_args.hpp", "    one.to += product * chunks() * kRepackChunkBytes;\n", ""),
    "repack_transposes_the_first_matrix_alone": (
        "repack_transposed.cuh", "operand.products == 1 ? 0 :", "operand.products >= 1 ? 0 :"),
    "repack_transposes_one_matrix_of_the_second_batch": (
        "repack_transposed.cuh", "tiles_of_first + second.all_tiles();", "tiles_of_first + second.tiles();"),
    "repack_transposes_the_first_matrix_of_a_batch_again": (
        "shared/repack_args.hpp", "    one.from += static_cast<unsigned long long>(product * stride);\n", ""),
    "repack_some_do_not_await_kernel_ahead": (
        "repack.cuh", "  ptx::griddepcontrol_wait();  //",
        "  if (ptx::thread_index() >= 64) ptx::griddepcontrol_wait();  //"),
    "repack_row_wraps_late": (
        "shared/repack_args.hpp", "number >= row_chunks ? 1 : 0", "number > row_chunks ? 1 : 0"),
    "repack_transposes_rows_beyond_the_end": (
        "repack_transposed.cuh", "i * kSetDepth + e < depth_left)", "i * kSetDepth + e <= depth_left)"),
    "repack_transposes_elements_of_rows_beyond_the_end": (
        "repack_transposed.cuh", "is_inside ? rows_left_ : 0", "rows_left_"),
    "repack_transposes_words_of_unaligned_rows": (
        "repack_transposed.cuh", "((from_ | pitch_) & (kWords * 4 - 1)) == 0", "(from_ & (kWords * 4 - 1)) == 0"),
    "repack_transposes_pairs_of_rows_at_words": (
        "repack_transposed.cuh", "((from_ | pitch_) & (kWords * 4 - 1)) == 0", "((from_ | pitch_) & 3) == 0"),
    "repack_transposes_a_word_beyond_the_edge": ("repack_transposed.cuh", "rows_left_ >= kRows && ", "rows_left_ >= 1 && "),
    "repack_transposes_the_second_word_beyond_the_edge": ("repack_transposed.cuh", ", w < elements)", ", elements > 0)"),
    "repack_transposes_the_first_word_twice": (
        "repack_transposed.cuh", "address + static_cast<u64>(w) * 4, w <", "address, w <"),
    "repack_transposes_one_word_of_a_pair_twice": ("repack_transposed.cuh", "words[1] = pair.y;", "words[1] = pair.x;"),
    "repack_transposes_neighbours_rows_twice": (
        "repack_transposed.cuh", "      address += (kSetDepth - kDepth) * pitch_;\n", ""),
    "repack_transposes_the_first_rows_again": (
        "repack_transposed.cuh", "from_ + static_cast<u64>(first * kSetDepth) * pitch_", "from_"),
    "repack_transposes_late_elements_beyond_the_end": (
        "repack_transposed.cuh", "depth_left_ - first * kSetDepth", "depth_left_"),
    "repack_transposes_bytes_in_another_order": (
        "byte_access.cuh", "ptx::prmt_b32(ab, cd, 0x7632)", "ptx::prmt_b32(ab, cd, 0x5410)"),
    "repack_transposes_halves_in_another_order": (
        "repack_transposed.cuh", "rows[1][i] = ptx::prmt_b32(words[2 * i][0], words[2 * i + 1][0], 0x7632);",
        "rows[1][i] = ptx::prmt_b32(words[2 * i][0], words[2 * i + 1][0], 0x5410);"),
    "repack_transposes_a_half_beyond_the_edge": (
        "repack_transposed.cuh", "ptx::ld_global_u16_if(address + 2, 1 < elements)", "ptx::ld_global_u16_if(address + 2, 0 < elements)"),
    "repack_transposes_the_first_half_twice": (
        "repack_transposed.cuh", "ptx::ld_global_u16_if(address + 2,", "ptx::ld_global_u16_if(address,"),
    "repack_transposes_columns_twice": (
        "byte_access.cuh", "are_last ? 0x7362 : 0x5140", "are_last ? 0x5140 : 0x5140"),
    "repack_transposes_rows_beyond_the_copy": (
        "repack_transposed.cuh", "if (r < rows_left_) ptx::st_global", "ptx::st_global"),
    "repack_transposes_chunks_of_the_next_row": (
        "repack_transposed.cuh", "    if (set * kRepackChunkLanes >= chunks_left_) return;\n", ""),
    "repack_transposes_the_first_matrix_twice": (
        "repack_transposed.cuh", "is_first ? first : second;", "first;"),
    "repack_transposes_the_second_matrix_from_its_middle": (
        "repack_transposed.cuh", "is_first ? tile : tile - tiles_of_first", "tile"),
    # ---- family wgmma: a divided k ----
    "wgmma_split_arrives_before_its_slot_is_full": (
        "wgmma_split.cuh", "    ptx::bar_sync(kBarrier, kThreads);  // all of the slot is written\n", ""),
    "wgmma_split_last_but_one_taken_for_last": (
        "wgmma_split.cuh", "if (lower(before) + 1 == item.splits)", "if (lower(before) + 2 == item.splits)"),
    "wgmma_split_word_not_reset": (
        "wgmma_split.cuh", "ptx::st_relaxed_gpu_b32(word(item), 0);", "return;"),
    "wgmma_split_word_reset_too_early": (
        "wgmma_split.cuh", "turn.count == item.splits + owners(item))", "turn.count == item.splits + 1)"),
    "wgmma_split_owner_reduces_at_once": (
        "wgmma_split.cuh", "if (lower(ptx::ld_acquire_gpu_b32(word(item))) >= item.splits) return true;",
        "if (lower(ptx::ld_acquire_gpu_b32(word(item))) >= 1) return true;"),
    "wgmma_split_last_forgets_the_gone": (
        "wgmma_split.cuh", "u32 left = state / kGone + (own ? 1 : 0); left > 0;", "u32 left = own ? 1 : 0; left > 0;"),
    "wgmma_split_last_counts_only_itself": (
        "wgmma_split.cuh", ".count = gone + (is_owner ? 1 : 0)}", ".count = is_owner ? 1u : 0u}"),
    "wgmma_split_has_left_not_reset": (
        "wgmma_split.cuh", "    ptx::st_global_b32(has_left(item, owner), 0);\n", ""),
    "wgmma_split_relaxed_arrival": (
        "wgmma_split.cuh", "const u32 before = ptx::atom_acq_rel_gpu_add_u32(word(item), kOne);",
        "const u32 before = ptx::atom_relaxed_gpu_add_u32(word(item), kOne);"),
    "wgmma_split_word_written_too_early": (
        "wgmma_split.cuh", "    ptx::bar_sync(kBarrier, kThreads);  // the word is read before it is written again\n", ""),
    "wgmma_split_skips_a_slot": ("wgmma_split.cuh", "if (u < count && batch + i < range.count)",
        "if (u < count && batch + i + 1 < range.count)"),
    "wgmma_split_sums_read_too_early": (
        "wgmma_split.cuh", "    ptx::bar_sync(kBarrier, kThreads);  // all sums are put\n", ""),
    "wgmma_split_one_sharer_left_out": ("wgmma_split.cuh", "int other = 0; other < sharers;", "int other = 1; other < sharers;"),
    "wgmma_split_slots_of_all_tiles_are_one": (
        "wgmma_split.cuh", "(static_cast<u64>(item.tile) * item.splits + split)",
        "(static_cast<u64>(item.tile) * 0 + split)"),
    "wgmma_split_blocks_of_a_cluster_share_a_slot": (
        "wgmma_split.cuh", ".tile = group * kCluster + rank_,", ".tile = group * kCluster,"),
    "wgmma_split_cluster_has_two_parts": (
        "wgmma_split.cuh", "split = ptx::block_index() / kCluster % splits;", "split = ptx::block_index() % splits;"),
    "wgmma_split_block_alone_has_another_tile": (
        "wgmma_split.cuh", "group = ptx::block_index() % all;", "group = ptx::block_index() / splits;"),
    "wgmma_split_unit_of_another_owner": ("wgmma_split.cuh", "if (unit < count) store_unit(", "if (unit <= count) store_unit("),
    "wgmma_split_units_taken_twice": (
        "wgmma_split.cuh", "static_cast<u64>(u * kWarps) * Slots::kUnitBytes", "static_cast<u64>(u) * Slots::kUnitBytes"),
    "wgmma_split_parts_overlap": (
        "shared/even_share.hpp", "return {share * least + (share < longer ? share : longer),", "return {share * least,"),
    "wgmma_split_rows_off_by_one": (
        "pair_access.cuh", "(at.row >= args.m ||", "(at.row > args.m ||"),
    "wgmma_split_pair_beyond_the_edge": (
        "pair_access.cuh", "const bool has_both = at.col + 1 < args.n;", "const bool has_both = true;"),
    # ---- family wgmma: loads by threads ----
    "wgmma_threads_no_proxy_fence": (
        "wgmma.cuh", "      ptx::fence_proxy_async();  // wgmma reads what this thread has stored\n", ""),
    "wgmma_threads_arrive_for_others": (
        "wgmma.cuh", "      ptx::bar_warp_sync(~0u);   // all lanes have stored\n", ""),
    "wgmma_threads_one_arrival_for_all_warps": (
        "wgmma.cuh", "kConfig.loader_warps() + (kCopies ? 1 : 0)", "max_of(kConfig.loaders, kCopies ? 1 : 0)"),
    "wgmma_threads_load_the_same_k_tile_again": (
        "wgmma.cuh", "first_k(item, tile + 1));", "first_k(item, tile));"),
    "wgmma_threads_wrong_shift": (
        "wgmma_thread_load.cuh", "piece[0] | piece[1] << 16", "piece[1] | piece[0] << 16"),
    "wgmma_threads_no_zeros_at_the_end_of_k": (
        "wgmma_thread_load.cuh", "if (args_.k - k < kTile.block_k) return Cut::k;", "if (args_.k - k < 0) return Cut::k;"),
    "wgmma_threads_no_zero_beside_the_last_element": (
        "wgmma_thread_load.cuh", "count >= 2);", "count >= 1);"),
    "wgmma_threads_rows_beyond_the_end_of_k": (
        "wgmma_thread_load.cuh", "kTile.k_major || i * kLayout.step() < rows;", "kTile.k_major || i * kLayout.step() <= rows;"),
    "wgmma_threads_rows_beyond_the_edge": (
        "wgmma_thread_load.cuh", "if (!kClampsRows || (i + 1) * kLayout.step() < rows)", "if (true)"),
    "wgmma_threads_columns_beyond_the_edge": (
        "wgmma_thread_load.cuh", "kClampsColumns && left <= 0 ? 0 :", "kClampsColumns && left < -8 ? 0 :"),
    "wgmma_threads_element_beyond_the_edge": (
        "wgmma_thread_load.cuh", "address + (is_last ? 0 : kElementBytes)", "address + kElementBytes"),
    "wgmma_threads_part_of_a_pair_left_out": (
        "wgmma_thread_load.cuh", "    if (left == 1) piece[0] = ptx::ld_global_u16(address);\n", ""),
    "wgmma_threads_odd_rows_taken_for_even": (
        "wgmma_thread_load.cuh", "static_cast<u64>(row_ * ld())) & 1) != 0;", "static_cast<u64>(row_ * ld())) & 1) > 1;"),
    "wgmma_threads_rows_between_not_swizzled": (
        "shared/thread_pieces.hpp", "first ^ (kSwizzleRows / 2 * kChunkBytes) : first", "first : first"),
    # ---- family wmma ----
    "wmma_tile_overwritten_while_it_is_read": ("wmma.cuh", "      ptx::bar_sync();  // the tile before has been read\n", ""),
    "wmma_products_before_the_tile_is_there": (
        "wmma.cuh", "      ptx::bar_sync();\n      multiply_tile(shared_);\n", "      multiply_tile(shared_);\n"),
    "wmma_one_stage_is_not_waited_for": (
        "wmma.cuh", "      if constexpr (kConfig.async_copy) ptx::cp_async_wait_group<0>();\n", ""),
    "wmma_wait_one_group_short": (
        "wmma.cuh", "cp_async_wait_group<kStages - 2>", "cp_async_wait_group<kStages - 1>"),
    "wmma_epilogue_over_the_stage": (
        "wmma.cuh", "    ptx::bar_sync();  // the epilogue reuses the stage\n", ""),
    "wmma_epilogue_over_the_stages": (
        "wmma.cuh", "    ptx::bar_sync();  // the epilogue reuses the stages\n", ""),
    "wmma_sums_read_before_they_are_stored": (
        "wmma.cuh", "      ptx::bar_warp_sync(~0u);\n#pragma unroll 1", "#pragma unroll 1"),
    "wmma_sums_overwritten_while_they_are_read": (
        "wmma.cuh", "      if (i > 0) ptx::bar_warp_sync(~0u);  // the rows before have been read\n", ""),
    "wmma_next_step_of_the_old_tile": ("wmma.cuh", "read, kLast ? 0 : kStep + 1);", "read, 0);"),
    "wmma_b_taken_for_columns": (
        "wmma.cuh", "kRowB = !kTraits.b_is_k_major();", "kRowB = kTraits.b_is_k_major();"),
    "wmma_warps_take_the_same_columns": ("wmma.cuh", "element_offset<kTileB>(kRowB, warp_n_, 0)", "0"),
    "wmma_buffers_overlap": (
        "shared/wmma_config.hpp", "return fragment_m * sum_stride_bytes(t);", "return fragment_m * sum_stride_bytes(t) / 2;"),
    "wmma_chunk_stored_too_wide": ("result_chunk.cuh", "col_ + 8 <= args_.n", "col_ + 7 <= args_.n"),
    "wmma_rows_off_by_one": ("result_chunk.cuh", "if (row_ >= args_.m) return;", "if (row_ > args_.m) return;"),
    "wmma_columns_off_by_one": ("result_chunk.cuh", "if (col_ + e >= args_.n) return;", "if (col_ + e > args_.n) return;"),
    "wmma_fragments_loaded_beyond_the_edge": (
        "wmma.cuh", "is_loadable(args_.b, args_.ldb) ? whole_tiles() : 0;", "is_loadable(args_.b, args_.ldb) ? k_tiles() : 0;"),
    "wmma_tiles_behind_the_whole_ones_from_the_start": (
        "wmma.cuh", "CopyA copy_a(args_.a, args_.lda, block_m_, args_.m, args_.k, thread_, done);",
        "CopyA copy_a(args_.a, args_.lda, block_m_, args_.m, args_.k, thread_);"),
    "wmma_b_in_global_memory_does_not_advance": ("wmma.cuh", "      b += step_b;\n", ""),
    "wmma_registers_hold_one_piece": (
        "operand_tile.cuh", "use(pass * kColPasses + c, row,", "use(0, row,"),
    "wmma_partial_piece_taken_for_whole": (
        "operand_tile.cuh", "      if (left >= kVec) {\n", "      if (left > 0) {\n"),
}

# Each family has a program, mutant_<family>.cpp, whose kernels run with a bug.
FAMILIES = sorted(path.stem.removeprefix("mutant_") for path in pathlib.Path(__file__).parent.glob("mutant_*.cpp")
                  if path.stem != "mutant_runner")
CLEAN = [f"{family}_none" for family in FAMILIES]


def write(name: str, templates: pathlib.Path, twins: pathlib.Path, out: pathlib.Path) -> None:
    """If the text does not occur, the copy stays unchanged and can be built; `run` reports this."""
    for path in [*templates.glob("*.cuh"), *(templates / "shared").glob("*.hpp")]:
        copy = out / path.relative_to(templates)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.unlink(missing_ok=True)
        copy.symlink_to(path)
    (out / "ptx").unlink(missing_ok=True)
    (out / "ptx").symlink_to(twins)
    if name not in CLEAN:
        file, text, replacement = MUTANTS[name]
        (out / file).unlink()
        (out / file).write_text((templates / file).read_text(encoding="utf-8").replace(text, replacement),
                                encoding="utf-8")
    (out / "written").touch()


def outcome(programs: pathlib.Path, name: str) -> str:
    """The error that the program of this name printed; empty if it found none."""
    command = [programs / f"mutant_{name}", *(["--unchanged"] if name in CLEAN else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"


def sample(bugs: dict[str, tuple[str, str, str]], seed: int, changed: list[str]) -> list[str]:
    """One of 60 of each family's bugs, but at least one, and of a family with bugs in changed files as many again of
    these. A bug of wgmma takes half a minute, so the sample is bounded after any change."""
    rng = random.Random(seed)
    chosen = []
    for family in FAMILIES:
        names = [name for name in bugs if name.startswith(f"{family}_")]
        rng.shuffle(names)
        count = max(1, round(len(names) / 60))
        in_changed = [name for name in names if bugs[name][0] in changed][:count]
        chosen += in_changed + [name for name in names if name not in in_changed][:count]
    return [name for name in bugs if name in chosen]


def names_to_run() -> list[str]:
    if os.environ.get("HOTGEMM_TEST_FULL") == "1":
        return list(MUTANTS)
    seed = int(os.environ.get("HOTGEMM_TEST_SEED", "1"))
    names = sample(MUTANTS, seed, os.environ.get("HOTGEMM_TEST_CHANGED", "").split())
    print(f"a sample of {len(names)} of {len(MUTANTS)} mutants; HOTGEMM_TEST_SEED={seed} repeats it, HOTGEMM_TEST_FULL=1 "
          "runs all", flush=True)
    return names


def build(names: list[str], directory: str) -> bool:
    command = ["cmake", "--build", directory, "--target", *(f"mutant_{name}" for name in names)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout)
    return done.returncode == 0


def run(programs: pathlib.Path, build_directory: str) -> int:
    failed = False
    for family in FAMILIES:
        if not any(name.startswith(f"{family}_") for name in MUTANTS):
            print(f"family {family} has no mutants: add some, named {family}_…, to MUTANTS in mutants.py")
            failed = True
    mutants = names_to_run()
    names = [*CLEAN, *mutants]
    if not mutants or not build(names, build_directory):
        print("no mutant was drawn" if not mutants else "the mutants do not build")
        return 1
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = dict(zip(names, pool.map(lambda name: outcome(programs, name), names)))
    for name in CLEAN:
        if outcomes[name]:
            print(f"{name}, the templates as they are: {outcomes[name]}")
            failed = True
    for name in mutants:
        print(f"{'caught  ' if outcomes[name] else 'SURVIVED'}  {name}: {outcomes[name]}")
    caught = sum(1 for name in mutants if outcomes[name])
    print(f"{caught} of {len(mutants)} mutants caught")
    return 1 if failed or caught < len(mutants) else 0


def misplaced(templates: pathlib.Path) -> list[str]:
    """The bugs whose text does not occur exactly once in its file, with the number of times."""
    found = []
    for name, (file, text, _) in MUTANTS.items():
        times = (templates / file).read_text(encoding="utf-8").count(text)
        if times != 1:
            found.append(f"{name}: {times} times in {file}")
    return found


def self_test(templates: pathlib.Path) -> int:
    draws = [sample(MUTANTS, seed, []) for seed in range(1000)]
    of_wgmma = [name for name in MUTANTS if MUTANTS[name][0] == "wgmma.cuh"]
    after_change = sample(MUTANTS, 1, ["wgmma.cuh"])
    checks = {
        "a seed repeats its sample": draws[7] == sample(MUTANTS, 7, []),
        "seeds differ": len({tuple(draw) for draw in draws}) == len(draws),
        "each family is in each sample": all(
            any(name.startswith(f"{family}_") for name in draw) for draw in draws for family in FAMILIES),
        "each mutant is in some sample": {name for draw in draws for name in draw} == set(MUTANTS),
        "a changed template has more": sum(name in of_wgmma for name in after_change)
                                       > sum(name in of_wgmma for name in draws[1]),
    }
    wrong = misplaced(templates)
    checks["the text of each mutant occurs once in its file" + "".join(f"\n       {line}" for line in wrong)] = not wrong
    for what, holds in checks.items():
        print(f"{'yes' if holds else 'NO '}  {what}")
    return 0 if all(checks.values()) else 1


def main() -> int:
    command, *words = sys.argv[1:]
    if command == "list":
        print(";".join([*CLEAN, *MUTANTS]), end="")
        return 0
    if command == "write":
        name, *paths = words
        write(name, *(pathlib.Path(path) for path in paths))
        return 0
    if command == "self-test":
        return self_test(pathlib.Path(*words))
    programs, build_directory = words
    return run(pathlib.Path(programs), build_directory)


if __name__ == "__main__":
    sys.exit(main())
