#include "runtime/plan_table.hpp"

#include "runtime/plan_impl.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::size_t kFirstCells = 64;
constexpr std::size_t kEvictedPart = 16;  // one of 16 plans goes at a time, so that few insertions look at all slots

}  // namespace

constinit const PlanTable::Slot PlanTable::kGone{};

PlanTable::PlanTable(std::size_t max_plans) : max_plans_(max_plans), array_(new Array(kFirstCells)) {}

PlanTable::~PlanTable() {
  const std::unique_ptr<Array> array(array_.load());
  for (const Cell& cell : array->cells) {
    if (const Slot* slot = cell.slot; slot != &kGone) delete slot;
  }
}

// The loads of `array_` and of slots have sequential consistency, as base/readers.hpp demands.
const PlanTable::Slot* PlanTable::find(const ClassKey& key) const noexcept {
  const Array& array = *array_.load();
  const std::uint64_t hash = hash_of(key);
  for (std::size_t i = hash;; ++i) {
    const Cell& cell = array.cells[i & array.mask];
    const Slot* slot = cell.slot.load();
    if (slot == nullptr) return nullptr;
    if (cell.hash.load(std::memory_order_relaxed) != hash || slot == &kGone || !(slot->key == key)) continue;
    // Warm calls read this line only, and do not write to it, while no class is inserted.
    const std::uint64_t now = insertions_.load(std::memory_order_relaxed);
    if (slot->used.load(std::memory_order_relaxed) != now) slot->used.store(now, std::memory_order_relaxed);
    return slot;
  }
}

std::optional<PlanEntry> PlanTable::get(const ClassKey& key) const {
  const ReadGuard reading;
  const Slot* slot = find(key);
  if (slot == nullptr) return std::nullopt;
  PlanEntry entry = slot->entry;
  entry.is_outdated = slot->is_outdated;
  return entry;
}

void PlanTable::mark_outdated(const ClassKey& key, const PlanImpl* plan) const {
  const ReadGuard reading;
  const Slot* slot = find(key);
  if (slot != nullptr && slot->entry.plan.get() == plan) slot->is_outdated = true;
}

std::vector<ClassKey> PlanTable::keys() const {
  std::vector<ClassKey> keys;
  const std::lock_guard lock(mutex_);
  for (const Cell& cell : array_.load()->cells) {
    if (const Slot* slot = cell.slot; slot != nullptr && slot != &kGone) keys.push_back(slot->key);
  }
  return keys;
}

PlanTable::Cell* PlanTable::cell_of(Array& array, const ClassKey& key, std::uint64_t hash) const noexcept {
  for (std::size_t i = hash;; ++i) {
    Cell& cell = array.cells[i & array.mask];
    const Slot* slot = cell.slot;
    if (slot == nullptr) return nullptr;
    if (slot != &kGone && cell.hash == hash && slot->key == key) return &cell;
  }
}

void PlanTable::put(Array& array, std::uint64_t hash, const Slot* slot) noexcept {
  std::size_t i = hash;
  while (array.cells[i & array.mask].slot.load() != nullptr) ++i;
  Cell& cell = array.cells[i & array.mask];
  cell.hash.store(hash, std::memory_order_relaxed);
  cell.slot.store(slot);  // a reader that sees the slot sees the hash
  ++array.filled;
}

void PlanTable::insert(const ClassKey& key, PlanEntry entry) {
  std::vector<Waiting> unseen;  // freed after the lock
  const std::lock_guard lock(mutex_);
  // Nothing can fail between hiding and retiring.
  waiting_.reserve(waiting_.size() + std::min<std::size_t>(max_plans_, size_) / kEvictedPart + 3);
  const std::uint64_t hash = hash_of(key), now = insertions_.fetch_add(1) + 1;
  auto slot = std::make_unique<const Slot>(key, now, std::move(entry));
  const bool is_evictable = !slot->entry.is_kept;
  if (Cell* cell = cell_of(*array_.load(), key, hash)) {
    if (!cell->slot.load()->entry.is_kept) --evictable_;
    retire(cell->slot.exchange(slot.release()));
  } else {
    if (is_evictable && evictable_ >= max_plans_) evict();
    if (2 * (array_.load()->filled + 1) > array_.load()->cells.size()) grow();
    put(*array_.load(), hash, slot.release());
    ++size_;
  }
  if (is_evictable) ++evictable_;
  unseen = take_unseen();
}

bool PlanTable::erase(const ClassKey& key) {
  std::vector<Waiting> unseen;  // freed after the lock
  const std::lock_guard lock(mutex_);
  waiting_.reserve(waiting_.size() + 1);  // nothing can fail between hiding and retiring
  Cell* cell = cell_of(*array_.load(), key, hash_of(key));
  if (cell == nullptr) return false;
  const Slot* slot = cell->slot.exchange(&kGone);
  if (!slot->entry.is_kept) --evictable_;
  --size_;
  retire(slot);
  unseen = take_unseen();
  return true;
}

/// Takes the least recently used slots out of the array, but none that is kept.
void PlanTable::evict() {
  std::vector<std::pair<std::uint64_t, Cell*>> by_use;  // copies, because the times change meanwhile
  by_use.reserve(evictable_);
  for (Cell& cell : array_.load()->cells) {
    const Slot* slot = cell.slot;
    if (slot == nullptr || slot == &kGone || slot->entry.is_kept) continue;
    by_use.emplace_back(slot->used.load(std::memory_order_relaxed), &cell);
  }
  const std::size_t count = std::max<std::size_t>(max_plans_ / kEvictedPart, 1);
  std::ranges::nth_element(by_use, by_use.begin() + static_cast<std::ptrdiff_t>(count - 1));
  for (std::size_t i = 0; i < count; ++i) retire(by_use[i].second->slot.exchange(&kGone));
  size_ -= count;
  evictable_ -= count;
  evictions_ += count;
}

/// Makes an array that is at most a quarter full, without the cells of evicted slots.
void PlanTable::grow() {
  auto larger = std::make_unique<Array>(std::max(kFirstCells, std::bit_ceil(4 * (size_ + 1))));
  for (const Cell& cell : array_.load()->cells) {
    if (const Slot* slot = cell.slot; slot != nullptr && slot != &kGone) put(*larger, cell.hash, slot);
  }
  waiting_.push_back({0, nullptr, std::unique_ptr<Array>(array_.exchange(larger.release()))});
}

void PlanTable::retire(const Slot* slot) { waiting_.push_back({0, std::unique_ptr<const Slot>(slot), nullptr}); }

/// Ends the epoch of what was retired, and takes out what no reader can see any more.
std::vector<PlanTable::Waiting> PlanTable::take_unseen() {
  if (waiting_.empty()) return {};
  const std::uint64_t ended = waiting_.back().epoch == 0 ? end_epoch() : 0;
  for (auto one = waiting_.rbegin(); one != waiting_.rend() && one->epoch == 0; ++one) one->epoch = ended;
  const std::uint64_t oldest = oldest_read();
  const auto seen = std::ranges::find_if(waiting_, [&](const Waiting& one) { return one.epoch >= oldest; });
  std::vector<Waiting> unseen(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(seen));
  waiting_.erase(waiting_.begin(), seen);
  return unseen;
}

std::size_t PlanTable::waiting_to_be_freed() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace hotgemm
