#pragma once

namespace hotgemm {

// A tensor map whose boxes end at any row, and read zeros behind it: at the end of a group.
//
// Rows have three coordinates, and the address of an element is base + (y + z) * pitch + w * (2^34 - pitch) modulo
// 2^64. With w = 2^30 the last product is -2^30 * pitch. So row `row` of the `rows` rows in front of row `end` has the
// coordinates y = 2^30 - rows + row and z = end. The tensor ends at y = 2^30: rows from `end` on lie outside of it.

/// The size of dimension y, and the coordinate w.
inline constexpr int kRaggedRows = 1 << 30;
/// The stride of dimension w and the pitch, together. A pitch is below it.
inline constexpr unsigned long long kRaggedBytes = 1ull << 34;

}  // namespace hotgemm
