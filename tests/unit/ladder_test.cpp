#include "ladder/ladder.hpp"

#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

/// The lines of docs/ladder-names.txt: a name in the material and the command that runs it.
std::vector<std::pair<std::string, std::string>> listed_names() {
  std::ifstream file(HOTGEMM_SOURCE_DIR "/docs/ladder-names.txt");
  std::vector<std::pair<std::string, std::string>> names;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::size_t space = line.find(' ');
    names.emplace_back(line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1));
  }
  return names;
}

TEST(Ladder, EveryNameOfTheMaterialHasACommandThatFindsItsRung) {
  const auto names = listed_names();
  ASSERT_GE(names.size(), 90U);
  std::set<std::string> seen;
  for (const auto& [name, command] : names) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(seen.insert(name).second) << "listed twice";
    constexpr std::string_view kCommand = "hotgemm ladder --rung ";
    ASSERT_TRUE(command.starts_with(kCommand)) << command;
    EXPECT_FALSE(find_rungs(command.substr(kCommand.size())).empty()) << command;
  }
}

TEST(Ladder, EveryRungOfTheMaterialIsListed) {
  std::set<std::string, std::less<>> listed;
  for (const auto& [name, command] : listed_names()) listed.insert(name);
  for (const Rung& rung : rungs()) {
    EXPECT_TRUE(rung.is_ours() || listed.contains(rung.name)) << rung.name;
  }
}

TEST(Ladder, LabelsAreRowsOfATable) {
  std::set<std::string_view> labels;
  for (const Rung& rung : rungs()) EXPECT_TRUE(labels.insert(rung.label).second) << rung.label << " stands twice";
}

TEST(Ladder, EveryRungIsLegalOnHopperInItsOwnTypes) {
  for (const Rung& rung : rungs()) {
    if (!rung.config) continue;
    EXPECT_TRUE(is_legal(*rung.config, rung.traits(), arch_limits("sm_90a"))) << rung.label;
    EXPECT_TRUE(is_legal(ladder_launch(rung, 4096), *rung.config)) << rung.label;
  }
}

TEST(Ladder, WhatIsARungOnlyIsNoCandidate) {
  std::size_t candidates_too = 0, rungs_only = 0;
  for (const Rung& rung : rungs()) {
    if (!rung.config) continue;
    const auto menu = candidates(rung.traits(), arch_limits("sm_90a"));
    ++(std::ranges::find(menu, *rung.config) != menu.end() ? candidates_too : rungs_only);
  }
  EXPECT_GE(candidates_too, 3U) << "good rungs are ordinary candidates";
  EXPECT_GE(rungs_only, 20U);
}

TEST(Ladder, BlockSwizzleTakesStripsOfHalfOrAQuarterOfTheColumns) {
  EXPECT_EQ(swizzle_stride(16384), 4096);
  EXPECT_EQ(swizzle_stride(4096), 1024);
  EXPECT_EQ(swizzle_stride(1024), 512);
  EXPECT_EQ(swizzle_stride(300), 300) << "too narrow for strips";
  const auto swizzled = std::ranges::find_if(rungs(), [](const Rung& r) { return r.block_swizzle && r.config; });
  ASSERT_NE(swizzled, rungs().end());
  const int tile = block_n(*swizzled->config);
  EXPECT_EQ(ladder_launch(*swizzled, 4096), (LaunchConfig{.raster_width = 1024 / tile, .raster_along_n = true}));
  Rung plain = *swizzled;
  plain.block_swizzle = false;
  EXPECT_EQ(ladder_launch(plain, 4096), (LaunchConfig{.raster_width = 4096 / tile, .raster_along_n = true}));
}

}  // namespace
}  // namespace hotgemm
