#include "plan/shards.hpp"

#include "config/problem_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

struct ShardItems {
  std::vector<double> costs;
  std::vector<std::string> names;
};

ShardItems some_items(int count, unsigned seed) {
  std::mt19937 random(seed);
  ShardItems items;
  for (int i = 0; i < count; ++i) {
    items.costs.push_back(std::uniform_real_distribution<double>(1, 5)(random));
    items.names.push_back("problem " + std::to_string(i));
  }
  return items;
}

std::vector<double> loads_of(const ShardItems& items, const std::vector<int>& shards, int count) {
  std::vector<double> loads(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < shards.size(); ++i) loads.at(static_cast<std::size_t>(shards[i])) += items.costs[i];
  return loads;
}

TEST(ShardsTest, EachItemHasOneShardAndTheLoadsAreEven) {
  for (const int shards : {1, 2, 3, 8, 64}) {
    for (const int size : {1, 7, 64, 500}) {
      const ShardItems items = some_items(size, static_cast<unsigned>(size + shards));
      const std::vector<int> found = shards_of(items.costs, items.names, shards);
      ASSERT_EQ(found.size(), items.costs.size());
      EXPECT_TRUE(std::ranges::all_of(found, [&](int shard) { return 0 <= shard && shard < shards; }));
      const std::vector<double> loads = loads_of(items, found, shards);
      const double total = std::accumulate(items.costs.begin(), items.costs.end(), 0.0);
      const double largest = std::ranges::max(items.costs);
      EXPECT_LE(std::ranges::max(loads), total / shards + largest);
      // A shard that got an item had the least load before, so that no two differ by more than the largest item.
      EXPECT_LE(std::ranges::max(loads) - std::ranges::min(loads), largest + 1e-9);
      if (size == 500 && shards <= 8) {
        EXPECT_LE(std::ranges::max(loads), 1.02 * total / shards);
      }
    }
  }
}

TEST(ShardsTest, TheOrderOfTheListDoesNotMatter) {
  ShardItems items = some_items(100, 1);
  for (std::size_t i = 0; i < 50; ++i) items.costs[i] = 2;  // many of equal cost
  const std::vector<int> shards = shards_of(items.costs, items.names, 7);
  std::vector<std::size_t> order(100);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, std::mt19937(2));
  ShardItems shuffled;
  for (const std::size_t i : order) {
    shuffled.costs.push_back(items.costs[i]);
    shuffled.names.push_back(items.names[i]);
  }
  const std::vector<int> again = shards_of(shuffled.costs, shuffled.names, 7);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(again[i], shards[order[i]]);
}

std::vector<Workload> listed_problems() {
  std::vector<Workload> problems;
  for (const char* text : {"4096 4096 4096 nt f16", "8 8 8 nn f16", "4090 4096 4096 nt f16", "1 4096 4096 nt bf16",
                           "16384 16384 16384 nn f16", "64 64 64 tt f32", "512 512 512 nn f16", "0 8 8 nn f16"}) {
    problems.push_back(parse_workload(text));
  }
  return problems;
}

TEST(ShardsTest, TheSharesOfAListAreTheList) {
  const std::vector<Workload> problems = listed_problems();
  for (const int count : {1, 2, 3, 20}) {
    std::multiset<std::string> seen;
    for (int index = 0; index < count; ++index) {
      std::size_t at = 0;
      for (const Workload& problem : share_of(problems, index, count, tuning_seconds)) {
        seen.insert(to_string(problem));
        while (at < problems.size() && problems[at] != problem) ++at;
        ASSERT_LT(at, problems.size()) << "not in the order of the list";
      }
    }
    EXPECT_EQ(seen.size(), problems.size()) << count;
    for (const Workload& problem : problems) EXPECT_EQ(seen.count(to_string(problem)), 1u) << to_string(problem);
  }
}

TEST(ShardsTest, ProblemsOfOneClassAreInOneShard) {
  const std::vector<Workload> problems{parse_workload("4090 64 64 nn f16"), parse_workload("4091 64 64 nn f16"),
                                       parse_workload("4092 64 64 nn f16")};
  for (int index = 0; index < 2; ++index) {
    const std::size_t size = share_of(problems, index, 2, tuning_seconds).size();
    EXPECT_TRUE(size == 0 || size == 3) << size;
  }
}

TEST(ShardsTest, AClassCostsAsMuchAsItsMostExpensiveProblem) {
  const std::vector<Workload> problems{parse_workload("4090 64 64 nn f16"), parse_workload("4091 64 64 nn f16"),
                                       parse_workload("64 64 64 nn f16"), parse_workload("64 64 128 nn f16")};
  const auto cost = [](const Workload& w) { return w.m == 4090 ? 1.0 : w.m == 4091 ? 9.0 : 5.0; };
  EXPECT_EQ(share_of(problems, 0, 2, cost), (std::vector{problems[0], problems[1]}));
  EXPECT_EQ(share_of(problems, 1, 2, cost), (std::vector{problems[2], problems[3]}));
}

TEST(ShardsTest, ABatchReadsEachOfItsMatrices) {
  EXPECT_GT(tuning_seconds(parse_workload("1 4096 4096 nn bf16 batch=32")),
            tuning_seconds(parse_workload("1 4096 4096 nn bf16")) + 1);
}

TEST(ShardsTest, LargeProblemsCostMoreUpToTheBudget) {
  const double small = tuning_seconds(parse_workload("8 8 8 nn f16"));
  const double large = tuning_seconds(parse_workload("8192 8192 8192 nn f16"));
  EXPECT_GT(large, 2 * small);
  EXPECT_EQ(tuning_seconds(parse_workload("65536 65536 65536 nn f16")),
            tuning_seconds(parse_workload("131072 65536 65536 nn f16")));
}

}  // namespace
}  // namespace hotgemm
