#include "ladder/ladder.hpp"

#include "ladder/rung_name.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
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

/// The labels of the rungs that `name` names.
std::vector<std::string_view> labels(std::string_view name) {
  std::vector<std::string_view> found;
  for (const Rung& rung : find_rungs(name)) found.push_back(rung.label);
  return found;
}

TEST(Ladder, NamesOfTheMaterialNameTheRungsOfTheirCommands) {
  for (const auto& [name, command] : listed_names()) {
    SCOPED_TRACE(name);
    const auto wanted = labels(command.substr(command.rfind(' ') + 1));
    EXPECT_EQ(labels(name), wanted);
    EXPECT_EQ(labels("(" + name + ")"), wanted) << "as in its tables";
    EXPECT_EQ(labels(name + "_kernel"), wanted);
  }
  EXPECT_EQ(labels("tn(cublas)"), std::vector<std::string_view>{"tn+cublas"});
  EXPECT_EQ(labels("mm_mma_int8<256, 128, 128, 16, 8>"), std::vector<std::string_view>{"s8+256x128+t16x8"});
  for (const char* name : {"", "()", "_kernel", "(naive", "naive)", "mma4x2+", "mm_mma_int8<>", "tn(naive)"})
    EXPECT_TRUE(find_rungs(name).empty()) << name;
}

TEST(Ladder, CommasWithinANameDoNotEndIt) {
  EXPECT_EQ(joined_names({"naive", "mm_mma_int8<16", "16", "128", "1", "1>", "wmma"}),
            (std::vector<std::string>{"naive", "mm_mma_int8<16,16,128,1,1>", "wmma"}));
  EXPECT_EQ(joined_names({"a<1", "2"}), std::vector<std::string>{"a<1,2"}) << "an end that is missing";
  EXPECT_TRUE(joined_names({}).empty());
}

/// The words of a label between plus signs.
std::set<std::string> words_of(std::string_view label) {
  std::set<std::string> words;
  while (!label.empty()) {
    const std::size_t end = std::min(label.find('+'), label.size());
    words.emplace(label.substr(0, end));
    label.remove_prefix(std::min(end + 1, label.size()));
  }
  return words;
}

TEST(Ladder, LabelsSayLayoutStagesAndBlockSwizzle) {
  std::size_t staged = 0;
  for (const Rung& rung : rungs()) {
    if (rung.is_ours() || !rung.config) continue;
    SCOPED_TRACE(rung.label);
    const std::set<std::string> words = words_of(rung.label);
    EXPECT_EQ(rung.block_swizzle, words.contains("swizzle"));
    EXPECT_EQ(rung.op_b == Op::t, words.contains("tn") || rung.element == DType::s8);
    const int stages = std::visit(
        [](const auto& c) {
          if constexpr (requires { c.stages; }) {
            return c.stages;
          } else {
            return 0;
          }
        },
        *rung.config);
    for (int i = 2; i <= 4; ++i) {
      if (!words.contains("stage" + std::to_string(i))) continue;
      EXPECT_EQ(stages, i);
      ++staged;
    }
    EXPECT_TRUE(!words.contains("dbuf") || stages == 2);
  }
  EXPECT_GE(staged, 30U);
}

/// One thing changes from a rung to the next.
TEST(Ladder, RungsHaveTheFieldsOfTheirNames) {
  const auto fma = [](std::string_view label) { return std::get<FmaConfig>(*find_rungs(label).at(0).config); };
  FmaConfig config = fma("f16x4+t8x8");
  config.packed = true;
  EXPECT_EQ(config, fma("f16x4pack+t8x8"));
  config.transposed = true;
  config.group = 4;
  config.padded = true;
  EXPECT_EQ(config, fma("f16x4pack+t8x8+bcf"));
  config.packed = config.padded = false;
  EXPECT_EQ(config, fma("f16x4+t8x8+bcf"));

  config = fma("f16x8pack+t8x8+k32+dbuf");
  config.thread_m = 16;
  EXPECT_EQ(config, fma("f16x8pack+t16x8+k32+dbuf"));
  EXPECT_EQ(config.threads(), 128);

  MmaConfig mma = std::get<MmaConfig>(*find_rungs("mma2x4+warp4x4x2+stage2+dsmem").at(0).config);
  mma.recomputes = true;
  EXPECT_EQ(*find_rungs("mma2x4+warp4x4x2+stage2+dsmem+rr").at(0).config, KernelConfig(mma));
}

TEST(Ladder, EveryRungOfTheMaterialIsListed) {
  std::set<std::string, std::less<>> listed;
  for (const auto& [name, command] : listed_names()) listed.insert(name);
  for (const Rung& rung : rungs()) {
    // The material compares f16 and f32 alone with cuBLAS.
    const bool is_further_library = !rung.config && (rung.element == DType::s8 || rung.element == DType::tf32);
    EXPECT_TRUE(rung.is_ours() || is_further_library || listed.contains(rung.name)) << rung.name;
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

TEST(Ladder, EveryTypeClimbsFromTheNaiveKernelToCublas) {
  for (const DType element : {DType::f16, DType::f32, DType::tf32, DType::s8}) {
    SCOPED_TRACE(to_string(element));
    std::vector<const Rung*> found;
    for (const Rung& rung : rungs()) {
      if (rung.element == element) found.push_back(&rung);
    }
    ASSERT_GE(found.size(), 7U);
    ASSERT_TRUE(found.front()->config && std::holds_alternative<FmaConfig>(*found.front()->config));
    EXPECT_EQ(std::get<FmaConfig>(*found.front()->config).stages, 0);
    EXPECT_FALSE(found.back()->config);
    for (const std::string_view family : {"mma", "wgmma"}) {
      const auto is_it = [&](const Rung* rung) { return rung->config && family_of(*rung->config).name == family; };
      EXPECT_EQ(std::ranges::any_of(found, is_it), element != DType::f32) << family;
    }
    for (const Rung* rung : found) {
      const bool has_own_layout = element == DType::f16;
      EXPECT_TRUE(has_own_layout || rung->op_b == ladder_op_b(element)) << rung->label;
      EXPECT_EQ(rung->traits().element_d, rung->traits().accumulator) << rung->label;
    }
  }
}

/// The blocks and the shared memory of the table in the log of INT8 kernels, where rows are not padded.
TEST(Ladder, Int8TilesAreThoseOfTheMaterial) {
  struct Row {
    std::string_view label;
    int threads, smem_bytes;
  };
  for (const Row& row : {Row{"s8+256x128+t16x8", 16 * 16, 49152}, Row{"s8+128x256+t8x16", 16 * 16, 49152},
                         Row{"s8+128x128+t16x8", 16 * 8, 32768}, Row{"s8+128x128+t8x16", 8 * 16, 32768}}) {
    SCOPED_TRACE(row.label);
    const std::vector<Rung> found = find_rungs(row.label);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().name, "mm_mma_int8");
    FmaConfig config = std::get<FmaConfig>(*found.front().config);
    EXPECT_EQ(config.threads(), row.threads);
    config.padded = false;
    EXPECT_EQ(config.smem_bytes(found.front().traits()), row.smem_bytes);
  }
  EXPECT_EQ(find_rungs("mm_mma_int8").size(), 8U);
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
