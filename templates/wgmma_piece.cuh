#pragma once

#include "ptx/device.hpp"

namespace hotgemm {

/// A part of a warp's results that is stored at once: 16 rows of at most 128 bytes.
struct WgmmaPiece {
  int number;  // counted from 0 within the warp's part of the tile
  u32 buffer;  // address of its buffer in shared memory
  int cols;
  int stored;  // columns that an earlier piece has stored already
  int rows;    // rows of the consumer's part of the tile from `row` on: any number, of which the warp stores at most 16
  int begin;   // its first column, counted from the first column of the consumer's part of the tile
  int row;     // row and column of its first element in D
  int col;
};

}  // namespace hotgemm
