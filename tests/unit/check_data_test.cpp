#include "check_data.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

namespace hotgemm {
namespace {

constexpr int kExtents[] = {1, 2, 7, 31, 32, 33, 63, 64, 65, 100, 511, 512, 1000, 4096, 5003};
constexpr unsigned kSeeds[] = {0, 1, 0xdeadbeef};

TEST(CheckData, RowsOfAHaveFewNonzeros) {
  for (const unsigned seed : kSeeds) {
    for (const int k_extent : kExtents) {
      const int stride = check_stride(k_extent);
      for (int i = 0; i < 64; ++i) {
        int nonzeros = 0;
        for (int k = 0; k < k_extent; ++k) nonzeros += check_value_a(seed, i, k, stride) != 0;
        ASSERT_GE(nonzeros, 1) << "k " << k_extent << " row " << i;
        ASSERT_LE(nonzeros, kCheckNonzeros) << "k " << k_extent << " row " << i;
      }
    }
  }
}

TEST(CheckData, ValuesAreSmallAndUseTheirRange) {
  std::set<int> a, b, c;
  for (int i = 0; i < 200; ++i) {
    for (int j = 0; j < 200; ++j) {
      a.insert(check_value_a(3, i, j, check_stride(200)));
      b.insert(check_value_b(3, i, j));
      c.insert(check_value_c(3, i, j));
    }
  }
  const std::set<int> all = {-2, -1, 0, 1, 2};
  EXPECT_EQ(a, all);
  EXPECT_EQ(b, all);
  EXPECT_EQ(c, all);
}

TEST(CheckData, EveryKCounts) {
  // A term that no row reads could be wrong unseen.
  for (const int k_extent : kExtents) {
    const int stride = check_stride(k_extent);
    std::set<int> read;
    for (int i = 0; i < 16 * stride; ++i) {
      for (int k = check_first_k(7, i, stride); k < k_extent; k += stride) read.insert(k);
    }
    EXPECT_EQ(read.size(), static_cast<std::size_t>(k_extent));
  }
}

TEST(CheckData, ProductIsTheDenseSumAndNoPartialSumIsLarge) {
  for (const unsigned seed : kSeeds) {
    for (const int k_extent : kExtents) {
      const int stride = check_stride(k_extent);
      for (int i = 0; i < 12; ++i) {
        for (int j = 0; j < 12; ++j) {
          int sum = 0, magnitude = std::abs(check_value_c(seed, i, j));
          for (int k = 0; k < k_extent; ++k) {
            const int term = check_value_a(seed, i, k, stride) * check_value_b(seed, k, j);
            sum += term;
            magnitude += std::abs(term);  // bounds the partial sums of every order
          }
          ASSERT_EQ(check_product(seed, i, j, k_extent, stride), sum);
          ASSERT_LE(magnitude, 130);
        }
      }
    }
  }
}

TEST(CheckData, ProductsDiffer) {
  // Neighbouring results that are equal would hide a permutation.
  int equal = 0;
  const int stride = check_stride(1024);
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 64; ++j) {
      const int here = check_product(5, i, j, 1024, stride);
      equal += here == check_product(5, i, j + 1, 1024, stride);
      equal += here == check_product(5, i + 1, j, 1024, stride);
    }
  }
  EXPECT_LT(equal, 64 * 64 * 2 / 10);
}

}  // namespace
}  // namespace hotgemm
