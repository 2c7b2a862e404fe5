#pragma once

namespace hotgemm {

// Where the elements of an mma.sync.m16n8k16 live, from the PTX ISA's figures for 16-bit operands.
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
inline constexpr int kWarpSize = 32;

struct Element2d {
  int row;
  int col;
};

/// Position in the 16×8 accumulator of element `i` (0..3) of `lane`.
constexpr Element2d accumulator_element(int lane, int i) { return {lane / 4 + (i / 2) * 8, (lane % 4) * 2 + i % 2}; }

/// The row and chunk, relative to a 16×16 block of a tile, whose address `lane` hands to ldmatrix.x4.
struct LdmatrixLane {
  int row;
  int chunk;
};

/// A 16 (rows of A) × 16 (k) block: registers in the order a0a1, a2a3, a4a5, a6a7.
/// k-major tiles hold rows of A; others hold rows of k and are read with .trans.
constexpr LdmatrixLane ldmatrix_a_lane(int lane, bool k_major) {
  const int r = lane % 8, low = lane / 8 % 2, high = lane / 16;
  return k_major ? LdmatrixLane{r + 8 * low, high} : LdmatrixLane{r + 8 * high, low};
}

/// A 16 (k) × 16 (columns of B) block, two n8 fragments: registers b0b1, b2b3 of the first, then of the second.
/// k-major tiles hold rows of columns of B; others hold rows of k and are read with .trans.
constexpr LdmatrixLane ldmatrix_b_lane(int lane, bool k_major) {
  const int r = lane % 8, low = lane / 8 % 2, high = lane / 16;
  return k_major ? LdmatrixLane{r + 8 * high, low} : LdmatrixLane{r + 8 * low, high};
}

}  // namespace hotgemm
