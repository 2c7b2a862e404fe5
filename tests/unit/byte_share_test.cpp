#include "shared/byte_share.hpp"

#include <gtest/gtest.h>

namespace hotgemm {
namespace {

TEST(ByteShare, SharesFollowEachOtherAndAreAll) {
  for (unsigned bytes : {0u, 16u, 128u, 144u, 4096u, 2'000'000u, 8u << 20}) {
    for (unsigned blocks : {1u, 2u, 3u, 31u, 128u, 132u, 5000u}) {
      unsigned end = 0;
      for (unsigned block = 0; block < blocks; ++block) {
        const ByteShare share = byte_share(bytes, blocks, block);
        if (share.count == 0) continue;
        EXPECT_EQ(share.first, end) << bytes << " among " << blocks;
        EXPECT_EQ(share.first % 128, 0u);
        EXPECT_EQ(share.count % 16, 0u);
        end = share.first + share.count;
      }
      EXPECT_EQ(end, bytes) << blocks;
    }
  }
}

TEST(ByteShare, AreAlike) {
  EXPECT_EQ(byte_share(128 * 100, 32, 0).count, 4u * 128);
  EXPECT_EQ(byte_share(128 * 100, 32, 24).count, 4u * 128);
  EXPECT_EQ(byte_share(128 * 100, 32, 25).count, 0u) << "whole lines";
}

TEST(ByteShare, GridsMayBeAsLargeAsTheyCome) {
  EXPECT_EQ(byte_share(8u << 20, 0x7fffffff, 0).count, 128u);
  EXPECT_EQ(byte_share(8u << 20, 0x7fffffff, 0x7ffffffe).count, 0u);
  EXPECT_EQ(byte_share(0xfffffff0, 0x7fffffff, 0x7ffffffe).count, 0u);
}

}  // namespace
}  // namespace hotgemm
