#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace hotgemm {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// An allocator that asks the kernel for huge pages where the memory fills some, so that random reads of a large array
/// do not walk page tables. Where the kernel has none, the memory is ordinary.
template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) noexcept {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* memory = ::operator new(bytes, alignment_of(bytes));
    if (bytes >= kHugePageBytes) ::madvise(memory, bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) noexcept { ::operator delete(memory, alignment_of(count * sizeof(T))); }
  friend bool operator==(const HugePages&, const HugePages&) { return true; }

 private:
  static std::align_val_t alignment_of(std::size_t bytes) {
    return std::align_val_t(std::max(alignof(T), bytes >= kHugePageBytes ? kHugePageBytes : 0));
  }
};

}  // namespace hotgemm
