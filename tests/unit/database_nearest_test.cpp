#include "records/database.hpp"

#include "unit/database_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

namespace hotgemm {
namespace {

TEST(DatabaseNearest, NearestByLogDistance) {
  Database database{DatabaseOptions{}};
  for (const char* text : {"2048 2048 2048 nt f16", "64 65536 2048 nt f16", "4096 2048 2048 nt f16",
                           "2048 2048 8192 nt f16", "2048 2048 2048 nn f16", "2048 2048 2048 nt bf16",
                           "2048 2048 2048 nt f16 align=8", "2048 2048 2048 nt f16 beta=1"}) {
    database.add(sample_record(text));
  }
  const auto near = database.nearest(parse_workload("2048 2048 2048 nt f16"), sample_query(), 10);
  ASSERT_EQ(near.size(), 4u);
  EXPECT_EQ(to_string(near[0].found.record.problem), "2048 2048 2048 nt f16 align=16");
  EXPECT_DOUBLE_EQ(near[0].distance, 0);
  EXPECT_EQ(near[1].found.record.problem.m, 4096);
  EXPECT_DOUBLE_EQ(near[1].distance, 1);
  EXPECT_EQ(near[2].found.record.problem.k, 8192);
  EXPECT_DOUBLE_EQ(near[2].distance, 2);
  EXPECT_EQ(near[3].found.record.problem.n, 65536);
  EXPECT_DOUBLE_EQ(near[3].distance, std::sqrt(50.0));
  EXPECT_EQ(database.nearest(parse_workload("2048 2048 2048 nt f16"), sample_query(), 2).size(), 2u);
  EXPECT_TRUE(database.nearest(parse_workload("2048 2048 2048 tt f16"), sample_query(), 2).empty());
  GpuQuery other = sample_query();
  other.environment.arch = "sm_80";
  EXPECT_TRUE(database.nearest(parse_workload("2048 2048 2048 nt f16"), other, 10).empty());
}

TEST(DatabaseNearest, NearestVisitsFewOfManyClasses) {
  const TemporaryDirectory directory;
  const std::string line = to_line({sample_record("1024 1024 1024 nt f16"), 1}), arch = edited(line, "sm_90a", "sm_80");
  std::string text;
  constexpr int kClasses = 100'000;
  for (int i = 0; i < kClasses; ++i) {
    // Most lines are not parsed, so that their checksums may be wrong.
    const std::string sizes = std::to_string(16 * (i % 10 + 1)) + " " + std::to_string(64 * (i / 10 % 100 + 1)) + " " +
                              std::to_string(64 * (i / 1000 + 1));
    std::string copy = i % 2 == 0 ? line : arch;
    text += copy.replace(copy.find("1024 1024 1024"), 14, sizes) + "\n";
  }
  text += line + "\n";
  write_file(directory.segments() / "x.jsonl", text);
  const Database database{user_layer(directory)};
  const Workload here = parse_workload("1024 1024 1024 nt f16");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(database.nearest(here, sample_query(), 1).size(), 1u);
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  RecordProperty("nearest_microseconds", static_cast<int>(elapsed.count()));
  std::printf("nearest of %d classes in %.1f us, %d visited\n", kClasses, elapsed.count(),
              static_cast<int>(database.classes_visited()));
  EXPECT_LT(database.classes_visited(), 500u);
  EXPECT_EQ(database.dropped(), 0u) << "only the nearest class is parsed";
}

TEST(DatabaseNearest, NearestFindsTheOneOfItsArchitecture) {
  Database database{DatabaseOptions{}};
  TuningRecord other = sample_record("4096 4096 512 nt f16");
  for (int n = 8; n <= 800; n += 8) {
    other.environment.arch = n == 400 ? "sm_90a" : "sm_80";
    other.problem.n = n;
    database.add(other);
  }
  other.environment.arch = "sm_80";
  other.problem.n = 400;
  database.add(other);
  EXPECT_EQ(database.nearest(other.problem, sample_query(), 8).size(), 1u);
  EXPECT_EQ(database.classes_visited(), 1u);
  EXPECT_EQ(database.nearest(other.problem, GpuQuery{}, 200).size(), 100u) << "each class once";
}

TEST(DatabaseNearest, GpusWithoutRecordsGetTheSameNeighbours) {
  Database database{DatabaseOptions{}};
  database.add(on_gpu(with_median(sample_record(), 1), "Fictional FX-2", 7));
  database.add(on_gpu(with_median(sample_record(), 2), "Fictional FX-3", 132));
  for (const int sm_count : {7, 132, 99, 1}) {
    GpuQuery query = sample_query();
    query.environment.gpu = "Fictional FX-4";
    query.environment.sm_count = sm_count;
    const auto near = database.nearest(sample_record().problem, query, 3);
    ASSERT_EQ(near.size(), 1u);
    EXPECT_EQ(near[0].found.record.timing.median_us, 2) << sm_count;
  }
}

}  // namespace
}  // namespace hotgemm
