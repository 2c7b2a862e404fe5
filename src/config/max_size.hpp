#pragma once

#include <cstdint>

namespace hotgemm {

/// The largest distance by which a tile, or the next k-tile, may extend beyond the end of a matrix. No side of a tile
/// is longer.
inline constexpr std::int64_t kMaxTileExtent = 1024;

/// The largest m, n or k. Kernels count rows, columns and k in signed 32-bit integers, and a coordinate inside a tile
/// that begins inside a matrix must not overflow.
inline constexpr std::int64_t kMaxSize = 0x7fffffff - kMaxTileExtent;

}  // namespace hotgemm
