#pragma once

namespace hotgemm {

struct TileCoord {
  int m;
  int n;
};

/// The order in which consecutive blocks take output tiles, so that the tiles in flight share operands in L2.
///
/// Tiles are taken in groups of `width` tile rows. Inside a group, the order is down the rows of a column, then the
/// next column. The last group may be narrower; it is never padded:
///
///   width 2, 3×3 tiles:   0 2 4
///                         1 3 5
///                         6 7 8
///
/// `along_n` swaps the roles of rows and columns. There are fewer than 2^32 tiles, so that products fit into 32
/// bits: a division of 64 bits takes a kernel a tenth of a microsecond.
constexpr TileCoord tile_at(unsigned index, unsigned tiles_m, unsigned tiles_n, unsigned width, bool along_n) {
  const unsigned outer = along_n ? tiles_n : tiles_m;
  const unsigned inner = along_n ? tiles_m : tiles_n;
  const unsigned group_rows = outer < width ? outer : width;
  const unsigned group = index / (group_rows * inner);
  const unsigned in_group = index - group * group_rows * inner;
  const unsigned first = group * group_rows;
  const unsigned rows = outer - first < group_rows ? outer - first : group_rows;
  const int o = static_cast<int>(first + in_group % rows);
  const int i = static_cast<int>(in_group / rows);
  return along_n ? TileCoord{i, o} : TileCoord{o, i};
}

}  // namespace hotgemm
