#pragma once

#include "shared/tile_layout.hpp"
#include "shared/wgmma_descriptor.hpp"

namespace hotgemm {

/// The division of an operand's tile among the threads that load it, if its rows begin at any multiple of `vec`
/// elements in global memory. Elements have 2 bytes, rows of the tile 128.
///
/// A piece is what a lane moves at once: a word, or two if `vec` is 4. A warp moves whole rows of the tile, one or two
/// at once, and takes each `step()`th row of each slab. All its rows have the same parity, so that in a matrix with an
/// odd leading dimension all pieces of a warp begin at a multiple of 4 bytes, or none does.
struct ThreadPieces {
  WgmmaTile tile;
  int vec;    ///< 1, 2 or 4
  int warps;  ///< a multiple of 4

  static constexpr int kRowBytes = 128;
  static constexpr int kSwizzleRows = 8;
  static constexpr int kLanes = 32;
  static constexpr int kWordElements = 2;

  constexpr int words() const { return vec == 4 ? 2 : 1; }
  constexpr int elements() const { return words() * kWordElements; }
  constexpr int lanes_of_row() const { return tile.slab_elements() / elements(); }
  constexpr int rows_at_once() const { return kLanes / lanes_of_row(); }
  /// The distance between the rows of one lane.
  constexpr int step() const { return warps * rows_at_once(); }
  constexpr int rows_of_lane() const { return tile.rows() / step(); }  ///< in each slab
  constexpr int pieces() const { return tile.slabs() * rows_of_lane(); }
  /// Registers of the pieces of a lane: two words, or the two elements of a word, which may come by two loads.
  constexpr int registers() const { return pieces() * 2; }

  /// The first row and column of a lane in each slab.
  constexpr int first_row(int warp, int lane) const { return warp * rows_at_once() + lane / lanes_of_row(); }
  constexpr int column(int lane) const { return lane % lanes_of_row() * elements(); }

  /// The place in a slab of the piece at `row`, `column`.
  constexpr unsigned first_place(int row, int column) const {
    return static_cast<unsigned>(swizzled_offset(row * kRowBytes + column * tile.element_bytes, kRowBytes));
  }
  /// The place of a lane's piece number `i` in a slab, if `first` is the place of its first piece there.
  constexpr unsigned place(unsigned first, int i) const {
    // The swizzle repeats every eight rows. Where a lane's rows are four apart, the first is one of the first four.
    const bool is_between = i * step() % kSwizzleRows != 0;
    return (is_between ? first ^ (kSwizzleRows / 2 * kChunkBytes) : first) +
           static_cast<unsigned>(i * step() * kRowBytes);
  }

  constexpr bool is_sound() const {
    if (tile.element_bytes != 2 || tile.swizzle_bytes != kRowBytes) return false;
    return (vec == 1 || vec == 2 || vec == 4) && warps > 0 && warps % 4 == 0 && tile.rows() % step() == 0;
  }
};

}  // namespace hotgemm
