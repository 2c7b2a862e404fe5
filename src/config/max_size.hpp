#pragma once

#include <cstdint>

namespace hotgemm {

/// How far a tile, or the next k-tile, may reach beyond the end of a matrix. No tile has a longer side.
inline constexpr std::int64_t kMaxTileExtent = 1024;

/// The largest m, n or k: kernels count rows, columns and k in 32 bits with a sign, and a coordinate within a tile that
/// begins inside of a matrix must not overflow.
inline constexpr std::int64_t kMaxSize = 0x7fffffff - kMaxTileExtent;

}  // namespace hotgemm
