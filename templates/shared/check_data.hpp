#pragma once

#include "shared/gemm_types.hpp"

namespace hotgemm {

// The data for checking kernels. Each value is a function of its position, so that the expected product needs no stored
// operand.
//
// A is sparse in k: row i of op(A) has a nonzero where (k + hash(i)) % stride == 0, at most kCheckNonzeros of them. All
// values are integers in [-2, 2]. Every partial sum is then an integer of magnitude at most 4 * kCheckNonzeros + 2,
// which f16, bf16, f32 and s32 have exactly. The product therefore has the same bits in any order of summation, and a
// single wrong, missing or doubled term is visible.

inline constexpr int kCheckNonzeros = 32;

constexpr unsigned hash_u32(unsigned x) {  // Murmur3's finaliser: every input bit reaches every output bit
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  return x;
}
constexpr unsigned hash_at(unsigned seed, unsigned i, unsigned j) {
  return hash_u32(hash_u32(hash_u32(seed + 0x9e3779b9u) ^ i) ^ (j * 0x27d4eb2fu));
}

constexpr int check_stride(int k) { return k / kCheckNonzeros + (k % kCheckNonzeros != 0); }
/// The first k at which row `i` of op(A) is nonzero; the others follow at distance `stride`.
constexpr int check_first_k(unsigned seed, int i, int stride) {
  return static_cast<int>(hash_at(seed, static_cast<unsigned>(i), 0x51ed270bu) % static_cast<unsigned>(stride));
}
/// Returns ±1 or ±2.
constexpr int nonzero_value(unsigned hash) { return (hash & 1u ? 1 : 2) * (hash & 2u ? 1 : -1); }

/// op(A) at (i, k).
constexpr int check_value_a(unsigned seed, int i, int k, int stride) {
  if (k % stride != check_first_k(seed, i, stride)) return 0;
  return nonzero_value(hash_at(seed, static_cast<unsigned>(i), static_cast<unsigned>(k)));
}
/// op(B) at (k, j): dense.
constexpr int check_value_b(unsigned seed, int k, int j) {
  return static_cast<int>(hash_at(seed ^ 0xb5297a4du, static_cast<unsigned>(k), static_cast<unsigned>(j)) % 5u) - 2;
}
/// C at (i, j).
constexpr int check_value_c(unsigned seed, int i, int j) {
  return static_cast<int>(hash_at(seed ^ 0x68e31da4u, static_cast<unsigned>(i), static_cast<unsigned>(j)) % 5u) - 2;
}
/// op(A) * op(B) at (i, j). No sum of positions is formed that an int may not hold.
constexpr int check_product(unsigned seed, int i, int j, int k, int stride) {
  int sum = 0;
  for (int l = check_first_k(seed, i, stride); l<k; l = k - l> stride ? l + stride : k) {
    sum += nonzero_value(hash_at(seed, static_cast<unsigned>(i), static_cast<unsigned>(l))) * check_value_b(seed, l, j);
  }
  return sum;
}

/// A normal variable as an s8, with a standard deviation of 32.
constexpr float quantized_normal(float x) { return x > 3.96875f ? 127 : x < -3.96875f ? -127 : 32 * x; }

/// The bytes of a D that no kernel has written: NaN, or a number that no check has as its result.
constexpr unsigned char unwritten_byte(DType type) { return is_integer(type) ? 0x80 : 0xff; }

/// The seed of the data of a product of a batch. The first product has the seed of the batch.
constexpr unsigned seed_of_product(unsigned seed, unsigned product) { return seed + product * 0x632be5abu; }

enum class FillPattern : int { check_a, check_b, check_c, normal };

/// Parameter of hotgemm_fill: writes rows × cols elements of a row-major matrix, or of each of several.
struct FillArgs {
  unsigned long long matrix;
  long long ld;
  long long stride;  ///< from one matrix to the next, in elements
  int matrices;
  int rows;
  int cols;
  int k_extent;    ///< of the problem, for check_a
  int transposed;  ///< the matrix is stored as the transpose of the pattern
  unsigned seed;
  FillPattern pattern;
  DType dtype;
};

/// The result of hotgemm_check, in device memory.
struct CheckReport {
  unsigned mismatches;
  int row;  ///< of one mismatch
  int col;
  int product;  ///< its number in a batch
};

/// Parameter of hotgemm_check: compares D with alpha * op(A) * op(B) + beta * C of the check data.
struct CheckArgs {
  unsigned long long d;
  unsigned long long report;  ///< a CheckReport, zeroed before
  long long ldd;
  long long stride_d;  ///< from one D to the next, in elements
  int products;
  int m;
  int n;
  int k;
  int alpha;
  int beta;
  unsigned seed;
  DType dtype;
};

/// Parameter of hotgemm_digest: adds a digest of the memory from `begin` to `begin + bytes`, without the elements of
/// one row-major matrix in it. Two digests are equal if nothing else was written in between. If something else was
/// written, they differ, except with a probability of 2^-64.
struct DigestArgs {
  unsigned long long begin;  ///< a multiple of kDigestChunkBytes
  unsigned long long bytes;  ///< likewise
  unsigned long long sum;    ///< 8 bytes to which the digest is added; zeroed before
  unsigned long long matrix;
  unsigned long long pitch_bytes;  ///< distance of two rows of the matrix; not 0
  unsigned long long row_bytes;    ///< length of the elements of a row
  unsigned long long rows;
};

inline constexpr unsigned kDigestChunkBytes = 16;

/// Parameter of hotgemm_pointwise: changes all numbers of a buffer of f32.
struct PointwiseArgs {
  unsigned long long begin;  ///< a multiple of kPointwiseChunkBytes
  unsigned long long bytes;  ///< likewise
};

inline constexpr unsigned kPointwiseChunkBytes = 16;

/// The number that replaces `x`. Repeated replacement keeps numbers finite.
constexpr float pointwise_of(float x) { return 0.5f * x + 1.0f; }

/// True if the `bytes` at `address` are elements of one row of the matrix.
constexpr bool is_in_row(const DigestArgs& args, unsigned long long address, unsigned bytes) {
  if (address < args.matrix) return false;
  const unsigned long long offset = address - args.matrix;
  const unsigned long long row = offset / args.pitch_bytes;
  return row < args.rows && offset - row * args.pitch_bytes + bytes <= args.row_bytes;
}

/// The four bytes at `address`, with bytes of elements replaced by zero.
constexpr unsigned without_elements(const DigestArgs& args, unsigned long long address, unsigned word) {
  unsigned kept = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (!is_in_row(args, address + i, 1)) kept |= 0xffu << i * 8;
  }
  return word & kept;
}

/// The term that word `place` of eight bytes adds to the digest: a bijection of its value, so that one change is always
/// visible.
constexpr unsigned long long digest_term(unsigned long long place, unsigned low, unsigned high) {
  unsigned long long x = (low | static_cast<unsigned long long>(high) << 32) + place * 0xa0761d6478bd642full;
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15ull;
  x ^= x >> 29;
  x *= 0xd6e8feb86659fd93ull;
  return x ^ x >> 32;
}

/// The term that the 16 bytes at `address` add to the digest.
constexpr unsigned long long digest_chunk(const DigestArgs& args, unsigned long long address, unsigned x, unsigned y,
                                          unsigned z, unsigned w) {
  const unsigned long long end = args.matrix + args.rows * args.pitch_bytes;
  if (address + kDigestChunkBytes > args.matrix && address < end) {
    if (is_in_row(args, address, kDigestChunkBytes)) return 0;
    x = without_elements(args, address, x);
    y = without_elements(args, address + 4, y);
    z = without_elements(args, address + 8, z);
    w = without_elements(args, address + 12, w);
  }
  const unsigned long long place = (address - args.begin) / 8;
  return digest_term(place, x, y) + digest_term(place + 1, z, w);
}

}  // namespace hotgemm
