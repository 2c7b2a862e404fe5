#pragma once

namespace hotgemm {

// The positions of the elements of an mma.sync.m16n8k16, from the figures of the PTX ISA for 16-bit operands. The
// instructions for elements of 8 and 32 bits, m16n8k32 and m16n8k8, have the same bytes of k in the same places.
//
//   A (16×16)            B (16×8)          C, D (16×8)
//   lane = 4*g + t       lane = 4*g + t    lane = 4*g + t
//   a0,a1: (g  , 2t..)   b0,b1: (2t.. , g) c0,c1: (g  , 2t..)
//   a2,a3: (g+8, 2t..)   b2,b3: (2t+8.., g) c2,c3: (g+8, 2t..)
//   a4,a5: (g  , 2t+8..)
//   a6,a7: (g+8, 2t+8..)

inline constexpr int kMmaM = 16;
inline constexpr int kMmaN = 8;
inline constexpr int kMmaK = 16;
inline constexpr int kMmaKBytes = 32;
inline constexpr int kWarpSize = 32;

struct Element2d {
  int row;
  int col;
};

/// Position in the 16×8 accumulator of element `i` (0..3) of `lane`.
constexpr Element2d accumulator_element(int lane, int i) { return {lane / 4 + (i / 2) * 8, (lane % 4) * 2 + i % 2}; }

/// A warp may hold a row of 64 elements, lane L elements 2L and 2L + 1. This is the lane that has those of pair
/// `number` of group `group` in the accumulators of `lane`. A group is 16 elements wide: pairs 0 and 1 lie in elements
/// 0 to 7 of it, pairs 2 and 3 in elements 8 to 15.
constexpr int holding_lane(int lane, int group, int number) { return group * 8 + number / 2 * 4 + lane % 4; }

/// The row and chunk whose address `lane` passes to ldmatrix.x4, relative to a 16×16 block of a tile; or those of a
/// word that it loads.
struct LdmatrixLane {
  int row;
  int chunk;
  int byte = 0;  ///< of the chunk
};

/// A 16 (rows of A) × 16 (k) block: registers in the order a0a1, a2a3, a4a5, a6a7.
/// Rows of a k-major tile are rows of A. Rows of another tile run along m at one k, and are read with .trans.
constexpr LdmatrixLane ldmatrix_a_lane(int lane, bool k_major) {
  const int r = lane % 8, low = lane / 8 % 2, high = lane / 16;
  return k_major ? LdmatrixLane{r + 8 * low, high} : LdmatrixLane{r + 8 * high, low};
}

/// A 16 (k) × 16 (columns of B) block, two n8 fragments: registers b0b1, b2b3 of the first, then of the second. Rows of
/// a k-major tile are columns of B. Rows of another tile run along n at one k, and are read with .trans.
constexpr LdmatrixLane ldmatrix_b_lane(int lane, bool k_major) {
  const int r = lane % 8, low = lane / 8 % 2, high = lane / 16;
  return k_major ? LdmatrixLane{r + 8 * high, low} : LdmatrixLane{r + 8 * low, high};
}

/// The same for ldmatrix.x2, which loads only the first fragment. It uses the addresses of the first 16 lanes; the
/// other lanes repeat them.
constexpr LdmatrixLane ldmatrix_x2_b_lane(int lane, bool k_major) { return ldmatrix_b_lane(lane % 16, k_major); }

// Tiles of single bytes and of words whose rows run along m or n, not along k, have 16×(32 bytes of k) blocks too. A
// block's two halves are each 8 rows of A, or columns of B, of an instruction.
//
// Bytes: ldmatrix.trans moves pairs of bytes, which lie beside each other along m or n. With the rows below, a lane has
// two pairs at k = 4*t and 4*t+1 in one register, and at 4*t+2 and 4*t+3 in the next. prmt takes the first bytes of
// both for one fragment register, and the second bytes for another. So one half has the even rows (columns), the other
// the odd ones.

/// The row of a tile of bytes whose address `lane` passes to ldmatrix.x4.trans: two registers with the pairs of each 16
/// bytes of k.
constexpr LdmatrixLane ldmatrix_bytes_lane(int lane) {
  const int r = lane % 8, high = lane / 8 % 2, k_half = lane / 16;
  return {r % 2 + r / 2 * 4 + 2 * high + 16 * k_half, 0};
}

/// The same for a tile whose rows have a swizzle of 128 or 64 bytes, which keeps eight rows apart if no two are a
/// multiple of eight from each other. So lanes with t >= 2 have the register for 4*t+2 first, and then that for 4*t.
constexpr LdmatrixLane ldmatrix_swizzled_bytes_lane(int lane) {
  const int r = lane % 8, high = lane / 8 % 2, k_half = lane / 16;
  return {r % 2 + r / 2 * 4 + 2 * (high ^ r / 4) + 16 * k_half, 0};
}
/// The row of a tile of words with such a swizzle from which `lane` loads its first word of each row of A; its second
/// word is four rows from there. Lanes with an odd t have the word for k = t + 4 first, and then that for t.
constexpr int swizzled_words_row(int lane) { return lane % 4 + lane % 2 * 4; }

/// The word that `lane` loads of the first half of a block in a tile of words, at the first half of its k.
constexpr LdmatrixLane word_lane(int lane) { return {lane % 4, lane / 16, lane / 4 % 4 * 4}; }

/// The place in a fragment of the register with half `half` of a block's rows (columns), and the first or second half
/// of its k.
constexpr int fragment_register(bool is_a, int half, int k_half) {
  return is_a ? half + 2 * k_half : 2 * half + k_half;
}

// A quad is four lanes 4*g .. 4*g+3. Each of its lanes holds one pair of each row of 8 results in their accumulators.
// Four such rows are transposed in two steps, so that lane t of the quad ends up with row t. In each step a lane
// exchanges two of its four words with the lane at `distance` 1, then 2. After both steps, word w of lane t is the
// former word t of lane w.

/// The word that `lane` exchanges with its partner: either `word` or `word + distance`, where `word & distance` is 0.
constexpr int exchanged_word(int lane, int word, int distance) {
  return (lane & distance) != 0 ? word : word + distance;
}

/// One of a warp's rows of 8 results: rows `half` * 8 + lane / 4 of the 16×8 accumulators at `block`, `column`.
struct ResultRow {
  int block;
  int half;
  int column;
};

/// The order of a warp's rows of 8 results, which are taken four at a time; `columns` accumulators lie side by side.
constexpr ResultRow result_row(int index, int columns) {
  return {index / (2 * columns), index / columns % 2, index % columns};
}

}  // namespace hotgemm
