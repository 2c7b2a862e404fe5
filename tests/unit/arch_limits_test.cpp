#include "shared/arch_limits.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hotgemm {
namespace {

TEST(ArchLimits, EachIsFoundOnce) {
  std::set<int> seen;
  for (const ArchLimits& row : kArchTable) {
    EXPECT_TRUE(seen.insert(row.sm).second) << row.sm;
    EXPECT_EQ(find_arch_limits(row.sm), &row);
    EXPECT_EQ(nearest_arch_limits(row.sm), &row);
  }
  for (const int sm : {75, 80, 86, 89, 90, 100, 120}) EXPECT_TRUE(seen.contains(sm)) << sm;
  EXPECT_EQ(find_arch_limits(70), nullptr);
  EXPECT_EQ(find_arch_limits(0), nullptr);
}

TEST(ArchLimits, ANewerGpuIsPlannedByTheNewestRowOfItsMajorVersion) {
  EXPECT_EQ(nearest_arch_limits(88)->sm, 87);
  EXPECT_EQ(nearest_arch_limits(101)->sm, 100);
  EXPECT_EQ(nearest_arch_limits(129)->sm, 121);
  EXPECT_EQ(nearest_arch_limits(70), nullptr) << "older than the major version's first row";
  EXPECT_EQ(nearest_arch_limits(74), nullptr);
  EXPECT_EQ(nearest_arch_limits(130), nullptr) << "cubins do not run on another major version";
}

TEST(ArchLimits, RowsAreConsistent) {
  for (const ArchLimits& row : kArchTable) {
    SCOPED_TRACE(row.sm);
    // From sm_80 on, a block with the maximum shared memory fits beside the part that the driver reserves.
    const int reserved = row.sm >= 80 ? kReservedSmemPerBlockBytes : 0;
    EXPECT_LE(row.smem_per_block_bytes + reserved, row.smem_per_sm_bytes);
    EXPECT_GE(row.smem_per_block_bytes, 48 << 10);
    EXPECT_EQ(row.registers_per_sm, 65536);
    EXPECT_GE(row.threads_per_sm, kMaxThreadsPerBlock);
    EXPECT_EQ(row.has_cp_async, row.sm >= 80);
    EXPECT_EQ(row.has_wgmma, row.sm == 90) << "only sm_90a has wgmma";
    EXPECT_EQ(row.suffix != 0, row.has_wgmma) << "the suffix costs compatibility, so it must enable something";
    EXPECT_GT(row.nominal_sm_count, 0);
    EXPECT_GT(row.nominal_l2_bytes, 0);
    EXPECT_GT(row.nominal_clock_mhz, 0);
    EXPECT_GT(row.nominal_dram_gbps, 0);
  }
}

}  // namespace
}  // namespace hotgemm
