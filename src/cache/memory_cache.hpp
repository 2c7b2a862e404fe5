#pragma once

#include "cache/cache_entry.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hotgemm {

/// Cubins in memory, up to a number of bytes; beyond it the least recently used ones are dropped, but never the latest.
/// Thread-safe.
class MemoryCache {
 public:
  explicit MemoryCache(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// The entry of the toolchain that `tag` stands for; with an empty tag the newest one. Counts as a use.
  std::optional<Cubin> find(const Identity& identity, std::string_view tag);
  /// Replaces an entry of the same identity and toolchain.
  void keep(CacheEntry entry);
  /// Drops `cubin`, and no other one of the same toolchain.
  void discard(const Identity& identity, const Cubin& cubin);
  void clear();

  std::size_t entries() const;
  /// The bytes of images and texts.
  std::uint64_t bytes() const;

 private:
  struct Item {
    CacheEntry entry;
    std::string hex;  ///< of the identity
    std::string tag;
    std::uint64_t bytes = 0;
  };
  using Items = std::list<Item>;

  // Under mutex_:
  template <class Predicate>
  void drop_if(const Identity& identity, Predicate&& is_meant);
  void drop(Items::iterator item);

  const std::uint64_t max_bytes_;
  mutable std::mutex mutex_;  ///< guards the members below
  Items items_;               ///< the most recently used first
  std::unordered_map<std::string, std::vector<Items::iterator>> by_identity_;
  std::uint64_t bytes_ = 0;
};

}  // namespace hotgemm
