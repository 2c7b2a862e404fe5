#include "shared/even_share.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hotgemm {
namespace {

TEST(EvenShare, RangesCoverAllItemsOnceAndDifferByOne) {
  for (const int items : {0, 1, 2, 7, 31, 32, 33, 1024, 1'000'003}) {
    for (const int shares : {1, 2, 3, 8, 33, 132, 4096}) {
      int end = 0, most = 0, least = items;
      for (int share = 0; share < shares; ++share) {
        const ItemRange range = even_share(items, share, shares);
        ASSERT_EQ(range.first, end) << share << " of " << shares << " of " << items;
        ASSERT_GE(range.count, 0);
        end += range.count;
        most = std::max(most, range.count);
        least = std::min(least, range.count);
      }
      EXPECT_EQ(end, items) << shares;
      EXPECT_LE(most - least, 1) << items << " among " << shares;
    }
  }
}

}  // namespace
}  // namespace hotgemm
