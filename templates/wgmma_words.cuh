#pragma once

// Stores of rows of D that begin at no multiple of 16 bytes, for family `wgmma`. Each lane stores a word that is
// aligned in D, so that one instruction stores 128 bytes of a row. If a row begins at an odd element, a word of D has
// the last element of one word of the buffer and the first element of the next:
//
//   buffer    │ 0  1 │ 2  3 │ 4  5 │ … │ 62 63 │           words of the row's piece
//   D         ┊    0 │ 1  2 │ 3  4 │ … │ 61 62 │ 63   ┊    the same elements, in words of D
//
// Element 0 is alone at the left end of the strip, and element 63 at the right end.
//
// A warp stores pieces beside each other as one strip, row by row. DRAM takes sectors of 32 bytes. A row that is stored
// in one go has two incomplete ones; a row that is stored in pieces has two for each piece (docs/notebook/ragged.md,
// 7).

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
  /// The registers that a thread needs beside the accumulators. A fused kernel with fewer spilled hundreds of bytes,
  /// because the compiler loads what the next piece needs among the stores of this one.
  static constexpr int kOtherRegisters = kTraits.is_fused() ? 96 : 44;
  static constexpr bool kHasFewRegisters = kConfig.accumulator_registers(kTraits) + kOtherRegisters >
                                           kConfig.consumer_registers();
  /// All rows of a lane must have one offset. If rows may be odd, two classes take rows, or groups of rows, in turn.
  /// A loop over two classes keeps fewer addresses, which kernels with few registers need too.
  static constexpr int kClasses = kOdd || kHasFewRegisters ? 2 : 1;
  static_assert(2 * kElementBytes == sizeof(u32), "a word has two elements");

 public:
  /// The most pieces of a strip.
  static constexpr int kStripPieces = kConfig.strip_pieces(kTraits);

  HOTGEMM_DEVICE WgmmaWords(const GemmArgs& args, int lane) : args_(args), lane_(lane) {}

  /// True if the piece is the first of its strip.
  static constexpr bool begins_strip(const WgmmaPiece& piece) { return number_in_strip(piece) == 0; }
  /// True if it is the last one, so that the strip can be stored.
  static constexpr bool ends_strip(const WgmmaPiece& piece) {
    return number_in_strip(piece) == kStripPieces - 1 || piece.begin + piece.cols >= kConfig.stored_n(kTraits);
  }

  /// Stores what lies inside D of the strip that ends with piece `last`. buffer_of(number) is the buffer of a piece.
  template <class BufferOf>
  HOTGEMM_DEVICE void store(const WgmmaPiece& last, const BufferOf& buffer_of) const {
    const int pieces = number_in_strip(last) + 1, cols = (pieces - 1) * kPieceColumns + last.cols;
    const auto in_strip = [&](int piece) { return buffer_of(last.number + 1 - pieces + piece); };
    const Strip<decltype(in_strip)> strip{in_strip, pieces, cols, last.row, last.col + last.cols - cols};
    const int rows = min_of(kConfig.transposed ? min_of(last.rows, kRows) : kRows, args_.m - strip.row);
    const int end = min_of(cols, args_.n - strip.col);
    if (rows <= 0 || end <= 0) return;
#pragma unroll(kHasFewRegisters ? 1 : kClasses)
    for (int row_class = 0; row_class < kClasses; ++row_class) store_words(strip, row_class, rows, end);
    if (kOdd || end % 2 != 0) store_ends(strip, rows, end);
  }

 private:
  template <class BufferOf>
  struct Strip {
    const BufferOf& buffer_of;  // of a piece, counted from 0
    int pieces;
    int cols;
    int row;  // row and column of its first element in D
    int col;
  };
  static constexpr int number_in_strip(const WgmmaPiece& piece) { return piece.begin / kPieceColumns % kStripPieces; }

  static constexpr int kLanes = kConfig.stored_n(kTraits) > 32   ? 32
                                : kConfig.stored_n(kTraits) > 16 ? 16
                                                                 : 8;  // of a row
  static constexpr int kRowsAtOnce = kWarpSize / kLanes;
  static constexpr int kStep = kClasses * kRowsAtOnce;
  static constexpr int kBatch = max_of(4 / kStripPieces, 1);  // rows in flight before the first store

  /// Stores the words of a class of rows. All rows of a lane have the same offset.
  template <class AnyStrip>
  HOTGEMM_DEVICE void store_words(const AnyStrip& strip, int row_class, int rows, int end) const {
    const int first = row_class * kRowsAtOnce + lane_ / kLanes, word = lane_ % kLanes;
    const u64 row = row_address(strip, first);
    const int offset = offset_of(row);
    u64 d = row + static_cast<u64>((2 * word - offset) * kElementBytes);
    const u64 stride = static_cast<u64>(kStep * args_.ldd * kElementBytes);
    const u32 high = in_buffer(first, 2 * word), low = in_buffer(first, 2 * max_of(word - offset, 0));
    const u32 left = in_buffer(first, kPieceColumns - 2);
    // The word before a piece's first one is the last of the piece on its left.
    const auto low_of = [&](int piece) {
      return piece > 0 && word < offset ? strip.buffer_of(piece - 1) + left : strip.buffer_of(piece) + low;
    };
    const auto stored_rows = [&](int piece) {  // those of which the lane has a whole word
      const int begin = piece * kPieceColumns + 2 * word - offset;
      return begin >= 0 && begin + 2 <= end ? rows : 0;
    };
    // All bounds are constants. The compiler unrolls inner loops first, and an array whose index is no constant then
    // goes to memory.
#pragma unroll
    for (int i = 0; i < kRows / kStep; i += kBatch) {
      u32 words[kBatch][kStripPieces];
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        const int down = (i + j) * kStep;
#pragma unroll
        for (int piece = 0; piece < kStripPieces; ++piece) {
          if (down >= kRows || piece >= strip.pieces || piece * kPieceColumns + 2 * word >= strip.cols) continue;
          words[j][piece] = ptx::ld_shared_b32(rows_below(low_of(piece), down));
          if (offset != 0)
            words[j][piece] = funnel(words[j][piece],
                                     ptx::ld_shared_b32(rows_below(strip.buffer_of(piece) + high, down)), kElementBits);
        }
      }
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
#pragma unroll
        for (int piece = 0; piece < kStripPieces; ++piece) {
          if (piece < strip.pieces && first + (i + j) * kStep < stored_rows(piece))
            ptx::st_global_b32(d + piece * kPieceColumns * kElementBytes, words[j][piece]);
        }
        d += stride;
      }
    }
  }

  /// Stores the elements at both ends of the rows that share a word with elements outside. A lane has one end of a row.
  template <class AnyStrip>
  HOTGEMM_DEVICE void store_ends(const AnyStrip& strip, int rows, int end) const {
    const int row = lane_ % kRows;
    const bool is_right = lane_ >= kRows;
    const u64 address = row_address(strip, row);
    const int offset = offset_of(address);
    const int col = is_right ? end - 1 : 0;
    const bool is_alone = is_right ? (end + offset) % 2 != 0 : offset != 0;
    if (row >= rows || !is_alone) return;
    u32 buffer = strip.buffer_of(0);
#pragma unroll
    for (int piece = 1; piece < kStripPieces; ++piece) {
      if (piece < strip.pieces && col >= piece * kPieceColumns) buffer = strip.buffer_of(piece);
    }
    ptx::st_global_b16(address + static_cast<u64>(col * kElementBytes),
                       ptx::ld_shared_b16(buffer + in_buffer(row, col % kPieceColumns)));
  }

  /// The elements between the beginning of a word and that of the row.
  HOTGEMM_DEVICE static int offset_of(u64 row) { return kOdd ? static_cast<int>(row / kElementBytes % 2) : 0; }
  template <class AnyStrip>
  HOTGEMM_DEVICE u64 row_address(const AnyStrip& strip, int row) const {
    return args_.d + static_cast<u64>((strip.row + row) * args_.ldd + strip.col) * kElementBytes;
  }
  /// The place of an element in the buffer of its piece.
  HOTGEMM_DEVICE static u32 in_buffer(int row, int col) {
    constexpr int kRowBytes = WgmmaConfig::kStoreRowBytes;
    return static_cast<u32>(swizzled_offset(row * kRowBytes + col * kElementBytes, kRowBytes));
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
