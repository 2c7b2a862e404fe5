#pragma once

#include "shared/byte_share.hpp"

namespace hotgemm {

// Repacking copies a matrix into rows that tensor copies can read: each begins at a multiple of 16 bytes, and if it is
// long enough at a whole line. Rows may be anywhere before. The copy may be the transpose, for instructions that read
// k-major operands only.
//
// The chunks of a copy are numbered from row to row, padding included. Lanes of a warp write neighbouring chunks, and
// kRepackLaneChunks of them each: a unit. A transposed copy is written in tiles.

inline constexpr int kRepackChunkBytes = 16;  // which one store writes
inline constexpr int kRepackLineBytes = 128;
inline constexpr int kRepackThreads = 512;
inline constexpr int kRepackBlocksPerSm = 2;
inline constexpr int kRepackLanes = 32;
inline constexpr int kRepackLaneChunks = 4;  // chunks that a lane has in flight at once
inline constexpr int kRepackUnitChunks = kRepackLanes * kRepackLaneChunks;

// Rows are loaded by whole granules of 16 bytes, except at the ends of the matrix, whose granules may lie partly
// outside. These are the granules of a few first and last chunks, since rows that share a granule have one chunk each.
inline constexpr int kRepackFirstChunks = 16;
inline constexpr int kRepackLastChunks = 16;

// The tile of a transposed copy is 4 KiB, which a warp takes through its registers: 128 bytes of each of 32 rows of
// `from` for elements of 4 bytes, 64 bytes of 64 rows for shorter ones. A lane has half of these rows: one word of
// each, or two for elements of 4 bytes. kRepackChunkLanes neighbours have the same words of different rows, which
// become neighbouring chunks of a row of the copy. So a load of the warp is 64 or 128 bytes of each of two rows, and a
// store is 32 bytes of each of 16 rows: whole sectors in both.
inline constexpr int kRepackChunkLanes = 2;

/// The words that a lane has of a row of the tile, for elements of so many bytes.
constexpr int repack_lane_words(int element_bytes) { return element_bytes == 4 ? 2 : 1; }
/// The rows of the tile that a lane has: 32 words in all.
constexpr int repack_lane_rows(int element_bytes) { return 32 / repack_lane_words(element_bytes); }
constexpr int repack_tile_bytes(int element_bytes) {
  return kRepackLanes / kRepackChunkLanes * repack_lane_words(element_bytes) * 4;
}
constexpr int repack_tile_depth(int element_bytes) { return repack_lane_rows(element_bytes) * kRepackChunkLanes; }
/// The chunks that a tile has of a row of the copy.
constexpr int repack_tile_chunks(int element_bytes) {
  return repack_tile_depth(element_bytes) * element_bytes / kRepackChunkBytes;
}

/// The lane's place in a row of the tile: how many lanes' words lie before its own.
constexpr int repack_tile_place(int lane) { return lane / kRepackChunkLanes; }
/// The lane's `set`th chunk, of those that the tile has of a row of the copy.
constexpr int repack_tile_chunk(int lane, int set) { return kRepackChunkLanes * set + lane % kRepackChunkLanes; }

/// The bytes from one row of a copy to the next: whole lines, but for short rows less, so that they do not become many
/// times as large.
constexpr long long repacked_pitch(long long row_bytes) {
  if (row_bytes >= kRepackLineBytes) return (row_bytes + kRepackLineBytes - 1) / kRepackLineBytes * kRepackLineBytes;
  long long pitch = kRepackChunkBytes;
  while (pitch < row_bytes) pitch *= 2;
  return pitch;
}

/// The matrices of an operand, one for each product of a batch that has one of its own, and the place of their copies,
/// which follow one another. Sizes and counts are those of one matrix. `rows` is 0 if there is nothing to copy.
struct RepackMatrix {
  unsigned long long from = 0;  ///< address of the first element, of any alignment that elements have
  unsigned long long to = 0;    ///< a multiple of 16
  long long pitch = 0;          ///< bytes from one row of `from` to the next
  long long row_bytes = 0;      ///< of the elements of a row of the copy
  int rows = 0;                 ///< of the copy
  unsigned row_chunks = 1;      ///< of the copy: repacked_pitch(row_bytes) / kRepackChunkBytes
  int transposed_bytes = 0;     ///< 1, 2 or 4: the copy is the transpose, with elements of so many bytes; 0: it is not
  unsigned products = 1;        ///< number of matrices
  long long stride = 0;         ///< bytes from one matrix to the next

  constexpr unsigned long long chunks() const { return static_cast<unsigned long long>(rows) * row_chunks; }

  /// The number of a transposed copy's elements in a row, which are the rows of `from`.
  constexpr int depth() const { return static_cast<int>(row_bytes / transposed_bytes); }
  /// The tiles beside each other in `from`. With the size of an element as a constant, the kernel divides by shifts.
  template <int kElementBytes>
  constexpr unsigned row_tiles() const {
    constexpr unsigned kColumns = repack_tile_bytes(kElementBytes) / kElementBytes;
    return (static_cast<unsigned>(rows) + kColumns - 1) / kColumns;
  }
  template <int kElementBytes>
  constexpr unsigned tiles_of_elements() const {
    constexpr unsigned kChunks = repack_tile_chunks(kElementBytes);
    return row_tiles<kElementBytes>() * ((row_chunks + kChunks - 1) / kChunks);
  }
  /// The tiles of a transposed copy of one matrix. 2^32 full ones would be 16 TiB; those of copies with short rows, or
  /// with one row, would be 512 GiB or more.
  constexpr unsigned tiles() const {
    switch (transposed_bytes) {
      case 1: return tiles_of_elements<1>();
      case 2: return tiles_of_elements<2>();
      case 4: return tiles_of_elements<4>();
      default: return 0;
    }
  }

  /// The parts that warps take of a copy as stored: one with the first and the last chunks, followed by the units.
  constexpr unsigned long long parts() const {
    if (rows == 0 || transposed_bytes > 0) return 0;
    return 1 + (chunks() + kRepackUnitChunks - 1) / kRepackUnitChunks;
  }
  /// The parts, or tiles, of all matrices.
  constexpr unsigned long long all_parts() const { return parts() * products; }
  constexpr unsigned all_tiles() const { return tiles() * products; }
  /// The matrix of a product alone.
  constexpr RepackMatrix of_product(unsigned product) const {
    RepackMatrix one = *this;
    one.from += static_cast<unsigned long long>(product * stride);
    one.to += product * chunks() * kRepackChunkBytes;
    one.products = 1;
    return one;
  }

  /// The first address in the matrix that is a multiple of 16.
  constexpr unsigned long long aligned_begin() const { return (from + 15) / 16 * 16; }
  /// True if whole granules of `chunk` may be read.
  constexpr bool is_inner(unsigned long long chunk) const {
    return chunk >= kRepackFirstChunks && chunk + kRepackLastChunks < chunks();
  }
  /// The chunk that lane `lane` of the first part copies; nothing (chunks() or more) for some lanes.
  constexpr unsigned long long end_chunk(unsigned lane) const {
    if (lane < kRepackFirstChunks) return lane;
    const unsigned long long from_end = kRepackFirstChunks + kRepackLastChunks - lane;  // 16 for the first such lane
    const bool is_there = lane < kRepackFirstChunks + kRepackLastChunks && chunks() >= from_end + kRepackFirstChunks;
    return is_there ? chunks() - from_end : chunks();
  }
};

/// The bytes of `matrix` that block `block` of `blocks` prefetches into L2, counted from `aligned_begin`. None of a
/// large matrix, which L2 may not keep, none of one with gaps of a chunk or more between its rows, and none of several.
constexpr ByteShare prefetch_share(const RepackMatrix& matrix, unsigned blocks, unsigned block) {
  constexpr long long kMost = 8 << 20;
  const bool is_transposed = matrix.transposed_bytes > 0;
  const long long rows = is_transposed && matrix.rows > 0 ? matrix.depth() : matrix.rows;
  const long long row_bytes =
      is_transposed ? static_cast<long long>(matrix.rows) * matrix.transposed_bytes : matrix.row_bytes;
  const long long bytes = (rows - 1) * matrix.pitch + row_bytes;
  const bool is_dense = matrix.rows > 0 && matrix.products == 1 && matrix.pitch - row_bytes < kRepackChunkBytes;
  if (!is_dense || bytes > kMost) return {0, 0};
  const unsigned long long end = matrix.from + static_cast<unsigned long long>(bytes);
  const unsigned long long first = matrix.aligned_begin(), last = end / 16 * 16;
  return first < last ? byte_share(static_cast<unsigned>(last - first), blocks, block) : ByteShare{0, 0};
}

/// Divides numbers below 128 + row_chunks by row_chunks.
struct RowDivider {
  unsigned row_chunks;
  unsigned reciprocal;  ///< in 1/65536, rounded up; 0 if the quotient is at most 1

  explicit constexpr RowDivider(unsigned chunks)
      : row_chunks(chunks), reciprocal(chunks < kRepackUnitChunks ? (65535 + chunks) / chunks : 0) {}

  constexpr unsigned quotient(unsigned number) const {
    return reciprocal != 0 ? number * reciprocal >> 16 : number >= row_chunks ? 1 : 0;
  }
};

/// The parameter of the repack kernel, for any number of blocks of kRepackThreads threads.
struct RepackArgs {
  RepackMatrix first;
  RepackMatrix second;
  int prefetches = 0;  ///< 1: the kernel may begin before the preceding one has ended, and meanwhile fills L2
};

}  // namespace hotgemm
