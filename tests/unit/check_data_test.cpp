#include "shared/check_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <utility>
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

TEST(CheckData, ProductsOfTheLongestRowsEnd) {
  constexpr int kLongest = std::numeric_limits<int>::max();
  for (const int k_extent : {kLongest, kLongest - 1, kLongest - 31, kLongest - 1024}) {
    const int stride = check_stride(k_extent);
    ASSERT_EQ(stride, (std::int64_t{k_extent} + kCheckNonzeros - 1) / kCheckNonzeros) << k_extent;
    for (int i = 0; i < 8; ++i) {
      int sum = 0;
      for (std::int64_t k = check_first_k(7, i, stride); k < k_extent; k += stride) {
        const int l = static_cast<int>(k);
        sum += check_value_a(7, i, l, stride) * check_value_b(7, l, 3);
      }
      EXPECT_EQ(check_product(7, i, 3, k_extent, stride), sum) << k_extent << " row " << i;
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
  // A term that no row reads could be wrong without being noticed.
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
            magnitude += std::abs(term);  // bounds the partial sums in every order
          }
          ASSERT_EQ(check_product(seed, i, j, k_extent, stride), sum);
          ASSERT_LE(magnitude, 130);
        }
      }
    }
  }
}

TEST(CheckData, ProductsDiffer) {
  // Equal neighbouring results would hide a permutation.
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

/// Memory that starts at address `begin` and contains a matrix.
struct DigestedMemory {
  DigestArgs args;
  std::vector<unsigned char> bytes;

  unsigned long long digest() const {
    unsigned long long sum = 0;
    for (std::size_t at = 0; at < bytes.size(); at += kDigestChunkBytes) {
      unsigned words[4];
      std::memcpy(words, bytes.data() + at, sizeof words);
      sum += digest_chunk(args, args.begin + at, words[0], words[1], words[2], words[3]);
    }
    return sum;
  }
  bool holds_element(std::size_t byte) const {
    const unsigned long long address = args.begin + byte;
    for (unsigned long long row = 0; row < args.rows; ++row) {
      const unsigned long long first = args.matrix + row * args.pitch_bytes;
      if (address >= first && address < first + args.row_bytes) return true;
    }
    return false;
  }
};

/// Rows of lengths near the chunk size, at every offset in a chunk, packed and padded.
std::vector<DigestedMemory> digested_memories() {
  constexpr unsigned long long kBegin = 0x7f0000001000;
  std::vector<DigestedMemory> all;
  for (const unsigned long long row_bytes : {2, 4, 6, 14, 16, 18, 30, 32, 34, 62}) {
    for (const unsigned long long padding : {0, 2, 6, 16, 30}) {
      for (unsigned long long offset = 32; offset < 48; offset += 2) {
        DigestedMemory memory{{.begin = kBegin,
                               .bytes = 384,
                               .matrix = kBegin + offset,
                               .pitch_bytes = row_bytes + padding,
                               .row_bytes = row_bytes,
                               .rows = 3},
                              std::vector<unsigned char>(384)};
        for (std::size_t i = 0; i < memory.bytes.size(); ++i)
          memory.bytes[i] = static_cast<unsigned char>(hash_u32(static_cast<unsigned>(i)));
        all.push_back(std::move(memory));
      }
    }
  }
  return all;
}

TEST(CheckData, DigestSeesEveryByteButTheElements) {
  for (DigestedMemory& memory : digested_memories()) {
    const unsigned long long before = memory.digest();
    for (std::size_t byte = 0; byte < memory.bytes.size(); ++byte) {
      memory.bytes[byte] ^= 1;
      ASSERT_EQ(memory.digest() == before, memory.holds_element(byte))
          << "byte " << byte << " rows of " << memory.args.row_bytes << " every " << memory.args.pitch_bytes;
      memory.bytes[byte] ^= 1;
    }
  }
}

TEST(CheckData, DigestSeesWordsThatChangePlaces) {
  DigestedMemory memory = digested_memories().front();
  memory.args.rows = 0;
  const unsigned long long before = memory.digest();
  for (std::size_t from = 0; from < memory.bytes.size(); from += 4) {
    for (std::size_t to = from + 4; to < memory.bytes.size(); to += 4) {
      std::swap_ranges(&memory.bytes[from], &memory.bytes[from] + 4, &memory.bytes[to]);
      ASSERT_NE(memory.digest(), before) << from << " and " << to;
      std::swap_ranges(&memory.bytes[from], &memory.bytes[from] + 4, &memory.bytes[to]);
    }
  }
}

}  // namespace
}  // namespace hotgemm
