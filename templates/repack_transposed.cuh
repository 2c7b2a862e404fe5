#pragma once

// The part of the repack kernel whose copies are transposes: of elements of 4 bytes, and of 1 byte.
//
//   from    kRepackTileDepth rows, of which a warp reads 128 bytes each; a lane reads 4 of them: its columns
//   copy    a lane's columns are rows, to which it writes kRepackTileDepth elements, 16 bytes at a time
//
// A lane needs nothing of other lanes. Its stores fill a line of the copy one after the other, and L2 joins them.

#include "byte_access.cuh"
#include "ptx/memory.hpp"
#include "shared/repack_args.hpp"

namespace hotgemm {

/// Loads a word of each of kCount rows, the first at `address`. The rows behind the first `rows` are zeros.
template <int kCount, class Load>
HOTGEMM_DEVICE void load_rows(u32 (&words)[kCount], int rows, const Load& load) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) words[i] = i < rows ? load(static_cast<u64>(i)) : 0u;
}

/// Four chunks of row `row` of the copy, from `first_chunk` on, with elements of 4 bytes.
HOTGEMM_DEVICE void copy_word_chunks(const RepackMatrix& matrix, u64 row, u32 first_chunk) {
  constexpr int kChunks = 4, kWords = kChunks * kRepackChunkBytes / 4;
  const int first = static_cast<int>(first_chunk * (kRepackChunkBytes / 4));
  const u64 pitch = static_cast<u64>(matrix.pitch);
  const u64 from = matrix.from + static_cast<u64>(first) * pitch + row * 4;
  const u64 to = matrix.to + (row * matrix.row_chunks + first_chunk) * kRepackChunkBytes;
  u32 words[kWords];
  load_rows(words, matrix.depth() - first, [&](u64 i) { return ptx::ld_global_b32(from + i * pitch); });
#pragma unroll
  for (u32 chunk = 0; chunk < kChunks; ++chunk) {
    if (first_chunk + chunk >= matrix.row_chunks) break;
    const u32 w = 4 * chunk;
    ptx::st_global_v4_b32(to + chunk * 16ull, {words[w], words[w + 1], words[w + 2], words[w + 3]});
  }
}

/// The chunk `chunk` of four rows of the copy, from `row` on, with elements of 1 byte.
HOTGEMM_DEVICE void copy_byte_chunks(const RepackMatrix& matrix, u64 row, u32 chunk) {
  const int columns = matrix.rows - static_cast<int>(row), first = static_cast<int>(chunk * kRepackChunkBytes);
  const u64 pitch = static_cast<u64>(matrix.pitch);
  const u64 from = matrix.from + static_cast<u64>(first) * pitch + row;
  u32 words[kRepackChunkBytes];
  if (columns >= 4 && ((matrix.from | pitch) & 3) == 0) {
    load_rows(words, matrix.depth() - first, [&](u64 i) { return ptx::ld_global_b32(from + i * pitch); });
  } else {
    load_rows(words, matrix.depth() - first, [&](u64 i) { return load_bytes(from + i * pitch, columns); });
  }
  u32 rows[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const ptx::Vec4 w = transposed_bytes(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
    rows[0][i] = w.x;
    rows[1][i] = w.y;
    rows[2][i] = w.z;
    rows[3][i] = w.w;
  }
  const u64 to = matrix.to + (row * matrix.row_chunks + chunk) * kRepackChunkBytes;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (j >= columns) break;
    ptx::st_global_v4_b32(to + static_cast<u64>(j) * matrix.row_chunks * kRepackChunkBytes,
                          {rows[j][0], rows[j][1], rows[j][2], rows[j][3]});
  }
}

/// Copies tile number `tile`. Tiles beside each other in `from` follow one another.
HOTGEMM_DEVICE void copy_tile(const RepackMatrix& matrix, u64 tile, u32 lane) {
  const u64 row_tiles = matrix.row_tiles();
  const u64 of_depth = tile / row_tiles;
  const u64 row = (tile - of_depth * row_tiles) * static_cast<u64>(kRepackTileBytes / matrix.transposed_bytes);
  const u32 first_chunk = static_cast<u32>(of_depth) * matrix.tile_chunks();
  const u32 end =
      first_chunk + matrix.tile_chunks() < matrix.row_chunks ? first_chunk + matrix.tile_chunks() : matrix.row_chunks;
  const bool is_of_words = matrix.transposed_bytes == 4;
  const u64 first_row = row + (is_of_words ? lane : 4 * lane);
  if (first_row >= static_cast<u64>(matrix.rows)) return;
#pragma unroll 1
  for (u32 chunk = first_chunk; chunk < end; chunk += is_of_words ? 4 : 1) {
    if (is_of_words) {
      copy_word_chunks(matrix, first_row, chunk);
    } else {
      copy_byte_chunks(matrix, first_row, chunk);
    }
  }
}

}  // namespace hotgemm
