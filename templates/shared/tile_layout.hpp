#pragma once

namespace hotgemm {

constexpr int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
constexpr int div_up(int a, int b) { return (a + b - 1) / b; }
constexpr int min_of(int a, int b) { return a < b ? a : b; }
constexpr int max_of(int a, int b) { return a > b ? a : b; }
/// Not to be compared with its limits on a GPU: for sm_90, ptxas 13.0 takes value <= high for clamp(value, 0, high) ==
/// high (docs/notebook/ladder.md, 5).
constexpr int clamp(int value, int low, int high) { return min_of(max_of(value, low), high); }

inline constexpr int kChunkBytes = 16;  // what one thread of ldmatrix addresses, and cp.async copies at most
inline constexpr int kBankGroups = 8;   // 128 bytes of shared-memory banks, in chunks

/// A matrix tile in shared memory: `rows` rows of `row_chunks` 16-byte chunks.
///
/// ldmatrix reads eight consecutive rows at one chunk column; it has no bank conflict if the eight chunks lie in eight
/// different bank groups. Rows of an odd number of chunks have that by themselves. Otherwise either rows are padded by
/// one chunk (`pad`), or the chunk index is permuted within its row (`swizzle`), or there are conflicts:
///
///   chunk' = chunk ^ ((row / (8 / g)) % g),  g = gcd(row_chunks, 8)
///
/// which for 128-byte rows (g = 8) is the familiar `chunk ^ row % 8`, and for 64-byte rows `chunk ^ row / 2 % 4`.
/// XOR of the low log2(g) bits stays inside the row because g divides row_chunks.
struct TileLayout {
  int rows;
  int row_chunks;
  bool swizzle;
  bool pad = true;  ///< of rows that are not swizzled

  constexpr int swizzle_span() const { return gcd(row_chunks, kBankGroups); }
  constexpr int row_stride_bytes() const {
    const bool is_padded = pad && !swizzle && row_chunks % 2 == 0;
    return (row_chunks + (is_padded ? 1 : 0)) * kChunkBytes;
  }
  constexpr int bytes() const { return rows * row_stride_bytes(); }

  /// What is XORed into the chunk index in `row`; its period in `row` is 8.
  constexpr int row_xor(int row) const {
    // Unsigned, so that the compiler sees the period and shares the result between rows that are 8 apart.
    const auto r = static_cast<unsigned>(row), span = static_cast<unsigned>(swizzle_span());
    return swizzle ? static_cast<int>(r / (kBankGroups / span) % span) : 0;
  }
  constexpr int offset_bytes(int row, int chunk) const {
    return row * row_stride_bytes() + (chunk ^ row_xor(row)) * kChunkBytes;
  }
};

}  // namespace hotgemm
