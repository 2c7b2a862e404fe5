#include "tune/row_launch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hotgemm {
namespace {

Candidate candidate(int block_n) {
  Candidate candidate;
  candidate.config = WgmmaConfig{.block_n = block_n};
  candidate.launch = {.raster_width = 8};
  return candidate;
}

TEST(RowLaunch, AmongTiedEntriesAProgrammaticOneAndThenTheFirstNameIsPicked) {
  const std::vector<Candidate> candidates{candidate(256), candidate(128)};  // the second name is first
  const LaunchConfig by_default{.raster_width = 8}, other{.raster_width = 1};
  const LaunchConfig early{.raster_width = 8, .raster_along_n = false, .programmatic = true};
  const std::vector<RowLaunch> entries{{0, by_default}, {1, other}, {1, by_default}, {0, early}};
  const std::vector<RankedContender> tied{{0, 1.0}, {1, 1.0}, {2, 1.0}, {3, 1.0}};
  EXPECT_EQ(pick_among_tied(candidates, entries, std::span(tied).first(2)), 1u);
  EXPECT_EQ(pick_among_tied(candidates, entries, std::span(tied).first(3)), 2u);
  EXPECT_EQ(pick_among_tied(candidates, entries, tied), 3u);
}

}  // namespace
}  // namespace hotgemm
