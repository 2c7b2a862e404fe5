#include "records/database.hpp"

#include "unit/database_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <latch>
#include <string>
#include <thread>
#include <vector>

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
              static_cast<int>(database.work().classes_visited));
  EXPECT_LT(database.work().classes_visited, 500u);
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
  EXPECT_EQ(database.work().classes_visited, 1u);
  EXPECT_EQ(database.nearest(other.problem, GpuQuery{}, 200).size(), 100u) << "each class once";
}

TEST(DatabaseNearest, TheFirstSearchIndexesWhatItAsksFor) {
  const TemporaryDirectory directory;
  std::string text;
  for (int n = 8; n <= 80; n += 8) {
    for (const char* rest : {" 512 nt f16", " 512 nn f16", " 512 nt bf16"}) {
      text += to_line({sample_record("64 " + std::to_string(n) + rest), 1}) + "\n";
    }
  }
  write_file(directory.segments() / "x.jsonl", text);
  Database database{user_layer(directory)};
  const Workload here = parse_workload("64 32 512 nt f16");
  EXPECT_TRUE(database.find(here, sample_query()));
  EXPECT_EQ(database.work().classes_indexed, 0u) << "opening and finding need no neighbours";
  EXPECT_EQ(database.work().lines_parsed, 1u);
  EXPECT_EQ(database.nearest(here, sample_query(), 3).size(), 3u);
  EXPECT_EQ(database.work().classes_indexed, 10u) << "those of the layout and type";
  EXPECT_EQ(database.work().lines_parsed, 3u);
  database.nearest(parse_workload("64 80 512 nt f16"), sample_query(), 1);
  EXPECT_EQ(database.work().classes_indexed, 10u) << "once";
  database.add(sample_record("64 88 512 nt f16"));
  database.add(with_median(sample_record("64 88 512 nt f16"), 70));
  database.add(sample_record("64 88 512 tt f16"));
  EXPECT_EQ(database.work().classes_indexed, 11u) << "a class that is new";
  const auto near = database.nearest(parse_workload("64 88 512 nt f16"), sample_query(), 2);
  ASSERT_EQ(near.size(), 2u);
  EXPECT_EQ(near[0].found.record.timing.median_us, 70);
  EXPECT_EQ(near[1].found.record.problem.n, 80);
  database.reload();
  EXPECT_EQ(database.nearest(here, sample_query(), 100).size(), 11u);
}

TEST(DatabaseNearest, WhatIsTooFarAwayIsNotParsed) {
  const TemporaryDirectory directory;
  std::string text;
  for (const int n : {16, 32, 64, 128, 256}) {
    text += to_line({sample_record("64 " + std::to_string(n) + " 512 nt f16"), 1}) + "\n";
  }
  write_file(directory.segments() / "x.jsonl", text);
  const Database database{user_layer(directory)};
  const Workload here = parse_workload("64 1024 512 nt f16");
  EXPECT_TRUE(database.nearest(here, sample_query(), 8, 1.9).empty());
  EXPECT_EQ(database.work().lines_parsed, 0u);
  EXPECT_EQ(database.nearest(here, sample_query(), 8, 3).size(), 2u) << "a distance of 3 is not beyond 3";
  EXPECT_EQ(database.work().lines_parsed, 2u);
}

TEST(DatabaseNearest, FirstSearchesMayComeAtOnce) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 400; ++i) {
    const std::string sizes = "64 " + std::to_string(8 * (i % 20 + 1)) + " " + std::to_string(64 * (i / 20 + 1));
    text += to_line({sample_record(sizes + (i % 2 == 0 ? " nt f16" : " nn f16")), 1}) + "\n";
  }
  write_file(directory.segments() / "x.jsonl", text);
  const auto distances = [](const Database& database, const Workload& problem) {
    std::vector<double> all;
    for (const Neighbour& one : database.nearest(problem, sample_query(), 12)) all.push_back(one.distance);
    return all;
  };
  const Database alone{user_layer(directory)}, shared{user_layer(directory)};
  std::vector<std::vector<double>> found(8);
  const auto problem_of = [](std::size_t thread) {
    const std::string n = std::to_string(8 * (thread + 5));
    return parse_workload("64 " + n + " 640 " + (thread % 2 == 0 ? "nt" : "nn") + " f16");
  };
  std::latch all_there(static_cast<std::ptrdiff_t>(found.size()));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      all_there.arrive_and_wait();
      for (int i = 0; i < 5; ++i) found[t] = distances(shared, problem_of(t));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < found.size(); ++t) EXPECT_EQ(found[t], distances(alone, problem_of(t))) << t;
  EXPECT_EQ(found[0].size(), 12u);
  EXPECT_EQ(shared.work().classes_indexed, 400u);
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
    EXPECT_EQ(near[0].found.record.timing.median_us, 1) << sm_count << ": of one second the faster";
  }
}

}  // namespace
}  // namespace hotgemm
