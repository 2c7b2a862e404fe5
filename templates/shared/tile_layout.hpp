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
struct TileLayout {
  int rows;
  int row_chunks;
  bool swizzle;
  bool pad = true;  ///< pads rows that are not swizzled

  constexpr int swizzle_span() const { return gcd(row_chunks, kBankGroups); }
  constexpr int row_stride_bytes() const {
    const bool is_padded = pad && !swizzle && row_chunks % 2 == 0;
    return (row_chunks + (is_padded ? 1 : 0)) * kChunkBytes;
  }
  constexpr int bytes() const { return rows * row_stride_bytes(); }

  /// The value that is XORed into the chunk index in `row`; it has a period of 8 rows.
  constexpr int row_xor(int row) const {
    // Unsigned, so that the compiler recognises the period and reuses the result for rows that are 8 apart.
    const auto r = static_cast<unsigned>(row), span = static_cast<unsigned>(swizzle_span());
    return swizzle ? static_cast<int>(r / (kBankGroups / span) % span) : 0;
  }
  constexpr int offset_bytes(int row, int chunk) const {
    return row * row_stride_bytes() + (chunk ^ row_xor(row)) * kChunkBytes;
  }
};

}  // namespace hotgemm
