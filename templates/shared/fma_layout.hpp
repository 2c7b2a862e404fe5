#pragma once

#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"

namespace hotgemm {

/// A thread's place in its block: its first row and column of the block's tile.
struct ThreadPlace {
  int m;
  int n;
};

/// How the threads of a block share its tile of D on CUDA cores.
///
/// A thread's rows, and its columns, come in groups of neighbours of at most 16 bytes. A warp is lanes_m × lanes_n
/// threads whose groups interlock: group g of its lanes lies beside group g of their neighbours, so that a warp reads
/// contiguous shared memory.
///
///   lanes_m = 4, two groups of four rows:   lane 0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3 0 0 0 0 1 1 1 1 …
struct ThreadTile {
  int thread_m, thread_n;  // elements of a thread
  int group_m, group_n;    // neighbouring ones
  int lanes_m, lanes_n;    // threads of a warp
  int warps_n;             // warps side by side

  constexpr int warp_m() const { return lanes_m * thread_m; }
  constexpr int warp_n() const { return lanes_n * thread_n; }

  /// Lanes are taken in pairs of rows where there are two: then each lane shares its rows with the lane two further and
  /// its columns with its neighbour, and a warp's 16-byte loads of both operands take half the time.
  constexpr ThreadPlace place(int thread) const {
    const int lane = thread % 32, warp = thread / 32;
    const int pair = lanes_m % 2 == 0 ? 2 : 1;
    const int m = lane / (pair * lanes_n) * pair + lane % pair;
    const int n = lane / pair % lanes_n;
    return {warp / warps_n * warp_m() + m * group_m, warp % warps_n * warp_n() + n * group_n};
  }
  /// Rows, or columns, from a thread's first to its `i`-th.
  constexpr int row_step(int i) const { return i / group_m * lanes_m * group_m + i % group_m; }
  constexpr int col_step(int j) const { return j / group_n * lanes_n * group_n + j % group_n; }
};

/// Warps are as square as they can be: fewest bytes read for each product. `wide`: with as many columns as they can
/// have instead, so that threads that access single elements access neighbours.
constexpr ThreadTile make_thread_tile(int block_m, int block_n, int thread_m, int thread_n, DType element, bool wide) {
  const int rows = block_m / thread_m, cols = block_n / thread_n, group = 16 / size_bytes(element);
  int lanes_n = 0, least = 0;
  for (int lanes = 32; lanes >= 1; lanes /= 2) {
    if (cols % lanes != 0 || rows % (32 / lanes) != 0) continue;
    const int read = 32 / lanes * thread_m + lanes * thread_n;
    if (lanes_n != 0 && (wide || read >= least)) continue;
    lanes_n = lanes;
    least = read;
  }
  if (lanes_n == 0) lanes_n = 1;  // the threads are no whole warps, and the config not legal
  return {thread_m,     thread_n, gcd(thread_m, group),     gcd(thread_n, group),
          32 / lanes_n, lanes_n,  max_of(cols / lanes_n, 1)};
}

/// An operand's k-tile in shared memory, as rows along k: shared[k][outer], outer along m or n. And how the threads of
/// a block copy it there: each `accesses` times, `access` elements at a time.
struct FmaTile {
  int outer;
  int block_k;
  int element_bytes;
  bool k_major;  ///< in global memory k is contiguous: a copy transposes
  int access;
  int threads;
  bool padded;

  // ---- shared memory ----
  constexpr int row_bytes() const { return div_up(outer * element_bytes, 16) * 16 + (padded ? 16 : 0); }
  constexpr int bytes() const { return block_k * row_bytes(); }
  constexpr int offset_bytes(int at, int k) const { return k * row_bytes() + at * element_bytes; }

  // ---- global memory: `rows` rows of `row_elements` contiguous ones ----
  constexpr int rows() const { return k_major ? outer : block_k; }
  constexpr int row_elements() const { return k_major ? block_k : outer; }
  constexpr int row_accesses() const { return row_elements() / access; }

  /// Threads along a row. A copy that transposes into padded rows takes eight of k side by side: what a warp then
  /// stores to eight rows lies in different banks. More of k where threads would have nothing to copy.
  constexpr int row_threads() const {
    const int most = gcd(row_accesses(), threads);
    if (!k_major || !padded) return most;
    int few = gcd(most, max_of(8 / access, 1));
    while (few < most && threads / few > rows() && most % (2 * few) == 0) few *= 2;
    return few;
  }
  constexpr int pass_rows() const { return threads / row_threads(); }
  constexpr int row_passes() const { return div_up(rows(), pass_rows()); }
  constexpr int col_passes() const { return row_accesses() / row_threads(); }
  constexpr int accesses() const { return row_passes() * col_passes(); }
  constexpr bool has_idle_threads() const { return rows() % pass_rows() != 0; }

  constexpr int thread_row(int thread) const { return thread / row_threads(); }
  constexpr int thread_col(int thread) const { return thread % row_threads() * access; }
  constexpr int col_step() const { return row_threads() * access; }
};

}  // namespace hotgemm
