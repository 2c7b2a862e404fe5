#pragma once

// Stores of rows of D that begin at no multiple of 16 bytes, for family `wgmma`. Each lane stores a word that is
// aligned in D, so that one instruction stores 128 bytes of a row. If a row begins at an odd element, a word of D has
// the last element of one word of the buffer and the first element of the next:
//
//   buffer    │ 0  1 │ 2  3 │ 4  5 │ … │ 62 63 │           words of the row's piece
//   D         ┊    0 │ 1  2 │ 3  4 │ … │ 61 62 │ 63   ┊    the same elements, in words of D
//
// Element 0 is alone at the left end of the tile, and element 63 at the right end. Between two pieces of a row, the
// right one stores the word that belongs to both, if the buffer of the left one still has its elements.

#include "funnel.cuh"
#include "ptx/memory.hpp"
#include "shared/fragment.hpp"
#include "shared/gemm_args.hpp"
#include "shared/wgmma_config.hpp"
#include "wgmma_piece.cuh"

namespace hotgemm {

template <GemmTraits kTraits, WgmmaConfig kConfig>
class WgmmaWords {
  static constexpr int kRows = WgmmaConfig::kStoreRows;
  static constexpr int kElementBytes = size_bytes(kTraits.element_d);
  static constexpr u32 kElementBits = 8 * kElementBytes;
  static constexpr int kPieceColumns = WgmmaConfig::store_cols(kTraits);
  /// True if rows may begin at odd elements.
  static constexpr bool kOdd = kTraits.vec_d == 1;
  static constexpr bool kHasFewRegisters = kConfig.accumulator_registers(kTraits) + 44 > kConfig.consumer_registers();
  /// All rows of a lane must have one offset. If rows may be odd, two classes take rows, or groups of rows, in turn.
  /// A loop over two classes keeps fewer addresses, which kernels with few registers need too.
  static constexpr int kClasses = kOdd || kHasFewRegisters ? 2 : 1;
  static_assert(2 * kElementBytes == sizeof(u32), "a word has two elements");

 public:
  /// True if a piece also stores the word that it shares with the piece on its left, whose buffer must then be intact.
  static constexpr bool kJoinsPieces = kOdd && !kConfig.transposed && kConfig.store_buffers(kTraits) > 1 &&
                                       kConfig.stored_n(kTraits) > kPieceColumns;

  HOTGEMM_DEVICE WgmmaWords(const GemmArgs& args, int lane) : args_(args), lane_(lane) {}

  /// Stores what lies inside D. `left` is the buffer of the piece on the left.
  HOTGEMM_DEVICE void store(const WgmmaPiece& piece, u32 left) const {
    const int rows = min_of(kConfig.transposed ? min_of(piece.rows, kRows) : kRows, args_.m - piece.row);
    const int end = min_of(kJoinsPieces ? kConfig.stored_n(kTraits) - piece.begin : piece.cols, args_.n - piece.col);
    if (rows <= 0 || end <= 0) return;
    const bool begins = !kJoinsPieces || piece.begin == 0;
#pragma unroll(kHasFewRegisters ? 1 : kClasses)
    for (int offset_class = 0; offset_class < kClasses; ++offset_class)
      store_words(piece, left, offset_class, rows, begins, end);
    const bool ends = end <= piece.cols;
    if (kOdd ? begins || ends : end % 2 != 0) store_ends(piece, rows, begins, ends, end);
  }

 private:
  /// The lanes that store one row.
  static constexpr int row_lanes(int cols) { return cols > 32 ? 32 : cols > 16 ? 16 : 8; }

  /// Stores the words of a class of rows. All rows of a lane have the same offset.
  HOTGEMM_DEVICE void store_words(const WgmmaPiece& piece, u32 left, int number, int rows, bool begins, int end) const {
    constexpr int kBatch = 4;  // rows in flight before the first store
    const int lanes = row_lanes(piece.cols), at_once = kWarpSize / lanes, step = kClasses * at_once;
    const int first = number * at_once + lane_ / lanes, word = lane_ % lanes;
    const u64 row = row_address(piece, first);
    const int offset = offset_of(row);
    u64 d = row + static_cast<u64>((2 * word - offset) * kElementBytes);
    const u64 stride = static_cast<u64>(step * args_.ldd * kElementBytes);
    const bool is_whole = (!begins || 2 * word >= offset) && 2 * word - offset + 2 <= end;
    const int stored_rows = is_whole ? rows : 0;
    const u32 high = in_buffer(piece.buffer, first, 2 * word);
    u32 low = in_buffer(piece.buffer, first, 2 * max_of(word - offset, 0));
    if (!begins && word < offset) low = in_buffer(left, first, kPieceColumns - 2);
    const bool has_word = 2 * word < piece.cols;
#pragma unroll
    for (int i = 0; i < kRows / step; i += kBatch) {
      u32 words[kBatch];
#pragma unroll
      for (int j = 0; j < kBatch && i + j < kRows / step; ++j) {
        const int down = (i + j) * step;
        if (has_word) words[j] = ptx::ld_shared_b32(rows_below(low, down));
        if (has_word && offset != 0)
          words[j] = funnel(words[j], ptx::ld_shared_b32(rows_below(high, down)), kElementBits);
      }
#pragma unroll
      for (int j = 0; j < kBatch && i + j < kRows / step; ++j) {
        if (first + (i + j) * step < stored_rows) ptx::st_global_b32(d, words[j]);
        d += stride;
      }
    }
  }

  /// Stores the elements at both ends of the rows that share a word with elements outside. A lane has one end of a row.
  HOTGEMM_DEVICE void store_ends(const WgmmaPiece& piece, int rows, bool begins, bool ends, int end) const {
    const int row = lane_ % kRows;
    const bool is_right = lane_ >= kRows;
    const u64 address = row_address(piece, row);
    const int offset = offset_of(address);
    const int col = is_right ? end - 1 : 0;
    const bool is_alone = is_right ? ends && (end + offset) % 2 != 0 : begins && offset != 0;
    if (row >= rows || !is_alone) return;
    ptx::st_global_b16(address + static_cast<u64>(col * kElementBytes),
                       ptx::ld_shared_b16(in_buffer(piece.buffer, row, col)));
  }

  /// The elements between the beginning of a word and that of the row.
  HOTGEMM_DEVICE static int offset_of(u64 row) { return kOdd ? static_cast<int>(row / kElementBytes % 2) : 0; }
  HOTGEMM_DEVICE u64 row_address(const WgmmaPiece& piece, int row) const {
    return args_.d + static_cast<u64>((piece.row + row) * args_.ldd + piece.col) * kElementBytes;
  }
  HOTGEMM_DEVICE static u32 in_buffer(u32 buffer, int row, int col) {
    constexpr int kRowBytes = WgmmaConfig::kStoreRowBytes;
    return buffer + static_cast<u32>(swizzled_offset(row * kRowBytes + col * kElementBytes, kRowBytes));
  }
  /// The same column `rows` rows below. `rows` is a multiple of a power of two that is above the row's own number.
  HOTGEMM_DEVICE static u32 rows_below(u32 shared, int rows) {
    constexpr int kRowBytes = WgmmaConfig::kStoreRowBytes;
    return (shared ^ static_cast<u32>(swizzled_offset(rows * kRowBytes, kRowBytes) % kRowBytes)) +
           static_cast<u32>(rows * kRowBytes);
  }

  const GemmArgs& args_;
  int lane_;
};

}  // namespace hotgemm
