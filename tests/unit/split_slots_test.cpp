#include "shared/split_slots.hpp"

#include "config/workspace.hpp"
#include "plan/affordable.hpp"
#include "plan/wgmma_menu.hpp"

#include <hotgemm/types.hpp>

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace hotgemm {
namespace {

template <WgmmaConfig kConfig>
void expect_each_element_once() {
  using Slots = SplitSlots<kConfig>;
  EXPECT_EQ(Slots::kBytes, kConfig.block_m * kConfig.block_n * 4);
  std::set<int> units;
  std::set<std::pair<int, int>> places;  // row and column of a unit's first element
  for (int warp = 0; warp < kConfig.consumers * 4; ++warp) {
    for (int block = 0; block < kConfig.consumer_m() / kWgmmaM; ++block) {
      for (int group = 0; group < kConfig.consumer_n() / 8; ++group) {
        const int unit = Slots::unit(warp, block, group);
        ASSERT_TRUE(unit >= 0 && unit < Slots::kUnits);
        EXPECT_TRUE(units.insert(unit).second) << unit;
        const SplitUnit at = Slots::place(unit);
        EXPECT_EQ(at.warp, warp);
        EXPECT_EQ(at.block, block);
        EXPECT_EQ(at.group, group);
        places.insert(
            {kConfig.first_row(warp / 4) + block * kWgmmaM + warp % 4 * 16, kConfig.first_col(warp / 4) + group * 8});
      }
    }
  }
  EXPECT_EQ(static_cast<int>(units.size()), Slots::kUnits);
  EXPECT_EQ(static_cast<int>(places.size()), Slots::kUnits);
}

TEST(SplitSlots, HoldEachElementOnce) {
  expect_each_element_once<WgmmaConfig{.block_m = 64, .block_n = 48, .consumers = 1}>();
  expect_each_element_once<WgmmaConfig{.block_m = 256, .block_n = 128, .consumers = 2}>();
  expect_each_element_once<WgmmaConfig{.block_m = 64, .block_n = 96, .consumers = 2, .split_n = true}>();
  expect_each_element_once<WgmmaConfig{.block_m = 192, .block_n = 24, .consumers = 3}>();
}

constexpr WgmmaConfig kSplit{.block_m = 128, .block_n = 64, .consumers = 2, .split_k = true};

TEST(WorkspaceSize, HasASlotForEachPartOfEachTileOfTheClass) {
  const Problem problem{.m = 2050, .n = 65, .k = 10000, .batch = 3};  // the class ends at 2304, and at 4 products
  const WorkspaceSize size = workspace_size(kSplit, {.splits = 5}, problem);
  EXPECT_EQ(size.scratch_bytes, 4u * 18 * 2 * 5 * 128 * 64 * 4);
  EXPECT_EQ(size.counters, 4u * 18 * 2 * (1 + 5));
}

TEST(WorkspaceSize, HasSlotsForTilesOfAClusterBeyondTheEdge) {
  WgmmaConfig config = kSplit;
  config.cluster_n = 2;
  const WorkspaceSize size = workspace_size(config, {.splits = 3}, {.m = 128, .n = 64 * 3, .k = 10000});
  EXPECT_EQ(size.scratch_bytes, 4u * 3 * 128 * 64 * 4);
  EXPECT_EQ(size.counters, 4u * (1 + 3));
}

TEST(WorkspaceCap, IsThatOfTheContextIfItIsSmall) {
  EXPECT_EQ(workspace_cap(WorkspaceClass::small, 1000), 1000u);
  EXPECT_EQ(workspace_cap(WorkspaceClass::small, 2 * kSmallWorkspaceBytes), kSmallWorkspaceBytes);
  EXPECT_EQ(workspace_cap(WorkspaceClass::none, 1000), 0u);
}

TEST(WorkspaceSize, IsEmptyForAKernelThatDividesNothing) {
  WgmmaConfig whole = kSplit;
  whole.split_k = false;
  EXPECT_TRUE(workspace_size(whole, {.splits = 5}, {.m = 64, .n = 64, .k = 64}).is_empty());
  EXPECT_TRUE(workspace_size(SimtConfig{}, {.splits = 5}, {.m = 64, .n = 64, .k = 64}).is_empty());
}

}  // namespace
}  // namespace hotgemm
