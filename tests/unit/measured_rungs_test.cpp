#include "config/kernel_config.hpp"
#include "ladder/ladder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::string_view kResults = HOTGEMM_SOURCE_DIR "/docs/results/raw/";

std::vector<std::string> lines_of(std::string_view name) {
  std::ifstream file(std::string(kResults) + std::string(name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The cells of a line of CSV without quotes.
std::vector<std::string> cells_of(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> cells;
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

/// True if the rung of this label has this config now.
bool is_rung(std::string_view label, std::string_view config) {
  return std::ranges::any_of(rungs(), [&](const Rung& rung) {
    return rung.label == label && (rung.config ? to_string(*rung.config) : "") == config;
  });
}

// The guide tells speeds of rungs. A rung that is another kernel now has none until it is measured again.
TEST(MeasuredRungs, ThoseThatHaveChangedSinceAreListed) {
  std::set<std::string> changed;
  for (const std::string_view file : {"ladder.csv", "ladder-sizes.csv"}) {
    const std::vector<std::string> lines = lines_of(file);
    ASSERT_GT(lines.size(), 100U) << file;
    constexpr std::size_t kLabel = 8;
    ASSERT_TRUE(lines.front().starts_with("problem,m,n,k,layout,dtype,acc,name,label,config,")) << lines.front();
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::vector<std::string> cells = cells_of(lines[i]);
      if (!is_rung(cells.at(kLabel), cells.at(kLabel + 1))) changed.insert(cells.at(kLabel));
    }
  }
  std::set<std::string> listed;
  for (const std::string& line : lines_of("ladder-changed.txt")) {
    if (!line.starts_with("#")) listed.insert(line);
  }
  EXPECT_EQ(changed, listed) << "measure by `tools/results ladder`, or write the labels to docs/results/raw/"
                                "ladder-changed.txt and run tools/guide_numbers";
}

}  // namespace
}  // namespace hotgemm
