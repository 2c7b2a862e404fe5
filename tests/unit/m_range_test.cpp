#include "config/m_range.hpp"

#include "config/class_key.hpp"
#include "config/shapes.hpp"

#include <hotgemm/error.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <utility>

namespace hotgemm {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> sizes_of(const std::vector<Workload>& workloads) {
  std::vector<std::int64_t> sizes;
  for (const Workload& workload : workloads) sizes.push_back(workload.m);
  return sizes;
}

TEST(MRange, HasOneProblemOfEachBucket) {
  const Workload w = parse_workload("8 64 32 nt f16 beta=1");
  EXPECT_THAT(sizes_of(in_buckets(w, {1, 32})), ElementsAre(1, 2, 4, 8, 16, 24, 32));
  EXPECT_THAT(sizes_of(in_buckets(w, {5, 20})), ElementsAre(8, 16, 20)) << "it stays within the range";
  EXPECT_THAT(in_buckets(w, {8, 8}), ElementsAre(w));
}

/// All m in a range, in every layout, of packed and of aligned rows: each is of a class that the range has.
TEST(MRange, HasTheClassOfEveryProblemInIt) {
  for (const char* rest : {" 64 32 nn f16", " 64 32 tn f16", " 63 31 tt bf16 beta=1", " 64 32 tn f32",
                           " 64 32 tn f16 align=16", " 64 32 tt f16 workspace=none"}) {
    SCOPED_TRACE(rest);
    for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{1, 700}, {77, 1024}, {3, 3}}) {
      const std::vector<Workload> all = in_buckets(parse_workload("5" + std::string(rest)), {first, last});
      for (std::int64_t m = first; m <= last; ++m) {
        const ClassKey key = class_key(parse_workload(std::to_string(m) + rest));
        EXPECT_TRUE(std::ranges::any_of(all, [&](const Workload& w) { return class_key(w) == key; })) << m;
      }
    }
  }
}

TEST(MRange, StandsInTextInPlaceOfM) {
  const RangedText ranged = split_m_range(" 3:9 64 32 nt f16 beta=1");
  ASSERT_TRUE(ranged.range);
  EXPECT_EQ(std::pair(ranged.range->first, ranged.range->last), std::pair(std::int64_t{3}, std::int64_t{9}));
  EXPECT_EQ(ranged.text, "9 64 32 nt f16 beta=1");
  EXPECT_EQ(split_m_range("1:2x64x32").text, "2x64x32");
  for (const char* text : {"7 64 32 nt f16", "7x64x32", ""}) {
    EXPECT_FALSE(split_m_range(text).range);
    EXPECT_EQ(split_m_range(text).text, text);
  }
}

TEST(MRange, NamesTheBadWord) {
  for (const char* text : {"0:4", "4:1", ":4", "4:", "a:4", "1:2:3", "-1:4", "16", ""}) {
    SCOPED_TRACE(text);
    try {
      parse_m_range(text);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_THAT(error.what(), testing::StartsWith("m is "));
    }
  }
}

TEST(MRange, IsALineOfAShapeFile) {
  const std::vector<Shape> shapes = parse_shapes("1:8 64 32 nt f16  # a decoder\n64 64 64 nn f16\n", "x");
  ASSERT_EQ(shapes.size(), 5u);
  EXPECT_EQ(shapes[3].workload, parse_workload("8 64 32 nt f16"));
  EXPECT_EQ(shapes[4].workload.m, 64);
}

}  // namespace
}  // namespace hotgemm
