#pragma once

// The bit mask of ReLU, which a forward product writes and the backward one reads: one bit for each element, 1 if
// the value in front of ReLU is 0 or more, as cuBLASLt stores it. Column c of a row is bit c % 8 of byte c / 8. Rows
// begin at multiples of 16 bytes. Bits behind the last column, in its byte, may be written too.

#include "ptx/index.hpp"
#include "ptx/memory.hpp"
#include "ptx/warp.hpp"
#include "shared/fragment.hpp"

namespace hotgemm {

/// The neighbours that the lanes of a warp have at once, in eight columns that begin at a multiple of eight.
enum class Neighbours : unsigned char {
  none,    ///< lanes need not be there at the same time
  across,  ///< lane 4g + t has two neighbours of a row, in columns 2t and 2t + 1; the lanes of a quad have one row
  down,    ///< lane 4g + t has two elements below each other, in column g; lanes that are 4 apart have the same rows
};

/// The bit of a value in front of ReLU: 1 for 0, and 0 for NaN.
HOTGEMM_DEVICE bool relu_bit(float value) { return value >= 0; }

/// The address of the byte, or of the word, that has an element's bit. `ld` counts bits.
HOTGEMM_DEVICE u64 byte_of_bits(u64 bits, i64 ld, Element2d at) {
  return bits + static_cast<u64>(at.row * (ld / 8) + at.col / 8);
}
HOTGEMM_DEVICE u64 word_of_bits(u64 bits, i64 ld, Element2d at) {
  return bits + static_cast<u64>(at.row * (ld / 8) + at.col / 32 * 4);
}

/// True if the element's bit is 1. An element that is not there has none.
HOTGEMM_DEVICE bool load_relu_bit(u64 bits, i64 ld, Element2d at, bool is_there) {
  return (ptx::ld_global_unchanged_b32_if(word_of_bits(bits, ld, at), is_there) >> (at.col % 32) & 1) != 0;
}

/// Stores one bit. Other threads store the other bits of its word.
HOTGEMM_DEVICE void store_relu_bit(u64 bits, i64 ld, Element2d at, bool bit) {
  const u64 word = word_of_bits(bits, ld, at);
  const u32 mask = u32{1} << (at.col % 32);
  if (bit) {
    ptx::red_global_or_b32(word, mask);
  } else {
    ptx::red_global_and_b32(word, ~mask);
  }
}

/// Bits 0, 4, … 28 of a word, side by side.
HOTGEMM_DEVICE u32 every_fourth_bit(u32 word) {
  word &= 0x11111111u;
  word = (word | word >> 3) & 0x03030303u;
  word = (word | word >> 6) & 0x000f000fu;
  return (word | word >> 12) & 0xffu;
}

/// Stores the bits of a lane's two elements, of which `at` is the place of the first. Its neighbours call this together
/// with it, as kNeighbours says.
template <Neighbours kNeighbours>
HOTGEMM_DEVICE void store_relu_bits(u64 bits, i64 ld, Element2d at, Element2d end, bool first, bool second) {
  if constexpr (kNeighbours == Neighbours::across) {
    const u32 quad = 0xfu << (static_cast<u32>(ptx::thread_index()) & 28u);
    u32 byte = ((first ? 1u : 0u) | (second ? 2u : 0u)) << (at.col % 8);
    byte |= ptx::shfl_sync_bfly_b32(byte, 1, 0x1f, quad);
    byte |= ptx::shfl_sync_bfly_b32(byte, 2, 0x1f, quad);
    if (at.col % 8 == 0 && at.row < end.row && at.col < end.col) ptx::st_global_u8(byte_of_bits(bits, ld, at), byte);
  } else if constexpr (kNeighbours == Neighbours::none) {
    if (at.row >= end.row) return;
    if (at.col < end.col) store_relu_bit(bits, ld, at, first);
    if (at.col + 1 < end.col) store_relu_bit(bits, ld, {at.row, at.col + 1}, second);
  } else {
    // Lane t stores the upper of its two rows, and lane 4 + t the lower one.
    const u32 upper = ptx::vote_sync_ballot(first, ~0u), lower = ptx::vote_sync_ballot(second, ~0u);
    const int g = at.col % 8, row = at.row + g;
    const u32 byte = every_fourth_bit((g == 0 ? upper : lower) >> (ptx::thread_index() % 4));
    if (g < 2 && row < end.row && at.col - g < end.col) ptx::st_global_u8(byte_of_bits(bits, ld, {row, at.col}), byte);
  }
}

/// The bits of 16 rows and 16 columns, of which each lane has pairs in eight rows and eight columns each, as
/// accumulators do. A lane stores the bits of a row. All lanes of a warp call each function.
template <Neighbours kNeighbours>
class ReluBitGroup {
 public:
  /// Takes the bits of pair `number` (GradientSums::add).
  HOTGEMM_DEVICE void add(int number, bool first, bool second) {
    words_[number][0] = ptx::vote_sync_ballot(first, ~0u);
    words_[number][1] = ptx::vote_sync_ballot(second, ~0u);
  }

  /// Stores the bits of `extent`, of which each number is 8 or 16, from `first` on, as far as they lie in front of
  /// `end`.
  HOTGEMM_DEVICE void store(u64 bits, i64 ld, Element2d first, Element2d extent, Element2d end) const {
    const int row = ptx::thread_index() % kWarpSize;
    if (row >= extent.row || first.row + row >= end.row || first.col >= end.col) return;
    const u64 to = byte_of_bits(bits, ld, {first.row + row, first.col});
    const bool has_both = extent.col > 8 && first.col + 8 < end.col;
    if (has_both && first.col % 16 == 0) {
      ptx::st_global_b16(to, static_cast<u16>(byte(row, 0) | byte(row, 1) << 8));
    } else {
      ptx::st_global_u8(to, byte(row, 0));
      if (has_both) ptx::st_global_u8(to + 1, byte(row, 1));
    }
  }

 private:
  /// The bits of a row's eight columns number `half`.
  HOTGEMM_DEVICE u32 byte(int row, int half) const {
    const bool is_below = row >= 8;
    const int above = kNeighbours == Neighbours::across ? 2 * half : half,
              step = kNeighbours == Neighbours::across ? 1 : 2;
    const u32 first = is_below ? words_[above + step][0] : words_[above][0];
    const u32 second = is_below ? words_[above + step][1] : words_[above][1];
    if constexpr (kNeighbours == Neighbours::across) {
      const int quad = row % 8 * 4;
      u32 both = (first >> quad & 0xfu) | (second >> quad & 0xfu) << 8;  // of even columns, and of odd ones
      both = (both | both << 2) & 0x3333u;
      both = (both | both << 1) & 0x5555u;
      return (both | both >> 7) & 0xffu;
    } else {
      return every_fourth_bit((row % 2 == 0 ? first : second) >> (row % 8 / 2));
    }
  }

  u32 words_[4][2] = {};  // of the first and the second elements of each pair, by lane
};

}  // namespace hotgemm
