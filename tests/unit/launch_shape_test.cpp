#include "config/launch_shape.hpp"

#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

namespace hotgemm {
namespace {

LaunchShape shape_of(const KernelConfig& config) { return launch_shape(config, GemmTraits{}); }

TEST(LaunchShape, WithoutClustersATileIsABlocks) {
  for (const std::string& arch : known_archs()) {
    for (const KernelConfig& config : candidates(GemmTraits{}, arch_limits(arch))) {
      const LaunchShape shape = shape_of(config);
      ASSERT_EQ(shape.threads, threads(config));
      ASSERT_EQ(shape.smem_bytes, smem_bytes(config, GemmTraits{}));
      ASSERT_EQ(shape.tile_m * shape.tile_n, block_m(config) * block_n(config) * shape.cluster) << to_string(config);
    }
  }
}

TEST(LaunchShape, AGridHasABlockForEachTile) {
  const LaunchShape shape = shape_of(MmaConfig{});
  EXPECT_EQ(shape.blocks(128, 128, 1), 1);
  EXPECT_EQ(shape.blocks(129, 257, 1), 6);
  EXPECT_EQ(shape.blocks(1 << 30, 1 << 30, 1), std::int64_t{1} << 46);
  EXPECT_EQ(shape_of(WgmmaConfig{.one_tile = true}).blocks(129, 513, 1), 6);
}

TEST(LaunchShape, FitsGridsAndCoordinatesOf32Bits) {
  for (const LaunchShape& shape : {shape_of(MmaConfig{}), shape_of(WgmmaConfig{})}) {
    EXPECT_TRUE(shape.fits(8, 8, kMaxSize));
    EXPECT_FALSE(shape.fits(8, 8, kMaxSize + 1));
    EXPECT_FALSE(shape.fits(8, kMaxSize + 1, 8));
    EXPECT_TRUE(shape.fits(kMaxSize, 8192, 8));
    EXPECT_FALSE(shape.fits(kMaxSize, 1 << 26, 8)) << "2^19 times 2^24 tiles and more";
  }
}

TEST(LaunchShape, NoTileReachesFartherThanTheLargestSizeAllows) {
  static_assert(kMaxSize + kMaxTileExtent == 0x7fffffff);
  for (const std::string& arch : known_archs()) {
    for (const KernelConfig& config : candidates(GemmTraits{}, arch_limits(arch))) {
      const LaunchShape shape = shape_of(config);
      ASSERT_LE(shape.tile_m, kMaxTileExtent) << to_string(config);
      ASSERT_LE(shape.tile_n, kMaxTileExtent) << to_string(config);
      ASSERT_LE(std::visit([](const auto& c) { return c.block_k; }, config), kMaxTileExtent) << to_string(config);
    }
  }
}

TEST(LaunchShape, OrAsManyAsStay) {
  const LaunchShape one = shape_of(WgmmaConfig{});
  EXPECT_EQ(one.blocks(128, 256, 132), 1);
  EXPECT_EQ(one.blocks(1280, 2560, 132), 100);
  EXPECT_EQ(one.blocks(65536, 8192, 132), 132);
  const LaunchShape two = shape_of(WgmmaConfig{.block_m = 64, .block_n = 64, .consumers = 1, .blocks_per_sm = 2});
  EXPECT_EQ(two.blocks(65536, 8192, 132), 264);
}

TEST(LaunchShape, ClustersAreWhole) {
  const LaunchShape below = shape_of(WgmmaConfig{.cluster_m = 2}), beside = shape_of(WgmmaConfig{.cluster_n = 2});
  EXPECT_EQ(below.blocks(1, 1, 132), 2);
  EXPECT_EQ(below.blocks(257, 256, 132), 4);
  EXPECT_EQ(below.blocks(256, 257, 132), 4);
  EXPECT_EQ(beside.blocks(128, 512, 132), 2);
  EXPECT_EQ(beside.blocks(128, 513, 132), 4);
  EXPECT_EQ(beside.blocks(65536, 8192, 131), 130);
  EXPECT_EQ(beside.blocks(65536, 8192, 1), 2);
}

TEST(LaunchShape, ClustersOfFourDoNotReachAllSms) {
  const LaunchShape four = shape_of(WgmmaConfig{.cluster_m = 2, .cluster_n = 2});
  EXPECT_EQ(four.blocks(1, 1, 132), 4);
  EXPECT_EQ(four.blocks(65536, 8192, 132), 120) << "an H200 holds 30 of them at least";
  EXPECT_EQ(four.blocks(65536, 8192, 3), 4);
  EXPECT_EQ(four.blocks(65536, 8192, 132, 1, 128), 120);
  EXPECT_EQ(four.blocks(65536, 8192, 132, 1, 67), 64);
}

TEST(LaunchShape, ABlockForEachPartOfEachTile) {
  const WgmmaConfig config{.block_m = 128, .block_n = 64, .consumers = 2, .split_k = true};
  const LaunchShape shape = launch_shape(config, GemmTraits{});
  EXPECT_TRUE(shape.splits_k);
  EXPECT_EQ(shape.blocks(129, 65, 2, 5), 2 * 2 * 5);
  EXPECT_EQ(shape.blocks(129, 65, 2), 2 * 2);
  EXPECT_TRUE(shape.fits(8, 64 << 18, 8));
  EXPECT_FALSE(shape.fits(8, (std::int64_t{64} << 19) + 64, 8)) << "a grid of the most parts would be too large";
}

TEST(LaunchShape, AClusterForEachPartOfEachGroupOfTiles) {
  const WgmmaConfig config{.block_m = 128, .block_n = 64, .consumers = 2, .cluster_m = 2, .split_k = true};
  const LaunchShape shape = launch_shape(config, GemmTraits{});
  EXPECT_EQ(shape.blocks(256, 64, 132, 5), 2 * 5);
  EXPECT_EQ(shape.blocks(257, 65, 132, 5), 4 * 2 * 5) << "a cluster has tiles beyond the edge of D, too";
}

TEST(LaunchShape, AGridHasABlockForEachTileThatGroupsCanHave) {
  const LaunchShape shape = shape_of(MmaConfig{});  // 128×128
  EXPECT_EQ(shape.blocks(1024, 256, 1, 1, 0, 1, 1), 8 * 2) << "one group has all rows";
  EXPECT_EQ(shape.blocks(1024, 256, 1, 1, 0, 1, 8), (8 + 7) * 2) << "seven groups end one row behind a tile";
  EXPECT_EQ(shape.blocks(5, 256, 1, 1, 0, 1, 64), 5 * 2) << "a tile for each row";
  EXPECT_TRUE(shape.fits(1 << 20, 8192, 64, 1, 1 << 16));
  EXPECT_FALSE(shape.fits(1 << 26, 8192, 64, 1, 1 << 26)) << "2^26 times 2^6 tiles";
  // Tiles in pairs of a cluster, each of one row: the product of the largest sizes is above 2^63.
  const LaunchShape small{.tile_m = 1, .tile_n = 1, .cluster = 2};
  EXPECT_EQ(small.tiles(kMaxSize, kMaxSize, 1, kMaxSize), std::int64_t{1} << 38) << "as many as are counted";
  EXPECT_FALSE(small.fits(kMaxSize, kMaxSize, 64, 1, kMaxSize));
  const LaunchShape lasting = shape_of(WgmmaConfig{});
  EXPECT_EQ(lasting.blocks(1 << 16, 8192, 132, 1, 0, 1, 64), 132);
}

TEST(LaunchShape, OtherKernelsIgnoreSplits) {
  const LaunchShape shape = launch_shape(WgmmaConfig{.one_tile = true}, GemmTraits{});
  EXPECT_FALSE(shape.splits_k);
  EXPECT_EQ(shape.blocks(128, 256, 132, 5), 1);
}

}  // namespace
}  // namespace hotgemm
