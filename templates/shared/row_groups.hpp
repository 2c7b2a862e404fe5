#pragma once

namespace hotgemm {

/// The rows of a group: of A, C and D, and of the operands beside them.
struct RowGroup {
  int number;
  int begin;  ///< its first row
  int rows;   ///< how many; none if it is empty
};

/// Group `number`, whose rows are said to begin at `begin` and to end before `end`. Whatever these are, the rows lie
/// among the `m` rows that the matrices have.
constexpr RowGroup row_group(int number, int begin, int end, int m) {
  const int first = begin < 0 ? 0 : begin > m ? m : begin;
  const int behind = end < first ? first : end > m ? m : end;
  return {number, first, behind - first};
}

/// Masked group `number`, which has `count` of its `m` rows. It begins behind the room of the groups in front.
constexpr RowGroup masked_group(int number, int count, int m) {
  return {number, number * m, count < 0 ? 0 : count > m ? m : count};
}

/// The part of k that a group has.
struct KGroup {
  int number;
  int begin;
  int k;  ///< how much; nothing if it is empty
};

/// The part of group `number`, likewise.
constexpr KGroup k_group(int number, int begin, int end, int k) {
  const RowGroup part = row_group(number, begin, end, k);
  return {number, part.begin, part.rows};
}

/// The tiles below each other that `rows` need. `tile` is the number of rows of a tile.
constexpr unsigned tile_rows(int rows, int tile) { return rows > 0 ? static_cast<unsigned>((rows - 1) / tile + 1) : 0; }

/// The most tiles below each other that `groups` groups of `m` rows together can need, at least 1: all groups that have
/// rows may end one row behind a tile.
constexpr long long most_tile_rows(long long m, long long groups, long long tile) {
  const long long occupied = groups < m ? groups : m;
  return occupied < 1 ? 1 : occupied + (m - occupied) / tile;
}

}  // namespace hotgemm
