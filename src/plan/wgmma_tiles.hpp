#pragma once

// The tiles of family `wgmma`: those of the menu, and the anchors among them.

namespace hotgemm {

enum class Schedule { cooperative, split_n, ping_pong, one_tile, one_tile_split_n };

/// Tiles with `tall` elements on the side of an instruction's 64 rows, and `first` to `last` elements on the other
/// side, in steps of `step`. The tall side runs along m, or along n if the tiles are transposed. The schedules mean the
/// sides in the same way: `split_n` divides the other side among the consumers.
struct WgmmaTiles {
  Schedule schedule;
  int consumers;
  int tall;
  int first, last, step;
  bool transposed = false;
};

/// Tiles whose blocks share an SM, or in clusters an operand.
struct WgmmaSharingTiles : WgmmaTiles {
  int block_k;  ///< for elements of 16 bits
  int blocks_per_sm;
  int cluster_m, cluster_n;
  bool split_k;
};

// clang-format off
/// The tile menu of family wgmma. To try a tile, add a line, or widen the range of one.
inline constexpr WgmmaTiles kWgmmaTiles[] = {
    // One producer warpgroup; the consumers divide the rows of a tile.
    {Schedule::cooperative,      1,  64,   8,   8,  8},
    {Schedule::cooperative,      1,  64,  16, 256, 16},
    {Schedule::cooperative,      1, 128,   8,   8,  8},
    {Schedule::cooperative,      1, 128,  16,  96, 16},
    {Schedule::cooperative,      2, 128,  16, 256, 16},
    {Schedule::cooperative,      2, 256,  16,  48, 16},
    {Schedule::cooperative,      2, 256,  64, 208, 16},
    {Schedule::cooperative,      3, 192,  64, 192, 16},
    // The consumers divide the columns instead: for tiles with an odd number of 64 rows, and for tiles wider than an
    // instruction.
    {Schedule::split_n,          2,  64,  64, 320, 32},
    {Schedule::split_n,          2, 128, 256, 320, 32},
    {Schedule::split_n,          2, 192,  96, 208, 16},
    {Schedule::split_n,          2, 256, 128, 192, 32},
    {Schedule::split_n,          2, 320,  64, 160, 32},
    {Schedule::split_n,          3,  64, 192, 288, 48},
    {Schedule::split_n,          3, 128, 192, 240, 48},
    // Each consumer has its own tile: its epilogue runs during the products of the other.
    {Schedule::ping_pong,        2,  64,  64, 256, 16},
    {Schedule::ping_pong,        2, 128,  64, 208,  8},
    {Schedule::ping_pong,        2, 192,  64, 128, 32},
    {Schedule::ping_pong,        2, 256,  64,  96, 32},
    // No producer: several small blocks on an SM hide each other's waits.
    {Schedule::one_tile,         1,  64,   8,   8,  8},
    {Schedule::one_tile,         1,  64,  16, 128, 16},
    {Schedule::one_tile,         1, 128,   8,   8,  8},
    {Schedule::one_tile,         1, 128,  16,  64, 16},
    {Schedule::one_tile,         2, 128,  16, 128, 16},
    {Schedule::one_tile,         2, 128, 160, 256, 32},
    {Schedule::one_tile,         2, 256,  64, 128, 32},
    {Schedule::one_tile,         3, 192,  64, 192, 32},
    {Schedule::one_tile_split_n, 2,  64,  64, 256, 32},
    {Schedule::one_tile_split_n, 2, 192,  64, 192, 64},
};

/// Transposed tiles, for problems whose m wastes much of the last 64 rows: a tile has any multiple of eight as its rows.
inline constexpr WgmmaTiles kTransposedTiles[] = {
    {Schedule::cooperative,      1,  64,   8,  72,  8, true},
    {Schedule::cooperative,      1,  64,  80, 128, 16, true},
    {Schedule::cooperative,      2, 128,  16, 208, 16, true},
    {Schedule::cooperative,      2, 256,  32, 128, 32, true},
    {Schedule::ping_pong,        2, 128,  72, 208,  8, true},
    {Schedule::one_tile,         1,  64,   8,  72,  8, true},
    {Schedule::one_tile,         1,  64,  80, 128, 16, true},
    {Schedule::one_tile,         2, 128,  16, 128, 16, true},
};

/// Wide transposed tiles. Lanes load the rows of B for them, which no plain tile can do.
inline constexpr WgmmaTiles kLoadedTiles[] = {
    {Schedule::cooperative,      1,  64, 144, 256, 16, true},
    {Schedule::cooperative,      2, 128, 224, 256, 16, true},
    {Schedule::cooperative,      2, 256, 160, 160, 32, true},
    {Schedule::cooperative,      3, 192,  64, 192, 16, true},
    {Schedule::ping_pong,        2,  64,  64, 256, 16, true},
};

/// Tiles whose blocks divide k: for few tiles and long sums.
inline constexpr WgmmaTiles kSplitTiles[] = {
    {Schedule::one_tile,         1,  64,  16, 128, 16},
    {Schedule::one_tile,         2, 128,  32, 128, 32},
    {Schedule::one_tile_split_n, 2,  64,  64, 128, 32},
    {Schedule::cooperative,      1,  64,  64, 256, 32},
    {Schedule::cooperative,      2, 128,  64, 256, 16},
    {Schedule::cooperative,      2, 256,  64, 128, 16},
    {Schedule::cooperative,      3, 192,  64, 192, 32},
};

/// Tiles for operands that threads load. Threads load 24 KB of a k-tile in about the time that its products take; larger
/// tiles do not fit their registers.
inline constexpr WgmmaTiles kThreadTiles[] = {
    {Schedule::cooperative,      1,  64,  16,  32, 16},
    {Schedule::cooperative,      1,  64,  64, 128, 32},
    {Schedule::cooperative,      2, 128,  16,  32, 16},
    {Schedule::cooperative,      2, 128,  64,  96, 32},
    {Schedule::split_n,          2,  64, 128, 128, 64},
    {Schedule::cooperative,      1,  64,   8,  64,  8, true},
    {Schedule::cooperative,      2, 128,  16,  64, 16, true},
};

/// Column counts for which every layout can use a wide swizzle.
inline constexpr WgmmaTiles kWgmmaAnchors[] = {
    {Schedule::one_tile,         1,  64,  16,  16, 16},
    {Schedule::one_tile,         1,  64,  32,  64, 32},
    {Schedule::one_tile,         2, 128,  64, 128, 16},
    {Schedule::one_tile_split_n, 2,  64,  64, 128, 64},
    {Schedule::cooperative,      1,  64,  16,  32, 16},
    {Schedule::cooperative,      1,  64,  64, 256, 64},
    {Schedule::cooperative,      2, 128,  64, 256, 32},
    {Schedule::cooperative,      2, 256,  64, 128, 64},
    {Schedule::cooperative,      2, 256, 192, 192, 64},
    {Schedule::cooperative,      3, 192,  96, 160, 64},
    {Schedule::split_n,          2, 192, 128, 192, 64},
    {Schedule::ping_pong,        2,  64, 128, 256, 64},
    {Schedule::ping_pong,        2, 128,  64, 192, 64},
    {Schedule::cooperative,      1,  64,   8,  40,  8, true},
    {Schedule::cooperative,      1,  64,  48,  96, 16, true},
    {Schedule::one_tile,         1,  64,  48,  96, 16, true},
    {Schedule::one_tile,         2, 128,  48,  96, 16, true},
    {Schedule::cooperative,      2, 128, 112, 208, 32, true},
    {Schedule::ping_pong,        2, 128, 144, 160, 16, true},
};
inline constexpr WgmmaTiles kThreadAnchors[] = {
    {Schedule::cooperative,      1,  64,  64, 128, 64},
    {Schedule::cooperative,      2, 128,  64,  64, 64},
    {Schedule::cooperative,      1,  64,  16,  32, 16, true},
};
inline constexpr WgmmaTiles kLoadedAnchors[] = {
    {Schedule::cooperative,      1,  64, 128, 256, 64, true},
    {Schedule::cooperative,      2, 128,  64, 256, 64, true},
    {Schedule::ping_pong,        2, 128,  96, 128, 32, true},
};
inline constexpr WgmmaTiles kSplitAnchors[] = {
    {Schedule::one_tile,         1,  64,  32,  96, 16},
    {Schedule::one_tile,         2, 128,  64, 128, 32},
    {Schedule::one_tile_split_n, 2,  64, 128, 128, 64},
    {Schedule::cooperative,      1,  64,  64, 256, 64},
    {Schedule::cooperative,      2, 128, 128, 256, 64},
    {Schedule::cooperative,      2, 256, 128, 128, 64},
    {Schedule::cooperative,      3, 192,  96, 160, 64},
};
/// Anchors whose blocks share an SM or an operand.
inline constexpr WgmmaSharingTiles kSharingAnchors[] = {
    // Two blocks in an SM: while one stores, the other loads. For short sums of many tiles.
    {{Schedule::cooperative,      1, 128,  64,  64, 64},        64, 2, 1, 1, false},
    // Two blocks share A: for few rows of an A that is stored transposed.
    {{Schedule::cooperative,      1,  64,  16,  32, 16, true}, 128, 1, 1, 2, false},
    // Two blocks share B, and two are in an SM: one loads while the other waits. For operands that L2 does not hold.
    {{Schedule::one_tile,         2, 128,  96,  96, 32},        64, 2, 2, 1, true},
    // Two blocks share A: for one row of tiles and a k so long that L2 does not hold the operands.
    {{Schedule::one_tile,         1,  64, 128, 128, 64},       128, 1, 1, 2, true},
};
// clang-format on

}  // namespace hotgemm
