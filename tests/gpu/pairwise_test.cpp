#include "gpu/pairwise.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace hotgemm {
namespace {

std::size_t pairs_met(const std::vector<std::vector<int>>& rows) {
  std::set<std::tuple<std::size_t, int, std::size_t, int>> met;
  for (const auto& row : rows) {
    for (std::size_t f = 0; f < row.size(); ++f) {
      for (std::size_t g = f + 1; g < row.size(); ++g) met.emplace(f, row[f], g, row[g]);
    }
  }
  return met.size();
}

std::size_t pairs_possible(const std::vector<int>& levels) {
  std::size_t pairs = 0;
  for (std::size_t f = 0; f < levels.size(); ++f) {
    for (std::size_t g = f + 1; g < levels.size(); ++g) pairs += static_cast<std::size_t>(levels[f] * levels[g]);
  }
  return pairs;
}

TEST(Pairwise, BringsEveryPairTogether) {
  for (const std::vector<int>& levels :
       {std::vector<int>{2, 3}, {1, 1}, {4, 1, 3}, {14, 14, 14, 4, 3, 7, 7, 8, 2}, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}}) {
    const PairwiseTable table(levels, 1);
    EXPECT_EQ(pairs_met(table.rows()), pairs_possible(levels));
    for (const auto& row : table.rows()) {
      ASSERT_EQ(row.size(), levels.size());
      for (std::size_t f = 0; f < row.size(); ++f) {
        EXPECT_GE(row[f], 0);
        EXPECT_LT(row[f], levels[f]);
      }
    }
  }
}

TEST(Pairwise, NeedsFewRows) {
  // Two factors of 14 levels alone need 196 rows. Fourteen factors of two levels have 16384 combinations.
  EXPECT_LE(PairwiseTable({14, 14, 14, 4, 3, 7, 7, 8, 2}, 1).rows().size(), 300u);
  EXPECT_LE(PairwiseTable(std::vector<int>(14, 2), 1).rows().size(), 14u);
}

TEST(Pairwise, IsReproducible) {
  const std::vector<int> levels{5, 4, 3, 2};
  EXPECT_EQ(PairwiseTable(levels, 3).rows(), PairwiseTable(levels, 3).rows());
  EXPECT_NE(PairwiseTable(levels, 3).rows(), PairwiseTable(levels, 4).rows());
}

}  // namespace
}  // namespace hotgemm
