#include "cache/memory_cache.hpp"

#include <iterator>
#include <utility>

namespace hotgemm {

template <class Predicate>
void MemoryCache::drop_if(const Identity& identity, Predicate&& is_meant) {
  const auto found = by_identity_.find(identity.hex());
  if (found == by_identity_.end()) return;
  const std::vector<Items::iterator> same = found->second;
  for (const Items::iterator item : same) {
    if (item->entry.identity == identity && is_meant(*item)) drop(item);
  }
}

std::optional<Cubin> MemoryCache::find(const Identity& identity, std::string_view tag) {
  const std::lock_guard guard(mutex_);
  const auto found = by_identity_.find(identity.hex());
  if (found == by_identity_.end()) return std::nullopt;
  std::optional<Items::iterator> best;
  for (const Items::iterator item : found->second) {
    if (item->entry.identity != identity || (!tag.empty() && item->tag != tag)) continue;
    if (!best || item->entry.created_ns > (*best)->entry.created_ns) best = item;
  }
  if (!best) return std::nullopt;
  items_.splice(items_.begin(), items_, *best);
  return (*best)->entry.cubin;
}

void MemoryCache::keep(CacheEntry entry) {
  Item item{.entry = {}, .hex = entry.identity.hex(), .tag = toolchain_tag(entry.cubin.toolchain)};
  item.bytes = entry.cubin.image.size() + entry.cubin.symbol.size() + entry.identity.text.size() + sizeof(Item);
  item.entry = std::move(entry);
  const std::lock_guard guard(mutex_);
  drop_if(item.entry.identity, [&](const Item& held) { return held.tag == item.tag; });
  bytes_ += item.bytes;
  items_.push_front(std::move(item));
  by_identity_[items_.front().hex].push_back(items_.begin());
  while (bytes_ > max_bytes_ && items_.size() > 1) drop(std::prev(items_.end()));
}

void MemoryCache::discard(const Identity& identity, const Cubin& cubin) {
  const std::lock_guard guard(mutex_);
  drop_if(identity, [&](const Item& held) { return held.entry.cubin == cubin; });
}

void MemoryCache::drop(Items::iterator item) {
  const auto found = by_identity_.find(item->hex);
  std::erase(found->second, item);
  if (found->second.empty()) by_identity_.erase(found);
  bytes_ -= item->bytes;
  items_.erase(item);
}

void MemoryCache::clear() {
  const std::lock_guard guard(mutex_);
  by_identity_.clear();
  items_.clear();
  bytes_ = 0;
}

std::size_t MemoryCache::entries() const {
  const std::lock_guard guard(mutex_);
  return items_.size();
}

std::uint64_t MemoryCache::bytes() const {
  const std::lock_guard guard(mutex_);
  return bytes_;
}

}  // namespace hotgemm
