// The division of a tile among threads that load it: shared/thread_pieces.hpp.

#include "shared/thread_pieces.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hotgemm {
namespace {

template <class Use>  // void(const ThreadPieces&)
void for_each_division(Use&& use) {
  for (const int outer : {16, 64, 72, 128}) {
    for (const int block_k : {64, 128}) {
      for (const bool k_major : {false, true}) {
        for (const int vec : {1, 2, 4}) {
          for (const int warps : {4, 8}) {
            const ThreadPieces pieces{{outer, block_k, k_major, 128, 2}, vec, warps};
            if (pieces.tile.is_sound() && pieces.is_sound()) use(pieces);
          }
        }
      }
    }
  }
}

TEST(ThreadPieces, CoverATileOnceInThePlacesOfTheSwizzle) {
  int divisions = 0;
  for_each_division([&](const ThreadPieces& p) {
    ++divisions;
    std::set<int> places;
    for (int warp = 0; warp < p.warps; ++warp) {
      for (int lane = 0; lane < ThreadPieces::kLanes; ++lane) {
        const int row = p.first_row(warp, lane), column = p.column(lane);
        for (int i = 0; i < p.rows_of_lane(); ++i) {
          const int offset = (row + i * p.step()) * ThreadPieces::kRowBytes + column * 2;
          const auto place = static_cast<int>(p.place(p.first_place(row, column), i));
          ASSERT_EQ(place, swizzled_offset(offset, 128)) << row << " " << column << " " << i;
          for (int byte = 0; byte < p.elements() * 2; ++byte) ASSERT_TRUE(places.insert(place + byte).second);
        }
      }
    }
    EXPECT_EQ(static_cast<int>(places.size()), p.tile.slab_bytes());
    EXPECT_EQ(*places.rbegin(), p.tile.slab_bytes() - 1);
  });
  EXPECT_GE(divisions, 30);
}

TEST(ThreadPieces, RowsOfAWarpHaveOneParity) {
  for_each_division([](const ThreadPieces& p) {
    if (p.vec != 1) return;  // other rows all begin at a multiple of a word
    EXPECT_EQ(p.rows_at_once(), 1);
    EXPECT_EQ(p.step() % 2, 0);
  });
}

TEST(ThreadPieces, CountTheRegistersOfALane) {
  const WgmmaTile tile{128, 64, true, 128, 2};
  EXPECT_EQ((ThreadPieces{tile, 1, 8}.registers()), 32);  // 16 rows, a register for each element
  EXPECT_EQ((ThreadPieces{tile, 2, 8}.registers()), 32);
  EXPECT_EQ((ThreadPieces{tile, 4, 8}.registers()), 16);  // 8 rows, two words each
  EXPECT_FALSE((ThreadPieces{{24, 64, true, 128, 2}, 4, 8}.is_sound())) << "rows for half of the warps only";
  EXPECT_FALSE((ThreadPieces{{32, 64, false, 64, 2}, 1, 4}.is_sound())) << "rows of 64 bytes";
}

}  // namespace
}  // namespace hotgemm
