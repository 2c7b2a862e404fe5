#pragma once

#include "base/huge_pages.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace hotgemm {

/// Objects of one type side by side, in chunks that grow up to the size of a huge page, so that random reads of very
/// many walk no page tables. Memory is used again, and returned by the destructor, before which all objects must be
/// destroyed. Not for several threads at once.
template <class T>
class BlockPool {
 public:
  BlockPool() = default;
  ~BlockPool() {
    for (const auto& [blocks, count] : chunks_) {
      ASAN_UNPOISON_MEMORY_REGION(blocks, count * sizeof(T));
      HugePages<T>().deallocate(blocks, count);
    }
  }
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  template <class... Args>
  T* make(Args&&... args) {
    if (free_.empty()) add_chunk();
    T* block = free_.back();
    ASAN_UNPOISON_MEMORY_REGION(block, sizeof(T));
    ::new (static_cast<void*>(block)) T{std::forward<Args>(args)...};
    free_.pop_back();
    return block;
  }
  void destroy(const T* object) noexcept {
    T* block = const_cast<T*>(object);
    std::destroy_at(block);
    ASAN_POISON_MEMORY_REGION(block, sizeof(T));
    free_.push_back(block);  // has room for all blocks
  }

 private:
  static constexpr std::size_t kMostBlocks = kHugePageBytes / sizeof(T);

  void add_chunk() {
    const std::size_t count = std::clamp<std::size_t>(blocks_, 16, kMostBlocks);
    free_.reserve(std::bit_ceil(blocks_ + count));
    if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size() + 1);
    T* blocks = HugePages<T>().allocate(count);
    chunks_.emplace_back(blocks, count);
    blocks_ += count;
    for (std::size_t i = count; i > 0; --i) free_.push_back(blocks + i - 1);
    ASAN_POISON_MEMORY_REGION(blocks, count * sizeof(T));
  }

  std::vector<std::pair<T*, std::size_t>> chunks_;
  std::vector<T*> free_;
  std::size_t blocks_ = 0;  // of all chunks
};

}  // namespace hotgemm
