#pragma once

namespace hotgemm {

constexpr int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
constexpr int div_up(int a, int b) { return (a + b - 1) / b; }
constexpr int min_of(int a, int b) { return a < b ? a : b; }
constexpr int max_of(int a, int b) { return a > b ? a : b; }
/// On a GPU, do not compare the result with the limits: for sm_90, ptxas 13.0 turns clamp(value, 0, high) == high into
/// value <= high (docs/notebook/ladder.md, 5).
constexpr int clamp(int value, int low, int high) { return min_of(max_of(value, low), high); }

inline constexpr int kChunkBytes = 16;  // addressed by one thread of ldmatrix; the most that cp.async copies
inline constexpr int kBankGroups = 8;   // 128 bytes of shared-memory banks, in chunks

/// The part of a tile that a warp reads at once. Its pieces should lie in different banks.
enum class TileRead {
  rows,        ///< ldmatrix: a chunk of eight consecutive rows
  byte_pairs,  ///< ldmatrix: a chunk of rows 0, 1, 4, 5, 8, 9, 12 and 13 of sixteen, or of the others
  words,       ///< two neighbouring chunks of four consecutive rows
};

/// A matrix tile in shared memory: `rows` rows of `row_chunks` 16-byte chunks.
///
/// ldmatrix reads eight consecutive rows at one chunk column. It has no bank conflict if the eight chunks lie in eight
/// different bank groups. Rows with an odd number of chunks have no conflicts. For other rows there are three
/// possibilities: the rows are padded by one chunk (`pad`), the chunk index is permuted within its row (`swizzle`), or
/// there are conflicts. The permutation is
///
///   chunk' = chunk ^ ((row / (8 / g)) % g),  g = gcd(row_chunks, 8)
///
/// For 128-byte rows (g = 8) this is the well-known `chunk ^ row % 8`, and for 64-byte rows `chunk ^ row / 2 % 4`.
/// XOR of the low log2(g) bits stays inside the row because g divides row_chunks.
///
/// Rows of which byte pairs are read lie in another order, in which the eight follow each other. For words, the rows of
/// the formula are twice as far apart, and padding makes them two chunks, or six, longer than a multiple of eight.
struct TileLayout {
  int rows;
  int row_chunks;
  bool swizzle;
  bool pad = true;  ///< pads rows that are not swizzled
  TileRead read = TileRead::rows;

  constexpr int swizzle_span() const { return gcd(row_chunks, kBankGroups); }
  constexpr int row_stride_bytes() const {
    const int padding = read == TileRead::words ? (row_chunks % 4 == 0 ? 2 : 0) : (row_chunks % 2 == 0 ? 1 : 0);
    return (row_chunks + (pad && !swizzle ? padding : 0)) * kChunkBytes;
  }
  constexpr int bytes() const { return rows * row_stride_bytes(); }

  /// The place of `row` among the rows.
  constexpr int place_of(int row) const {
    const auto r = static_cast<unsigned>(row);
    return read == TileRead::byte_pairs ? static_cast<int>(r / 16 * 16 + r / 2 % 2 * 8 + r / 4 % 4 * 2 + r % 2) : row;
  }
  /// The value that is XORed into the chunk index at the place `row`; it has a period of 8 rows.
  constexpr int row_xor(int row) const {
    // Unsigned, so that the compiler recognises the period and reuses the result for rows that are 8 apart.
    const auto r = static_cast<unsigned>(read == TileRead::words ? 2 * row : row);
    const auto span = static_cast<unsigned>(swizzle_span());
    return swizzle ? static_cast<int>(r / (kBankGroups / span) % span) : 0;
  }
  constexpr int offset_bytes(int row, int chunk) const {
    const int place = place_of(row);
    return place * row_stride_bytes() + (chunk ^ row_xor(place)) * kChunkBytes;
  }
};

}  // namespace hotgemm
