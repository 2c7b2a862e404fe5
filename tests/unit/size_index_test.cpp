#include "records/size_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>
#include <vector>

namespace hotgemm {
namespace {

double apart(const Sizes& a, const Sizes& b) {
  const auto log_ratio = [](std::int64_t x, std::int64_t y) {
    return std::log2(static_cast<double>(std::max<std::int64_t>(x, 1))) -
           std::log2(static_cast<double>(std::max<std::int64_t>(y, 1)));
  };
  const double m = log_ratio(a.m, b.m), n = log_ratio(a.n, b.n), k = log_ratio(a.k, b.k);
  return std::sqrt(m * m + n * n + k * k);
}

/// Sizes as they occur: many multiples of 64 in a narrow range, some odd ones, some extreme ones.
std::vector<Sizes> many_sizes(int count) {
  std::mt19937 random(5);
  const auto size = [&]() -> std::int64_t {
    switch (random() % 8) {
      case 0: return std::int64_t{1} << random() % 31;
      case 1: return static_cast<std::int64_t>(random() % 2'147'000'000);
      default: return 64 * (1 + static_cast<std::int64_t>(random() % 128));
    }
  };
  std::vector<Sizes> all;
  for (int i = 0; i < count; ++i) all.push_back({size(), size(), size()});
  return all;
}

TEST(SizeIndex, GivesAllInTheOrderOfTheirDistance) {
  const std::vector<Sizes> all = many_sizes(2000);
  SizeIndex first, second;
  for (std::size_t i = 0; i < all.size(); ++i) (i % 3 == 0 ? first : second).add(all[i], i);
  EXPECT_EQ(first.size() + second.size(), all.size());
  for (const Sizes& centre : {Sizes{4096, 4096, 4096}, Sizes{1, 1, 1}, Sizes{0, 2'147'483'647, 77}}) {
    NearestSizes walk(centre);
    walk.search(first);
    walk.search(second);
    std::vector<double> expected, found;
    std::vector<bool> seen(all.size());
    for (const Sizes& sizes : all) expected.push_back(apart(centre, sizes));
    std::ranges::sort(expected);
    while (const auto hit = walk.next()) {
      EXPECT_DOUBLE_EQ(hit->distance, apart(centre, all[hit->value]));
      EXPECT_FALSE(seen[hit->value]);
      seen[hit->value] = true;
      found.push_back(hit->distance);
    }
    ASSERT_EQ(found.size(), all.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_DOUBLE_EQ(found[i], expected[i]) << i;
  }
}

TEST(SizeIndex, EqualDistancesAreOrderedBySizes) {
  SizeIndex index;
  const std::vector<Sizes> around{{8, 4, 4}, {4, 8, 4}, {4, 4, 8}, {2, 4, 4}, {4, 2, 4}, {4, 4, 2}};
  for (std::size_t i = 0; i < around.size(); ++i) index.add(around[i], i);
  NearestSizes walk({4, 4, 4});
  walk.search(index);
  for (const std::size_t value : {3u, 4u, 5u, 2u, 1u, 0u}) EXPECT_EQ(walk.next()->value, value);
  EXPECT_FALSE(walk.next());
}

TEST(SizeIndex, VisitsFewOfMany) {
  const std::vector<Sizes> all = many_sizes(100'000);
  SizeIndex index;
  for (std::size_t i = 0; i < all.size(); ++i) index.add(all[i], i);
  std::size_t most = 0;
  for (std::size_t i = 0; i < all.size(); i += 997) {
    NearestSizes walk(all[i]);
    walk.search(index);
    for (int hits = 0; hits < 8; ++hits) ASSERT_TRUE(walk.next());
    most = std::max(most, walk.visited());
  }
  EXPECT_LT(most, 1000u);
}

TEST(SizeIndex, NothingBeyondTheFarthestIsFound) {
  const std::vector<Sizes> all = many_sizes(5000);
  SizeIndex index;
  for (std::size_t i = 0; i < all.size(); ++i) index.add(all[i], i);
  const Sizes centre{4096, 4096, 4096};
  NearestSizes walk(centre, 1.5);
  walk.search(index);
  std::ptrdiff_t found = 0;
  while (walk.next()) ++found;
  EXPECT_EQ(found, std::ranges::count_if(all, [&](const Sizes& sizes) { return apart(centre, sizes) <= 1.5; }));
  EXPECT_GT(found, 0);
  EXPECT_LT(walk.visited(), all.size());
}

TEST(SizeIndex, FindsWhatIsAddedBetweenSearches) {
  SizeIndex index;
  for (std::int64_t n = 1; n <= 200; ++n) {
    index.add({64, n, 64}, static_cast<std::size_t>(n));
    NearestSizes walk({64, n, 64});
    walk.search(index);
    EXPECT_EQ(walk.next()->value, static_cast<std::size_t>(n));
    if (n > 1) {
      EXPECT_EQ(walk.next()->value, static_cast<std::size_t>(n - 1));
    }
  }
}

TEST(SizeIndex, ManyValuesOfOnePlaceAreFine) {
  SizeIndex index;
  for (std::size_t i = 0; i < 1000; ++i) index.add({2'147'483'000, 7, 7}, i);
  NearestSizes walk({8, 8, 8});
  walk.search(index);
  std::size_t count = 0;
  while (const auto hit = walk.next()) ASSERT_EQ(hit->value, count++);
  EXPECT_EQ(count, 1000u);
  EXPECT_FALSE(NearestSizes({1, 1, 1}).next()) << "of no index";
}

}  // namespace
}  // namespace hotgemm
