#include "base/block_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace hotgemm {
namespace {

struct alignas(64) Line {
  explicit Line(int& alive) : live(alive) { ++live; }
  ~Line() { --live; }
  int& live;
};

TEST(BlockPool, UsesMemoryAgain) {
  int live = 0;
  BlockPool<Line> pool;
  std::set<const Line*> first, second;
  for (int i = 0; i < 1000; ++i) first.insert(pool.make(live));
  EXPECT_EQ(first.size(), 1000u);
  EXPECT_EQ(live, 1000);
  for (const Line* line : first) pool.destroy(line);
  EXPECT_EQ(live, 0);
  for (int i = 0; i < 1000; ++i) second.insert(pool.make(live));
  EXPECT_EQ(second, first);
  for (const Line* line : second) pool.destroy(line);
}

TEST(BlockPool, PutsObjectsApartAndOnTheirAlignment) {
  int live = 0;
  BlockPool<Line> pool;
  std::vector<const Line*> lines;
  std::set<std::uintptr_t> addresses;
  for (int i = 0; i < 100'000; ++i) {  // chunks of a huge page have 32'768
    lines.push_back(pool.make(live));
    addresses.insert(reinterpret_cast<std::uintptr_t>(lines.back()));
  }
  std::uintptr_t end = 0;
  for (const std::uintptr_t address : addresses) {
    ASSERT_EQ(address % 64, 0u);
    ASSERT_GE(address, end) << "overlaps the object before it";
    end = address + sizeof(Line);
  }
  EXPECT_EQ(addresses.size(), 100'000u);
  for (const Line* line : lines) pool.destroy(line);
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
    std::vector<Line*, HugePages<Line*>> pointers(count);
    EXPECT_EQ(pointers.back(), nullptr);
    Line* lines = HugePages<Line>().allocate(count);
    const std::size_t alignment = count * sizeof(Line) >= kHugePageBytes ? kHugePageBytes : alignof(Line);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lines) % alignment, 0u) << count;
    HugePages<Line>().deallocate(lines, count);
  }
}

}  // namespace
}  // namespace hotgemm
