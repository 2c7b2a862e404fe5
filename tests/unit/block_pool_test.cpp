#include "base/block_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace hotgemm {
namespace {

struct alignas(64) PooledLine {
  explicit PooledLine(int& alive) : live(alive) { ++live; }
  ~PooledLine() { --live; }
  int& live;
};

TEST(BlockPool, UsesMemoryAgain) {
  int live = 0;
  BlockPool<PooledLine> pool;
  std::set<const PooledLine*> first, second;
  for (int i = 0; i < 1000; ++i) first.insert(pool.make(live));
  EXPECT_EQ(first.size(), 1000u);
  EXPECT_EQ(live, 1000);
  for (const PooledLine* line : first) pool.destroy(line);
  EXPECT_EQ(live, 0);
  for (int i = 0; i < 1000; ++i) second.insert(pool.make(live));
  EXPECT_EQ(second, first);
  for (const PooledLine* line : second) pool.destroy(line);
}

TEST(BlockPool, PutsObjectsApartAndOnTheirAlignment) {
  int live = 0;
  BlockPool<PooledLine> pool;
  std::vector<const PooledLine*> lines;
  std::set<std::uintptr_t> addresses;
  for (int i = 0; i < 100'000; ++i) {  // chunks of a huge page have 32'768
    lines.push_back(pool.make(live));
    addresses.insert(reinterpret_cast<std::uintptr_t>(lines.back()));
  }
  std::uintptr_t end = 0;
  for (const std::uintptr_t address : addresses) {
    ASSERT_EQ(address % 64, 0u);
    ASSERT_GE(address, end) << "overlaps the object before it";
    end = address + sizeof(PooledLine);
  }
  EXPECT_EQ(addresses.size(), 100'000u);
  for (const PooledLine* line : lines) pool.destroy(line);
  EXPECT_EQ(live, 0);
}

TEST(BlockPool, MakesNothingIfTheConstructorThrows) {
  struct Refusing {
    explicit Refusing(bool refuses) {
      if (refuses) throw 1;
    }
    std::int64_t value = 0;
  };
  BlockPool<Refusing> pool;
  const Refusing* first = pool.make(false);
  pool.destroy(first);
  EXPECT_THROW(pool.make(true), int);
  EXPECT_EQ(pool.make(false), first);
  pool.destroy(first);
}

TEST(HugePages, HasMemoryOfAnySizeOnItsAlignment) {
  for (const std::size_t count : {std::size_t{1}, kHugePageBytes / 64, kHugePageBytes / 64 + 1}) {
    std::vector<PooledLine*, HugePages<PooledLine*>> pointers(count);
    EXPECT_EQ(pointers.back(), nullptr);
    PooledLine* lines = HugePages<PooledLine>().allocate(count);
    const std::size_t alignment = count * sizeof(PooledLine) >= kHugePageBytes ? kHugePageBytes : alignof(PooledLine);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lines) % alignment, 0u) << count;
    HugePages<PooledLine>().deallocate(lines, count);
  }
}

}  // namespace
}  // namespace hotgemm
