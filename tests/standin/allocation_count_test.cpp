#include "standin/allocation_count.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

// operator new and delete for the whole test program. They are not inlined: a compiler that sees only one of them warns
// that memory of one kind is freed as another.

namespace {

thread_local std::size_t count = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++count;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(bytes > 0 ? bytes : 1);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t& tag) noexcept {
  return operator new(bytes, tag);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace hotgemm::standin {

std::size_t allocation_count() { return count; }

namespace {

TEST(AllocationCount, CountsThisThreadsCalls) {
  const std::size_t before = allocation_count();
  const auto one = std::make_unique<int>(1);
  const auto array = std::make_unique<int[]>(10);
  EXPECT_EQ(allocation_count() - before, 2u) << *one << array[0];
}

}  // namespace
}  // namespace hotgemm::standin
