#pragma once

#include "shared/gemm_types.hpp"

namespace hotgemm {

// The data that kernels are checked on, as functions of position, so that the expected product needs no stored operand.
//
// A is sparse in k: row i of op(A) has a nonzero where (k + hash(i)) % stride == 0, at most kCheckNonzeros of them. All
// values are integers in [-2, 2]. Then every partial sum is an integer of at most 4 * kCheckNonzeros + 2 in magnitude,
// which f16, bf16 and f32 all hold exactly: the product is the same bits in any order of summation, and one wrong,
// missing or doubled term shows.

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

constexpr int check_stride(int k) { return (k + kCheckNonzeros - 1) / kCheckNonzeros; }
/// The first k at which row `i` of op(A) is nonzero; the others follow at distance `stride`.
constexpr int check_first_k(unsigned seed, int i, int stride) {
  return static_cast<int>(hash_at(seed, static_cast<unsigned>(i), 0x51ed270bu) % static_cast<unsigned>(stride));
}
/// ±1 or ±2.
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
/// op(A) * op(B) at (i, j).
constexpr int check_product(unsigned seed, int i, int j, int k, int stride) {
  int sum = 0;
  for (int l = check_first_k(seed, i, stride); l < k; l += stride) {
    sum += nonzero_value(hash_at(seed, static_cast<unsigned>(i), static_cast<unsigned>(l))) * check_value_b(seed, l, j);
  }
  return sum;
}

enum class FillPattern : int { check_a, check_b, check_c, normal };

/// Parameter of hotgemm_fill: writes rows × cols elements of a row-major matrix.
struct FillArgs {
  unsigned long long matrix;
  long long ld;
  int rows;
  int cols;
  int k_extent;    ///< of the problem, for check_a
  int transposed;  ///< the matrix is stored as the transpose of what the pattern describes
  unsigned seed;
  FillPattern pattern;
  DType dtype;
};

/// What hotgemm_check found, in device memory.
struct CheckReport {
  unsigned mismatches;
  int row;  ///< of one mismatch
  int col;
};

/// Parameter of hotgemm_check: compares D with alpha * op(A) * op(B) + beta * C of the check data.
struct CheckArgs {
  unsigned long long d;
  unsigned long long report;  ///< a CheckReport, zeroed before
  long long ldd;
  int m;
  int n;
  int k;
  int alpha;
  int beta;
  unsigned seed;
  DType dtype;
};

}  // namespace hotgemm
