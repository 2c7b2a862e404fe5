#include "config/occupancy.hpp"

#include "config/device_info.hpp"

#include <gtest/gtest.h>

namespace hotgemm {
namespace {

Occupancy of(const char* arch, int threads, int registers, int smem_bytes) {
  return occupancy({.threads = threads, .registers = registers, .smem_bytes = smem_bytes}, arch_limits(arch));
}

// The expected values are from cuda_occupancy.h of CUDA 13.0 for the same GPUs.
TEST(Occupancy, IsThatOfNvidiasCalculator) {
  using enum OccupancyLimit;
  EXPECT_EQ(of("sm_90a", 256, 128, 32768), (Occupancy{2, 16, 64, registers}));
  EXPECT_EQ(of("sm_90a", 128, 168, 98304), (Occupancy{2, 8, 64, shared_memory}));
  EXPECT_EQ(of("sm_90a", 1024, 32, 8192), (Occupancy{2, 64, 64, registers}));
  EXPECT_EQ(of("sm_90a", 32, 24, 0), (Occupancy{32, 32, 64, blocks}));
  EXPECT_EQ(of("sm_80", 256, 40, 8192), (Occupancy{6, 48, 64, registers}));
  EXPECT_EQ(of("sm_80", 256, 32, 8192), (Occupancy{8, 64, 64, registers}));
  EXPECT_EQ(of("sm_86", 256, 64, 16384), (Occupancy{4, 32, 48, registers}));
  EXPECT_EQ(of("sm_86", 64, 16, 0), (Occupancy{16, 32, 48, blocks}));
  EXPECT_EQ(of("sm_89", 64, 16, 0), (Occupancy{24, 48, 48, threads}));
  EXPECT_EQ(of("sm_89", 512, 40, 1024), (Occupancy{3, 48, 48, registers}));
  EXPECT_EQ(of("sm_75", 256, 64, 16384), (Occupancy{4, 32, 32, shared_memory}));
  EXPECT_EQ(of("sm_75", 256, 64, 16385), (Occupancy{3, 24, 32, shared_memory}));
}

TEST(Occupancy, RegistersAreGivenInUnitsOfEightPerThread) {
  EXPECT_EQ(of("sm_90a", 128, 121, 0), of("sm_90a", 128, 128, 0));
  EXPECT_NE(of("sm_90a", 128, 129, 0), of("sm_90a", 128, 128, 0));
}

TEST(Occupancy, OneWarpMayGoToAnyQuarterOfAnSm) {
  EXPECT_EQ(of("sm_90a", 32, 255, 0).blocks_per_sm, 8);  // two in each SM sub-partition
  EXPECT_EQ(of("sm_90a", 96, 168, 0).blocks_per_sm, 4);  // twelve warps fit, three in each SM sub-partition
}

TEST(Occupancy, TheDriverTakesAKibibyteOfEachBlock) {
  EXPECT_EQ(of("sm_90a", 128, 32, 113 << 10).blocks_per_sm, 2);
  EXPECT_EQ(of("sm_90a", 128, 32, (113 << 10) + 1).blocks_per_sm, 1);
  EXPECT_EQ(of("sm_75", 128, 32, 32 << 10).blocks_per_sm, 2);  // but not on this GPU
}

TEST(Occupancy, UnknownRegistersBindNothing) {
  EXPECT_EQ(of("sm_90a", 1024, 0, 0), (Occupancy{2, 64, 64, OccupancyLimit::threads}));
}

TEST(Occupancy, EveryArchHasAMostOfBlocks) {
  for (const std::string& arch : known_archs()) {
    EXPECT_GE(most_blocks_per_sm(arch_limits(arch).sm), 16) << arch;
    EXPECT_GE(of(arch.c_str(), 1024, 64, 0).blocks_per_sm, 1) << arch;
    EXPECT_EQ(of(arch.c_str(), 1024, 65, 0).blocks_per_sm, 0) << arch;
  }
}

TEST(ExceededLimit, NamesTheLimitWithBothNumbers) {
  const ArchLimits& hopper = arch_limits("sm_90a");
  EXPECT_EQ(exceeded_limit({.threads = 1024, .registers = 64, .smem_bytes = 232448}, hopper), "");
  EXPECT_EQ(exceeded_limit({.threads = 1152}, hopper), "threads: 1152 per block, 1024 at most");
  EXPECT_EQ(exceeded_limit({.threads = 128, .smem_bytes = 232449}, hopper),
            "shared memory: 232449 bytes per block, 232448 at most");
  EXPECT_EQ(exceeded_limit({.threads = 512, .registers = 132}, hopper),
            "registers: 132 for each of 512 threads take 69632, an SM has 65536");
}

TEST(ExceededLimit, IsThereWhereNoBlockIsResident) {
  for (const std::string& arch : known_archs()) {
    for (int threads = 32; threads <= 1024; threads += 32) {
      for (int registers = 8; registers <= 255; ++registers) {
        const BlockResources block{.threads = threads, .registers = registers, .smem_bytes = 1024};
        const bool fits = occupancy(block, arch_limits(arch)).blocks_per_sm > 0;
        ASSERT_EQ(fits, exceeded_limit(block, arch_limits(arch)).empty()) << arch << " " << threads << " " << registers;
      }
    }
  }
}

}  // namespace
}  // namespace hotgemm
