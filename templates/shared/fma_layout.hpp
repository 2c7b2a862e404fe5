#pragma once

#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"

namespace hotgemm {

/// A thread's first row and column in the block's tile.
struct ThreadPlace {
  int m;
  int n;
};

/// The division of a block's tile of D among its threads, on CUDA cores.
///
/// The rows of a thread, and its columns, form groups of neighbours of at most 16 bytes. A warp has lanes_m × lanes_n
/// threads. Group g of a lane lies beside group g of the neighbouring lanes, so that a warp reads contiguous shared
/// memory. A tile of fewer threads than a warp has as many lanes.
///
///   lanes_m = 4, two groups of four rows:   lane 0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3 0 0 0 0 1 1 1 1 …
struct ThreadTile {
  int thread_m, thread_n;  // elements of a thread
  int group_m, group_n;    // neighbouring elements
  int lanes_m, lanes_n;    // threads of a warp, or of the whole tile
  int warps_n;             // warps side by side

  constexpr int warp_m() const { return lanes_m * thread_m; }
  constexpr int warp_n() const { return lanes_n * thread_n; }

  /// If lanes_m is even, lanes are numbered in pairs of rows. Then each lane has the same rows as the lane two further
  /// and the same columns as its neighbour, and a warp's 16-byte loads of both operands take half the time.
  constexpr ThreadPlace place(int thread) const {
    const int lane = thread % 32, warp = thread / 32;
    const int pair = lanes_m % 2 == 0 ? 2 : 1;
    const int m = lane / (pair * lanes_n) * pair + lane % pair;
    const int n = lane / pair % lanes_n;
    return {warp / warps_n * warp_m() + m * group_m, warp % warps_n * warp_n() + n * group_n};
  }
  /// The distance in rows, or columns, from a thread's first to its `i`-th.
  constexpr int row_step(int i) const { return i / group_m * lanes_m * group_m + i % group_m; }
  constexpr int col_step(int j) const { return j / group_n * lanes_n * group_n + j % group_n; }
};

/// Makes warps as square as possible, because that reads the fewest bytes per product. With `wide`, warps have as many
/// columns as possible instead, so that threads that access single elements access neighbours. `group` is the most
/// neighbours in a group.
constexpr ThreadTile make_thread_tile(int block_m, int block_n, int thread_m, int thread_n, int group, bool wide) {
  const int rows = block_m / thread_m, cols = block_n / thread_n;
  const int all = min_of(rows * cols, 32);
  int lanes_n = 0, least = 0;
  for (int lanes = all; lanes >= 1; lanes /= 2) {
    if (cols % lanes != 0 || all % lanes != 0 || rows % (all / lanes) != 0) continue;
    const int read = all / lanes * thread_m + lanes * thread_n;
    if (lanes_n != 0 && (wide || read >= least)) continue;
    lanes_n = lanes;
    least = read;
  }
  if (lanes_n == 0) lanes_n = 1;  // the threads are not whole warps, so the config is not legal
  return {thread_m,      thread_n, gcd(thread_m, group),     gcd(thread_n, group),
          all / lanes_n, lanes_n,  max_of(cols / lanes_n, 1)};
}

/// An operand's k-tile in shared memory, as one row for each k: shared[k][outer], with outer along m or n; or, if rows
/// run along k, as shared[outer][k]. Also the division of its copy among the threads of a block: each makes `accesses`
/// accesses of `access` elements. Four s8 that are neighbours along k count as one element of four bytes.
struct FmaTile {
  int outer;
  int block_k;
  int element_bytes;
  bool k_major;  ///< k is contiguous in global memory
  int access;
  int threads;
  bool padded;
  bool along_k = false;  ///< rows of shared memory run along k, as those of a k-major operand in global memory

  /// True if the copy transposes.
  constexpr bool transposes() const { return k_major && !along_k; }

  // ---- shared memory ----
  constexpr int row_bytes() const {
    return div_up((along_k ? block_k : outer) * element_bytes, 16) * 16 + (padded ? 16 : 0);
  }
  constexpr int bytes() const { return (along_k ? outer : block_k) * row_bytes(); }
  /// Bytes from an element to the next of the same k.
  constexpr int outer_step_bytes() const { return along_k ? row_bytes() : element_bytes; }
  constexpr int offset_bytes(int at, int k) const {
    return k * (along_k ? element_bytes : row_bytes()) + at * outer_step_bytes();
  }

  // ---- global memory: `rows` rows of `row_elements` contiguous elements ----
  constexpr int rows() const { return k_major ? outer : block_k; }
  constexpr int row_elements() const { return k_major ? block_k : outer; }
  constexpr int row_accesses() const { return row_elements() / access; }

  /// Threads along a row. In a copy that transposes into padded rows, threads take eight values of k side by side, so
  /// that the stores of a warp to eight rows use different banks. Threads that would have nothing to copy take more of
  /// k instead.
  constexpr int row_threads() const {
    const int most = gcd(row_accesses(), threads);
    if (!transposes() || !padded) return most;
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
